// Nodes of a model become nodes of a graph one by one, producers first, and each value gets its
// type at once. Linear in the size of the model.
#include "onnx/importer.h"

#include "graph/arithmetic/packed.h"
#include "graph/operators/detection_post_process.h"
#include "graph/operators/inner_graphs.h"
#include "onnx/constants.h"
#include "onnx/depends_on_data.h"
#include "onnx/domains.h"
#include "onnx/export/detection_function.h"
#include "onnx/infer.h"
#include "onnx/interface.h"
#include "onnx/node_proto.h"
#include "onnx/normalize/normalize.h"
#include "onnx/normalize/quantized.h"
#include "onnx/normalize/runtime_operators.h"
#include "onnx/open_dimensions.h"
#include "onnx/tensor_proto.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tare {
namespace {

constexpr int kOldestOpset = 6;
constexpr int kNewestOpset = 25;
/// Those after it added types that are refused as such or asked for by read_onnx() (bfloat16),
/// and operators and attributes for which there are rules; engines fuse more of this one.
constexpr int kNewestForm = 21;
/// Functions of functions may stand for more nodes than any memory holds.
constexpr std::size_t kMostPartNodes = 200'000;

Error unsupported_operator(const onnx::NodeProto& node) {
  return {ErrorCode::kUnsupported, "",
          "operator '" + operator_name(node) + "' is not supported"};
}

/// An operator of a device that says what it computes, see with_export_operators().
bool is_region(const onnx::NodeProto& node) {
  return std::any_of(node.attribute().begin(), node.attribute().end(),
                     [](const auto& attribute) { return attribute.name() == "body"; });
}

}  // namespace

int checked_opset(std::int64_t opset) {
  if (opset < kOldestOpset || opset > kNewestOpset) {
    throw Error(ErrorCode::kUnsupported, "", "the model is of opset " + std::to_string(opset))
        .expected("opset " + std::to_string(kOldestOpset) + " to " +
                  std::to_string(kNewestOpset));
  }
  return static_cast<int>(std::min<std::int64_t>(opset, kNewestForm));
}

int declared_opset(const onnx::ModelProto& model) {
  std::optional<std::int64_t> opset;
  for (const auto& entry : model.opset_import()) {
    if (in_default_domain(entry.domain())) {
      if (opset && *opset != entry.version()) {
        throw Error(ErrorCode::kInvalidModel, "", "the model names two opsets");
      }
      opset = entry.version();
    }
  }
  if (!opset) {
    throw Error(ErrorCode::kInvalidModel, "", "the model does not name its opset");
  }
  (void)checked_opset(*opset);
  return static_cast<int>(*opset);
}

Importer::Importer(const onnx::ModelProto& model, std::filesystem::path folder,
                   const ReadOptions& options)
    : model_(model),
      folder_(std::move(folder)),
      options_(options),
      file_opset_(declared_opset(model)),
      opset_(checked_opset(file_opset_)),
      source_(model.graph()),
      reserved_(source_.names) {
  scopes_.push_back({GraphBuilder(options_, reserved_), {}});
  for (const onnx::FunctionProto& function : model.functions()) {
    functions_.emplace(key_of(function.domain(), function.name()), &function);
  }
}

Importer::FunctionKey Importer::key_of(const std::string& domain, const std::string& name) {
  return {in_default_domain(domain) ? std::string() : domain, name};
}

Graph Importer::run() {
  Graph& graph = builder().graph();
  graph.graph_name = model_.graph().name();
  graph.opset = opset_;
  if (model_.graph().sparse_initializer_size() > 0) {
    faults_.add("", "sparse initializers are not supported");
  }
  add_inputs();
  for (const onnx::NodeProto* node : source_.nodes) {
    add_node(*node);
  }
  set_outputs();
  add_tail();
  faults_.raise(ErrorCode::kUnsupported);
  graph.erase_unused_constants();  // normalizing made attributes of some
  std::set<ValueId> decisive = builder().decisive_values();
  const std::vector<ValueId> values = graph.values();
  std::erase_if(decisive, [&, there = std::set(values.begin(), values.end())](ValueId id) {
    return !there.contains(id);  // only what is in the tail depended on it
  });
  keep_dimensions_open(graph, options_.evaluate, decisive, assumed_);
  return std::move(graph);
}

std::map<std::string, Tensor> Importer::run_on(const std::map<std::string, Tensor>& values) {
  runs_ = true;
  builder().know_all();
  for (const auto& [name, value] : values) {
    builder().assume(
        builder().graph().add_input(
            name, {.dtype = value.dtype(), .shape = value.shape(), .quant = {}, .point = {}}),
        value);
  }
  for (const onnx::NodeProto* node : source_.nodes) {
    add_node(*node);
  }
  std::map<std::string, Tensor> results;
  for (const auto& output : model_.graph().output()) {
    const auto id = value_of(output.name());
    if (const Tensor* known = id ? builder().known(*id) : nullptr) {
      results.emplace(output.name(), *known);
    }
  }
  return results;
}

