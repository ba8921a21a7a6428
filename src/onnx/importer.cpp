// Nodes of a model become nodes of a graph one by one, producers first, and each value gets its
// type at once. Linear in the size of the model.
#include "onnx/importer.h"

#include "graph/arithmetic/packed.h"
#include "graph/operators/detection_post_process.h"
#include "graph/operators/inner_graphs.h"
#include "onnx/constants.h"
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
/// Constants of graphs inside of nodes, which are text; larger ones are operands of the node.
constexpr std::int64_t kMostInnerElements = 64;

Error unsupported_operator(const onnx::NodeProto& node) {
  return {ErrorCode::kUnsupported, "",
          "operator '" + operator_name(node) + "' is not supported"};
}

/// An operator of a device that says what it computes, see with_export_operators().
bool is_region(const onnx::NodeProto& node) {
  return std::any_of(node.attribute().begin(), node.attribute().end(),
                     [](const auto& attribute) { return attribute.name() == "body"; });
}

bool stores_packed(const ConstantSource& source) {
  const onnx::TensorProto& proto =
      source.tensor != nullptr ? *source.tensor : source.attribute->t();
  return dtype_of_packed(proto.data_type()).has_value();
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

int checked_opset(const onnx::ModelProto& model) {
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
  return checked_opset(*opset);
}

Importer::Importer(const onnx::ModelProto& model, std::filesystem::path folder,
                   const ReadOptions& options)
    : model_(model),
      folder_(std::move(folder)),
      options_(options),
      opset_(checked_opset(model)),
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
  unsupported_.report(faults_);
  faults_.raise(ErrorCode::kUnsupported);
  graph.erase_unused_constants();  // normalizing made attributes of some
  keep_dimensions_open(graph, options_.evaluate, builder().decisive_values(), assumed_);
  return std::move(graph);
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
  const std::string& name = source_.node_names.at(&node);
  try {
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
    std::optional<std::vector<ValueId>> inputs = operands_of(node);
    if (is_onnx && !graph_attributes(node.op_type()).empty()) {
      if (inputs) {
        add_control(node, *inputs);
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
    Draft draft{name, node.op_type(), *std::move(inputs), results_of(node),
                to_attributes(node, folder_)};
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
  } catch (Error& error) {
    if (error.code() != ErrorCode::kUnsupported) {
      error.at(place_of(node));
      throw;
    }
    const std::string what = error.faults().front().what;
    unsupported_.add(what.starts_with("operator '") ? what : operator_name(node) + ": " + what,
                     name);
  }
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
  const int opset = opset_;
  for (const auto& entry : function.opset_import()) {
    opset_ = in_default_domain(entry.domain()) ? checked_opset(entry.version()) : opset_;
  }
  add_part(inlined_call(function, node, fresh_names(node)));
  opset_ = opset;
  open_functions_.erase(&function);
}

/// Names inside of a node are unique after the node's, nearly always at once.
FreshName Importer::fresh_names(const onnx::NodeProto& node) {
  return [this, prefix = source_.node_names.at(&node) + "/"](const std::string& name) {
    return builder().fresh_name(prefix + name);
  };
}

std::vector<const onnx::NodeProto*> Importer::take_part(onnx::GraphProto proto) {
  part_nodes_ += static_cast<std::size_t>(proto.node_size());
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

std::optional<std::vector<ValueId>> Importer::operands_of(const onnx::NodeProto& node) {
  std::vector<ValueId> result;
  for (const std::string& name : node.input()) {
    const auto id = name.empty() ? std::optional(ValueId{}) : value_of(name);
    if (!id) {
      return std::nullopt;
    }
    result.push_back(*id);
  }
  return result;
}

std::optional<ValueId> Importer::value_in(std::size_t level, const std::string& name) {
  Scope& scope = scopes_[level];
  Graph& graph = scope.builder.graph();
  if (const auto id = graph.find_value(name)) {
    return id;
  }
  if (level == 0) {
    return model_constant(name);
  }
  const auto outer = value_in(level - 1, name);
  if (!outer) {
    return std::nullopt;
  }
  const GraphBuilder& around = scopes_[level - 1].builder;
  const TensorType& type = around.type(*outer);
  const Tensor* constant = around.graph().constant(*outer);
  if (constant != nullptr && constant->size() <= kMostInnerElements) {
    return graph.add_constant(name, *constant, type);
  }
  const ValueId id = graph.add_input(name, type);
  if (const Tensor* known = around.known(*outer)) {
    scope.builder.assume(id, *known);
  }
  scope.captured.push_back(name);
  return id;
}

std::optional<ValueId> Importer::model_constant(const std::string& name) {
  const auto found = source_.constants.find(name);
  if (found == source_.constants.end() || broken_constants_.contains(name)) {
    return std::nullopt;
  }
  try {
    Tensor tensor = to_constant(found->second);
    TensorType type{.dtype = tensor.dtype(), .shape = tensor.shape(), .quant = {}, .point = {}};
    if (stores_packed(found->second)) {
      type.quant = packed_params(tensor.dtype());
    }
    return scopes_.front().builder.graph().add_constant(name, std::move(tensor),
                                                        std::move(type));
  } catch (Error& error) {
    error.at("constant '" + name + "'");
    if (error.code() != ErrorCode::kUnsupported) {
      throw;
    }
    broken_constants_.insert(name);
    faults_.add(error.faults().front().where, error.faults().front().what);
    return std::nullopt;
  }
}

Tensor Importer::to_constant(const ConstantSource& source) const {
  if (source.tensor != nullptr) {
    return to_tensor(*source.tensor, folder_);
  }
  const Attribute value = to_attribute(*source.attribute, folder_);
  if (const auto* tensor = std::get_if<Tensor>(&value)) {
    return *tensor;
  }
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return Tensor::scalar(*integer);
  }
  if (const auto* real = std::get_if<float>(&value)) {
    return Tensor::scalar(*real);
  }
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) {
    return vector_of(*integers);
  }
  if (const auto* reals = std::get_if<std::vector<float>>(&value)) {
    return vector_of(*reals);
  }
  throw Error(ErrorCode::kUnsupported, "", "element type STRING is not supported");
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
