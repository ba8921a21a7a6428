#pragma once

#include "tare/node.h"

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <onnx/onnx_pb.h>

namespace tare {

/// A model ready to be saved. The bytes of its initializers stand beside it, in their order, so
/// that they exist once until it is known where they go.
struct ExportedModel {
  onnx::ModelProto proto;
  std::vector<Tensor> constants;
};

/// The oldest opset, from 13 on, that has this node's operator with its attributes. Throws
/// Error(kInternal) when none has: the operator is neither one of ONNX nor of ONNX Runtime.
int oldest_opset(const Graph&, const Node&);

/// The domain that a Region is written in.
std::string region_domain(const Node& region);

/// Writes nodes in the forms of one opset; what has another form there becomes constants and
/// several nodes.
class NodeExporter {
 public:
  /// `may_vary`: extents of the graph are only examples of those that it runs with.
  NodeExporter(const Graph&, int opset, ExportedModel&, bool may_vary);

  void add(const Node&);
  void add_initializer(const std::string& name, const Tensor&);
  /// Of INT4 or UINT4.
  void add_packed_initializer(const std::string& name, const Tensor& integers);

 private:
  /// If, Loop and Scan with their graphs, in which names are other ones than around them.
  void add_control(const Node&);
  void add_region(const Node&);
  void add_detection(const Node&);
  /// Its axis is an operand of rank 0 where it was an attribute.
  void add_dft(const Node&);
  void add_reduce(const Node&);
  void add_split(const Node&);
  void add_gelu(const Node&);
  void add_rsqrt(const Node&);
  /// One of the nodes that spell `whole`; returns its result, which is that of the whole where
  /// no name is given.
  std::string add_step(const Node& whole, const char* op, std::vector<std::string> inputs,
                       const char* name);
  onnx::NodeProto& append(onnx::NodeProto);

  const Graph& graph_;
  int opset_;
  ExportedModel& model_;
  bool may_vary_;
  std::set<std::string> names_;
};

/// Element type and shape of a value; `symbols` name the dimensions that may vary.
void fill_type(const TensorType&, const std::vector<std::string>& symbols, onnx::TypeProto&);
/// Leaves the rank.
void clear_extents(onnx::TypeProto&);

}  // namespace tare