void Importer::add_inputs() {
  Interface interface = read_interface(model_.graph(), source_.initializers, options_, faults_);
  for (auto& [name, type] : interface.inputs) {
    const ValueId id = builder().graph().add_input(name, std::move(type));
    const auto value = options_.input_values.find(name);
    if (value != options_.input_values.end() &&
        value->second.dtype() == builder().type(id).dtype &&
        value->second.size() == element_count(builder().shape(id))) {
      builder().assume(id, value->second.reshaped(builder().shape(id)));
      assumed_.emplace(id, value->second.reshaped(builder().shape(id)));
    }
  }
  builder().graph().dimension_names = std::move(interface.dimension_names);
}

void Importer::add_node(const onnx::NodeProto& node) {
  if (scopes_.size() == 1) {
    inside_ = {};
  }
  try {
    import_node(node);
    if (!has_result(node)) {
      leave(node, {}, false);
    } else if (scopes_.size() == 1) {
      seen_.push_back({&node, file_opset_});
    }
  } catch (Error& error) {
    if (error.code() != ErrorCode::kUnsupported) {
      error.at(place_of(node));
      throw;
    }
    const std::string what = error.faults().front().what;
    unsupported_.add(what.starts_with("operator '") ? what : operator_name(node) + ": " + what,
                     source_.node_names.at(&node));
    leave(node, what, dynamic_cast<const DependsOnData*>(&error) != nullptr);
  }
}

void Importer::import_node(const onnx::NodeProto& node) {
  if (node.domain() == kOwnDomain && is_detection_name(node.op_type())) {
    add_detection(node);
    return;
  }
  if (const auto function = functions_.find(key_of(node.domain(), node.op_type()));
      function != functions_.end()) {
    add_call(node, *function->second);
    return;
  }
  const bool is_onnx = in_default_domain(node.domain());
  const bool is_quantized =
      is_quantized_operator(is_onnx ? std::string() : node.domain(), node.op_type());
  const bool is_runtimes =
      !is_quantized && node.domain() == kRuntimeDomain && is_runtime_operator(node.op_type());
  const bool is_kept =
      node.op_type() == kDynamicQuantizeLstm && node.domain() == kRuntimeDomain;
  if ((!is_onnx && !is_quantized && !is_runtimes && !is_kept) ||
      (is_onnx && node.op_type() == kDynamicQuantizeLstm)) {
    if (!is_region(node)) {
      throw unsupported_operator(node);
    }
    add_region(node);
    return;
  }
  if (is_onnx && add_sequence(node)) {
    return;
  }
  std::optional<std::vector<ValueId>> inputs = operands_of(node);
  if (is_onnx && !graph_attributes(node.op_type()).empty()) {
    const bool has_sequence =
        std::any_of(node.input().begin(), node.input().end(),
                    [&](const std::string& name) { return sequence_of(name) != nullptr; });
    if (inputs) {
      add_control(node, *inputs);
    } else if (node.op_type() == "Loop" && has_sequence) {
      unroll(node);
    }
    return;
  }
  if (!inputs) {
    // An operand has no type. Say what else is wrong with this node, then leave it out.
    if (!is_quantized && !is_runtimes && !replaces_operator(node.op_type(), opset_) &&
        !builder().supports(node.op_type())) {
      throw unsupported_operator(node);
    }
    return;
  }
  if (node.op_type() == "QuantizeLinear" && inputs->size() > 2 && inputs->back() &&
      is_packed(builder().type(inputs->back()))) {
    throw Error(ErrorCode::kUnsupported, "", "quantizes to integers of 4 bits");
  }
  Draft draft{source_.node_names.at(&node), node.op_type(), *std::move(inputs),
              results_of(node), to_attributes(node, folder_)};
  draft.drop_trailing_absent_inputs();
  builder().begin({draft.name, draft.op});
  if (is_quantized) {
    normalize_quantized(draft, builder());
  } else if (is_runtimes) {
    normalize_runtime_operator(draft, builder());
  } else if (!is_kept) {
    normalize(draft, opset_, builder());
  }
  builder().emit(std::move(draft));
}

void Importer::add_detection(const onnx::NodeProto& node) {
  std::optional<std::vector<ValueId>> inputs = operands_of(node);
  if (!inputs) {
    return;
  }
  Draft draft{source_.node_names.at(&node), std::string(kDetectionPostProcess),
              *std::move(inputs), results_of(node), to_attributes(node, folder_)};
  if (draft.inputs.size() != 3 || draft.outputs.size() > 4) {
    throw Error(ErrorCode::kInvalidModel, "", "has not three operands and four results");
  }
  draft.outputs.resize(4);
  for (std::string& result : draft.outputs) {  // nobody need read them all
    result = result.empty() ? builder().fresh_name(draft.name + "_unread") : result;
  }
  const auto shape = [&](std::size_t i) { return builder().shape(draft.inputs[i]); };
  std::vector<TensorType> types =
      detection_types(detection_options(draft.attributes), shape(0), shape(1), shape(2));
  builder().begin({draft.name, draft.op});
  builder().emit(std::move(draft), std::move(types));
}

