// What a graph cannot hold: nodes that nobody knows, whose results have no static shape or are
// no tensors of numbers, and all that reads these. Where the rest is a network, they go into
// files as they are; they were walked once, so this is linear in their number.
#include "onnx/importer.h"
#include "onnx/interface.h"
#include "onnx/layer_names.h"
#include "onnx/tensor_proto.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace tare {
namespace {

/// Where the result is of integers or truth values, the error of what these read says more than
/// theirs.
bool makes_no_reals(std::string_view op) {
  constexpr std::array<std::string_view, 30> kOps{"Add",
                                                  "And",
                                                  "ArgMax",
                                                  "ArgMin",
                                                  "Cast",
                                                  "Concat",
                                                  "Div",
                                                  "Equal",
                                                  "Expand",
                                                  "Flatten",
                                                  "Gather",
                                                  "Greater",
                                                  "GreaterOrEqual",
                                                  "Identity",
                                                  "Less",
                                                  "LessOrEqual",
                                                  "Mod",
                                                  "Mul",
                                                  "Not",
                                                  "Or",
                                                  "ReduceMax",
                                                  "ReduceMin",
                                                  "ReduceSum",
                                                  "Reshape",
                                                  "Slice",
                                                  "Squeeze",
                                                  "Sub",
                                                  "Transpose",
                                                  "Unsqueeze",
                                                  "Xor"};
  return std::find(kOps.begin(), kOps.end(), op) != kOps.end();
}

/// A constant, also one that is stored as integers or turned.
bool is_weight(const Graph& graph, ValueId value) {
  constexpr int kMostSteps = 4;
  for (int step = 0; value && step < kMostSteps; ++step) {
    if (graph.constant(value) != nullptr) {
      return true;
    }
    const auto producer = graph.producer(value);
    if (!producer || graph.node(*producer).inputs.empty()) {
      return false;
    }
    value = graph.node(*producer).inputs[0];
  }
  return false;
}

bool is_layer_of_graph(const Graph& graph, const Node& node) {
  return may_be_layer(node.op) ||
         (is_product(node.op) &&
          std::any_of(node.inputs.begin(), node.inputs.end(),
                      [&](ValueId input) { return is_weight(graph, input); }));
}

}  // namespace

bool Importer::has_result(const onnx::NodeProto& node) {
  return std::any_of(node.output().begin(), node.output().end(), [&](const std::string& name) {
    // Those of a call or a branch may have been left one by one.
    return !name.empty() && (builder().graph().find_value(name) || left_values_.contains(name));
  });
}

void Importer::leave(const onnx::NodeProto& node, std::string reason, bool depends_on_data) {
  if (reason.empty()) {
    for (const std::string& name : reads_of(node)) {
      if (const auto broken = broken_constants_.find(name); broken != broken_constants_.end()) {
        reason = broken->second.where + ": " + broken->second.what;
      }
    }
  }
  SeenNode left{&node, file_opset_, true, std::move(reason), depends_on_data};
  if (scopes_.size() > 1) {
    // The node that holds it cannot do without; what nobody knows counts most.
    if (!left.reason.empty() && (inside_.reason.empty() || inside_.depends_on_data)) {
      inside_ = std::move(left);
    }
    return;
  }
  if (left.reason.empty()) {
    left.reason = std::exchange(inside_.reason, {});
    left.depends_on_data = inside_.depends_on_data;
  }
  inside_ = {};
  left_values_.insert(node.output().begin(), node.output().end());
  seen_.push_back(std::move(left));
}

