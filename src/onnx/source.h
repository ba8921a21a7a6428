#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

namespace tare {

/// Where the constants of a model are stored: initializers and Constant nodes.
struct ConstantSource {
  const onnx::TensorProto* tensor = nullptr;        ///< the initializer, or
  const onnx::AttributeProto* attribute = nullptr;  ///< what a Constant node holds
};

/// A model's graph by name, its structure checked: every name defined once, every operand
/// defined, no cycle. Points into the model. What graphs inside of nodes read counts as
/// operands of these nodes.
struct Source {
  std::map<std::string, ConstantSource> constants;
  std::set<std::string> initializers;
  std::set<std::string> names;                ///< of all values and nodes
  std::set<std::string> read;                 ///< values that some node or output reads
  std::vector<const onnx::NodeProto*> nodes;  ///< all but Constant, producers first
  std::map<const onnx::NodeProto*, std::string> node_names;  ///< unique

  /// Throws Error(kInvalidModel) with all faults.
  explicit Source(const onnx::GraphProto&);
  /// The same of a part of a graph, which may read what `outside` names.
  Source(const onnx::GraphProto& part, const std::set<std::string>& outside);
};

/// "node 'stem' (Conv)"; nodes without a name go by their first result.
std::string place_of(const onnx::NodeProto&);
/// "com.microsoft.Gelu"; no domain for operators of ONNX itself.
std::string operator_name(const onnx::NodeProto&);
bool in_default_domain(const std::string& domain);

}  // namespace tare
