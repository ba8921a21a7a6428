#include "onnx/builder.h"

#include "tare/error.h"
#include "tare/graph.h"

#include "graph/operators/detection_post_process.h"
#include "graph/operators/shape_facts.h"
#include "onnx/constants.h"
#include "onnx/depends_on_data.h"
#include "onnx/domains.h"
#include "onnx/infer.h"
#include "onnx/names.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace tare {

void Draft::set_input(std::size_t i, ValueId id) {
  inputs.resize(std::max(inputs.size(), i + 1));
  inputs[i] = id;
}

void Draft::drop_trailing_absent_inputs() {
  while (!inputs.empty() && !inputs.back()) {
    inputs.pop_back();
  }
}

GraphBuilder::GraphBuilder(const ReadOptions& options, std::set<std::string>& reserved)
    : options_(options), reserved_(reserved), graph_(std::make_unique<Graph>()) {}

GraphBuilder::GraphBuilder(GraphBuilder&&) noexcept = default;
GraphBuilder::~GraphBuilder() = default;

const TensorType& GraphBuilder::type(ValueId id) const {
  return graph_->type(id);
}

bool GraphBuilder::supports(const std::string& op) const {
  const auto& ops = options_.supported_ops;
  return (is_onnx_op(op) || op == kDynamicQuantizeLstm) &&
         (ops.empty() || std::binary_search(ops.begin(), ops.end(), op));
}

std::vector<ValueId> GraphBuilder::emit(Draft draft) {
  if (!supports(draft.op)) {
    throw Error(ErrorCode::kUnsupported, "", "operator '" + draft.op + "' is not supported");
  }
  draft.drop_trailing_absent_inputs();
  InferenceRequest request{draft.name, draft.op, draft.attributes, {}, draft.outputs.size()};
  for (const ValueId input : draft.inputs) {
    request.operands.push_back(input ? KnownOperand{&type(input), known(input)}
                                     : KnownOperand{});
  }
  std::vector<TensorType> types = infer_types(request);
  return emit(std::move(draft), std::move(types));
}

std::vector<ValueId> GraphBuilder::emit(Draft draft, std::vector<TensorType> types) {
  if (draft.op != "Region" && draft.op != kDetectionPostProcess && !supports(draft.op)) {
    throw Error(ErrorCode::kUnsupported, "", "operator '" + draft.op + "' is not supported");
  }
  std::vector<NamedType> results;
  for (std::size_t i = 0; i < types.size(); ++i) {
    std::string name =
        draft.outputs[i].empty() ? fresh_name(draft.name + "_unused") : draft.outputs[i];
    results.push_back({std::move(name), std::move(types[i])});
  }
  const NodeId id =
      graph_->add_node(std::move(draft.name), std::move(draft.op), std::move(draft.inputs),
                       std::move(results), std::move(draft.attributes));
  const Node& node = graph_->node(id);
  if (!origin_.op.empty() && origin_ != Origin{node.name, node.op}) {
    graph_->set_origins(id, {origin_});
  }
  remember(node);
  return node.outputs;
}

ValueId GraphBuilder::emit_helper(std::string_view wanted, std::string op,
                                  std::vector<ValueId> inputs, Attributes attributes) {
  const std::string name = fresh_name(wanted);
  return emit({name, std::move(op), std::move(inputs), {name}, std::move(attributes)}).front();
}

ValueId GraphBuilder::add_constant(std::string_view wanted, Tensor tensor) {
  return graph_->add_constant(fresh_name(wanted), std::move(tensor));
}

ValueId GraphBuilder::extents_of(ValueId id, std::string_view wanted) {
  if (!graph_->dimension_names.empty()) {
    return emit_helper(wanted, "Shape", {id});
  }
  return add_constant(wanted, vector_of(shape(id)));
}

const Tensor* GraphBuilder::known(ValueId id) const {
  if (const Tensor* constant = graph_->constant(id)) {
    return constant;
  }
  const auto found = computed_.find(id);
  return found == computed_.end() ? nullptr : &found->second;
}

const Tensor* GraphBuilder::decisive(ValueId id) {
  const Tensor* tensor = known(id);
  if (tensor != nullptr && graph_->constant(id) == nullptr) {
    decisive_.insert(id);
  }
  return tensor;
}

const Tensor& GraphBuilder::required(const Draft& draft, std::size_t i) {
  const Tensor* tensor = draft.has_input(i) ? decisive(draft.inputs[i]) : nullptr;
  if (tensor == nullptr) {
    throw DependsOnData("operand " + std::to_string(i) + " depends on data");
  }
  return *tensor;
}

std::string GraphBuilder::fresh_name(std::string_view wanted) {
  return take_name(reserved_, wanted);
}

void GraphBuilder::require_room(const std::vector<TensorType>& types) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 30;
  for (const TensorType& type : types) {
    const auto elements = static_cast<std::size_t>(element_count(type.shape));
    const std::size_t left = (kMostBytes - known_bytes_) / size_of(type.dtype);
    if (elements > left) {
      throw Error(ErrorCode::kInvalidData, "",
                  "computes " + to_string(type.shape) +
                      ", which with all that comes before it takes more than 1 GiB");
    }
    known_bytes_ += elements * size_of(type.dtype);
  }
}

void GraphBuilder::remember(const Node& node) {
  if (!node.inputs.empty() && node.inputs[0]) {
    if (auto fact = fact_of_shape(node, shape(node.inputs[0]))) {
      computed_.emplace(node.outputs[0], *std::move(fact));
      return;
    }
  }
  std::vector<const Tensor*> operands;
  std::vector<TensorType> types;
  bool knowable = options_.evaluate && !node.inputs.empty();
  for (const ValueId input : node.inputs) {
    operands.push_back(input ? known(input) : nullptr);
    knowable = knowable && (!input || operands.back() != nullptr);
  }
  for (const ValueId output : node.outputs) {
    types.push_back(type(output));
    knowable =
        knowable && (knows_all_ || element_count(types.back().shape) <= kMostKnownElements);
  }
  if (!knowable) {
    return;
  }
  if (knows_all_) {
    require_room(types);
  }
  try {
    std::vector<Tensor> results = options_.evaluate(node, operands, types);
    for (std::size_t i = 0; i < results.size(); ++i) {
      computed_.emplace(node.outputs.at(i), std::move(results[i]));
    }
  } catch (const Error& error) {
    // What cannot be computed stays unknown; inference says so when it was needed.
    if (error.code() != ErrorCode::kUnsupported) {
      throw;
    }
  }
}

}  // namespace tare