bool Importer::may_move(const onnx::NodeProto& node, const std::set<NodeId>& moved) {
  const Graph& graph = builder().graph();
  // Other nodes stand for these in the graph.
  const bool is_part = std::any_of(node.attribute().begin(), node.attribute().end(),
                                   [](const auto& attribute) { return attribute.has_g(); }) ||
                       functions_.contains(key_of(node.domain(), node.op_type()));
  if (!in_default_domain(node.domain()) || is_part) {
    return false;
  }
  bool is_known = std::all_of(node.input().begin(), node.input().end(), [&](const auto& name) {
    const auto value = graph.find_value(name);
    return source_.constants.contains(name) ||
           (value && (graph.is_input(*value) || builder().known(*value) != nullptr));
  });
  bool counts = makes_no_reals(node.op_type());
  for (const std::string& name : node.output()) {
    const auto result = graph.find_value(name);
    if (!result || graph.is_output(*result)) {
      return false;
    }
    const std::vector<NodeId>& users = graph.users(*result);
    if (!graph.producer(*result) || std::any_of(users.begin(), users.end(), [&](NodeId user) {
          return !moved.contains(user);
        })) {
      return false;
    }
    is_known = is_known && builder().known(*result) != nullptr;
    counts = counts && !is_float(builder().type(*result).dtype);
  }
  return is_known || counts;
}

std::vector<Importer::SeenNode> Importer::nodes_of_tail() {
  std::set<std::string> wanted;
  for (const auto& output : model_.graph().output()) {
    wanted.insert(output.name());
  }
  std::set<std::string> read;  // by the tail
  std::set<NodeId> moved;      // from the graph into it
  std::vector<SeenNode> nodes;
  for (auto seen = seen_.rbegin(); seen != seen_.rend(); ++seen) {
    const auto& outputs = seen->proto->output();
    const auto any_in = [&](const std::set<std::string>& names) {
      return std::any_of(outputs.begin(), outputs.end(), [&](const std::string& name) {
        return !name.empty() && names.contains(name);
      });
    };
    if (seen->is_left ? !any_in(wanted) : !any_in(read) || !may_move(*seen->proto, moved)) {
      continue;
    }
    if (!seen->is_left) {
      const Graph& graph = builder().graph();
      moved.insert(*graph.producer(*graph.find_value(outputs[0])));
    }
    for (const std::string& name : reads_of(*seen->proto)) {
      wanted.insert(name);
      read.insert(name);
    }
    nodes.push_back(*seen);
  }
  std::reverse(nodes.begin(), nodes.end());
  return nodes;
}

bool Importer::is_layer(const onnx::NodeProto& node) {
  const auto reads_constant = [&](const onnx::NodeProto& product) {
    return std::any_of(product.input().begin(), product.input().end(),
                       [&](const std::string& name) {
                         const auto value = builder().graph().find_value(name);
                         return source_.constants.contains(name) ||
                                (value && is_weight(builder().graph(), *value));
                       });
  };
  bool found =
      may_be_layer(node.op_type()) || (is_product(node.op_type()) && reads_constant(node));
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) {
      for_each_graph(attribute.g(), [&](const onnx::GraphProto& graph) {
        for (const auto& inner : graph.node()) {
          found = found || may_be_layer(inner.op_type());
        }
      });
    }
  }
  return found;
}

bool Importer::must_refuse(const std::vector<SeenNode>& nodes) {
  std::set<std::string> unknown;  // values that nothing here can compute
  for (const SeenNode& left : nodes) {
    const std::vector<std::string> reads = reads_of(*left.proto);
    const bool is_behind =
        (!left.reason.empty() && !left.depends_on_data) ||
        std::any_of(reads.begin(), reads.end(),
                    [&](const std::string& name) { return unknown.contains(name); });
    if (!is_behind) {
      continue;
    }
    if (is_layer(*left.proto)) {
      return true;
    }
    unknown.insert(left.proto->output().begin(), left.proto->output().end());
    unknown.erase("");
  }
  const Graph& graph = builder().graph();
  const std::vector<NodeId> in_graph = graph.nodes();
  return !unknown.empty() && std::none_of(in_graph.begin(), in_graph.end(), [&](NodeId id) {
    return is_layer_of_graph(graph, graph.node(id));
  });
}