void Importer::add_region(const onnx::NodeProto& node) {
  std::optional<std::vector<ValueId>> inputs = operands_of(node);
  if (!inputs) {
    return;  // what computes an operand is among the faults
  }
  Draft draft{source_.node_names.at(&node),
              "Region",
              *std::move(inputs),
              {node.output().begin(), node.output().end()},
              to_attributes(node, folder_)};
  draft.attributes.set("domain", node.domain());
  draft.attributes.set("op_type", node.op_type());
  const Graph body = inner_graph({.name = draft.name,
                                  .op = draft.op,
                                  .inputs = {},
                                  .outputs = {},
                                  .attributes = draft.attributes},
                                 "body");
  std::vector<TensorType> types;
  for (const ValueId output : body.outputs()) {
    const TensorType& type = body.type(output);
    types.push_back({.dtype = type.dtype, .shape = type.shape, .quant = {}, .point = {}});
  }
  if (types.size() != draft.outputs.size()) {
    throw Error(ErrorCode::kInvalidModel, "", "its body has other results than it");
  }
  builder().begin({draft.name, draft.op});
  builder().emit(std::move(draft), std::move(types));
}

void Importer::add_call(const onnx::NodeProto& node, const onnx::FunctionProto& function) {
  if (!open_functions_.insert(&function).second) {
    throw Error(ErrorCode::kInvalidModel, "", "its function calls itself");
  }
  const auto around = std::pair(file_opset_, opset_);
  for (const auto& entry : function.opset_import()) {
    if (in_default_domain(entry.domain())) {
      opset_ = checked_opset(entry.version());
      file_opset_ = static_cast<int>(entry.version());
    }
  }
  add_part(inlined_call(function, node, fresh_names(node)));
  std::tie(file_opset_, opset_) = around;
  open_functions_.erase(&function);
}

/// Names inside of a node are unique after the node's, nearly always at once.
FreshName Importer::fresh_names(const onnx::NodeProto& node) {
  return [this, prefix = source_.node_names.at(&node) + "/"](const std::string& name) {
    return builder().fresh_name(prefix + name);
  };
}

std::vector<const onnx::NodeProto*> Importer::take_part(onnx::GraphProto proto) {
  part_nodes_ += 1 + static_cast<std::size_t>(proto.node_size());
  if (part_nodes_ > kMostPartNodes) {
    throw Error(ErrorCode::kInvalidModel, "",
                "functions and inner graphs come to more than " +
                    std::to_string(kMostPartNodes) + " nodes");
  }
  if (proto.sparse_initializer_size() > 0) {
    throw Error(ErrorCode::kUnsupported, "", "sparse initializers are not supported");
  }
  parts_.push_back(std::move(proto));
  Source part(parts_.back(), source_.names);
  source_.constants.merge(part.constants);
  source_.names.merge(part.names);
  source_.read.merge(part.read);
  source_.node_names.merge(part.node_names);
  return part.nodes;
}

void Importer::add_part(onnx::GraphProto proto) {
  for (const onnx::NodeProto* node : take_part(std::move(proto))) {
    add_node(*node);
  }
}

std::vector<std::string> Importer::results_of(const onnx::NodeProto& node) const {
  std::vector<std::string> result(node.output().begin(), node.output().end());
  const std::size_t required = std::max<std::size_t>(required_results(node.op_type()), 1);
  while (result.size() > required && !source_.read.contains(result.back())) {
    result.pop_back();
  }
  return result;
}

void Importer::set_outputs() {
  Graph& graph = builder().graph();
  std::vector<ValueId> outputs;
  for (const auto& info : model_.graph().output()) {
    const auto id = value_of(info.name());
    if (!id) {
      continue;  // its producer is among the faults
    }
    outputs.push_back(*id);
    // A model may say that an output has another rank than it has.
    const auto names = graph.dimension_names.find(info.name());
    if (names != graph.dimension_names.end() &&
        names->second.size() != graph.type(*id).shape.size()) {
      graph.dimension_names.erase(names);
    }
    const bool open = !info.type().tensor_type().has_shape() && !graph.dimension_names.empty();
    if (open) {
      name_dimensions(info.name(), graph.type(*id).shape.size());
    }
  }
  graph.set_outputs(std::move(outputs));
}

void Importer::name_dimensions(const std::string& name, std::size_t rank) {
  std::vector<std::string> names;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    names.push_back(dimension_symbol(name, axis));
  }
  builder().graph().dimension_names.emplace(name, std::move(names));
}

}  // namespace tare
