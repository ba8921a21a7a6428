#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

namespace tare {

/// Values from outside that a node reads: its operands, then what the graphs in its attributes
/// read and do not define. May name one twice.
std::vector<std::string> reads_of(const onnx::NodeProto&);

/// A branch as a part of the graph around it: everything in it is called by what `fresh` makes
/// of its name, and its results are copied by Identity to values called `results`. Throws
/// Error(kInvalidModel) where it has another number of results, or inputs.
onnx::GraphProto as_part(const onnx::GraphProto& branch,
                         const std::vector<std::string>& results,
                         const std::function<std::string(const std::string&)>& fresh);

/// Calls f for a graph and for all graphs in attributes of its nodes.
void for_each_graph(const onnx::GraphProto&,
                    const std::function<void(const onnx::GraphProto&)>& f);

}  // namespace tare
