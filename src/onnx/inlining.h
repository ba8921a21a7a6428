#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

namespace tare {

/// Values from outside that a node reads: its operands, then what the graphs in its attributes
/// read and do not define. May name one twice.
std::vector<std::string> reads_of(const onnx::NodeProto&);

/// Makes a name that nothing has out of one that something may have.
using FreshName = std::function<std::string(const std::string&)>;

/// A branch as a part of the graph around it: everything in it has a fresh name, and its
/// results are copied by Identity to values called `results`. Throws Error(kInvalidModel) where
/// it has another number of results, or inputs.
onnx::GraphProto inlined_branch(const onnx::GraphProto& branch,
                                const std::vector<std::string>& results,
                                const FreshName& fresh);

/// A graph that stays inside of its node, such as the body of a loop: everything in it has a
/// fresh name, and no result is an input, from outside, or listed twice: such ones are copied.
onnx::GraphProto renamed_body(const onnx::GraphProto&, const FreshName& fresh);

/// Gives everything that the graph and those inside of it define a fresh name, in place, which
/// must be none of theirs but the one that it had. `outside` has other names for what it reads
/// from outside.
void rename_graph(onnx::GraphProto&, std::map<std::string, std::string> outside,
                  const FreshName& fresh);

/// The body of a function in the same way as a branch, with the operands and attributes of the
/// node that calls it. Throws Error(kInvalidModel) where the node has more operands or results.
onnx::GraphProto inlined_call(const onnx::FunctionProto&, const onnx::NodeProto& call,
                              const FreshName& fresh);

/// Calls f for a graph and for all graphs in attributes of its nodes.
void for_each_graph(const onnx::GraphProto&,
                    const std::function<void(const onnx::GraphProto&)>& f);

}  // namespace tare