void Importer::add_to_tail(const std::string& read, Tail& tail, onnx::GraphProto& nodes) {
  if (const auto constant = source_.constants.find(read); constant != source_.constants.end()) {
    onnx::NodeProto& node = *nodes.add_node();
    node.set_op_type("Constant");
    node.add_output(read);
    onnx::AttributeProto& value = *node.add_attribute();
    const auto& [tensor, attribute] = constant->second;
    if (attribute != nullptr) {
      value = *attribute;
    } else {
      value.set_name("value");
      value.set_type(onnx::AttributeProto::TENSOR);
      *value.mutable_t() = *tensor;
    }
    if (value.has_t() && value.t().data_location() == onnx::TensorProto::EXTERNAL) {
      if (dtype_of_packed(value.t().data_type())) {
        throw Error(ErrorCode::kUnsupported, "constant '" + read + "'",
                    "is of 4 bits, in another file, and read behind the last layer");
      }
      const Tensor stored = to_tensor(value.t(), folder_);
      value.mutable_t()->Clear();
      fill_proto(stored, *value.mutable_t());
    }
    tail.opsets.push_back(file_opset_);
    return;
  }
  if (builder().graph().find_value(read)) {
    tail.inputs.push_back(read);
  }
}

void Importer::add_tail() {
  const std::vector<SeenNode> needed = nodes_of_tail();
  const auto& declared = model_.graph().output();
  const bool is_refused =
      !options_.keeps_tail || must_refuse(needed) ||
      std::any_of(declared.begin(), declared.end(), [&](const onnx::ValueInfoProto& output) {
        return broken_constants_.contains(output.name());
      });
  if (is_refused || !faults_.empty()) {
    for (const SeenNode& left : needed) {
      if (left.is_sequence) {
        unsupported_.add(operator_name(*left.proto) + ": " + left.reason,
                         source_.node_names.at(left.proto));
      }
    }
    for (const auto& [name, fault] : broken_constants_) {
      faults_.add(fault.where, fault.what, fault.expected, fault.hint);
    }
    unsupported_.report(faults_);
    return;
  }
  if (std::none_of(seen_.begin(), seen_.end(), [](const auto& seen) { return seen.is_left; })) {
    return;
  }
  Graph& graph = builder().graph();
  Tail tail;
  onnx::GraphProto nodes;
  std::set<std::string> there;
  for (const SeenNode& left : needed) {
    for (const std::string& name : reads_of(*left.proto)) {
      if (!name.empty() && there.insert(name).second) {
        add_to_tail(name, tail, nodes);
      }
    }
    there.insert(left.proto->output().begin(), left.proto->output().end());
    *nodes.add_node() = *left.proto;
    tail.opsets.push_back(left.opset);
    tail.operators.push_back({source_.node_names.at(left.proto), operator_name(*left.proto),
                              left.reason, left.depends_on_data});
  }
  for (const auto& output : model_.graph().output()) {
    tail.outputs.push_back(output.name());
    if (left_values_.contains(output.name())) {
      *nodes.add_output() = output;
      graph.dimension_names.erase(output.name());
    }
  }
  for (const auto& entry : model_.opset_import()) {
    if (!in_default_domain(entry.domain())) {
      tail.domains.emplace(entry.domain(), entry.version());
    }
  }
  std::vector<ValueId> outputs(graph.outputs().begin(), graph.outputs().end());
  std::vector<ValueId> inputs;
  for (const std::string& name : tail.inputs) {
    const ValueId id = *graph.find_value(name);
    if (graph.is_input(id)) {
      inputs.push_back(id);
    } else if (!graph.is_output(id)) {
      outputs.push_back(id);
    }
  }
  if (outputs.empty()) {
    outputs = std::move(inputs);  // a graph has some
  }
  if (!needed.empty()) {
    tail.nodes = nodes.SerializeAsString();
    graph.tail = std::make_shared<const Tail>(std::move(tail));
  }
  graph.set_outputs(std::move(outputs));
  graph.erase_unused();  // what was made for nodes that were left
}

}  // namespace tare
