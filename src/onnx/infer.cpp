// Types of results by the inference functions of the onnx library, node by node. Shapes that
// the graph itself computes are known here too (builder.h). The library trusts what it reads,
// so check_request.h comes first.
#include "onnx/infer.h"

#include "tare/error.h"

#include "onnx/check_request.h"
#include "onnx/depends_on_data.h"
#include "onnx/domains.h"
#include "onnx/node_proto.h"
#include "onnx/shape_by_values.h"
#include "onnx/tensor_proto.h"
#include "onnx/younger_operators.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string_view>

#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>

namespace tare {
namespace {

constexpr int kOpset = 17;

/// Null when there is no such operator, or rules of our own are to be asked.
const onnx::OpSchema* schema_of(const std::string& op) {
  if (op == "STFT") {
    return nullptr;
  }
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(op, kOpset, "");
  return schema != nullptr && !schema->Deprecated() ? schema : nullptr;
}

onnx::TypeProto to_type_proto(const TensorType& type) {
  onnx::TypeProto proto;
  proto.mutable_tensor_type()->set_elem_type(onnx_data_type(type.dtype));
  auto& shape = *proto.mutable_tensor_type()->mutable_shape();
  for (const std::int64_t extent : type.shape) {
    shape.add_dim()->set_dim_value(extent);
  }
  return proto;
}

/// What the inference functions of the onnx library see of a node.
class Context final : public onnx::InferenceContext {
 public:
  Context(const InferenceRequest& request, const onnx::NodeProto& node) : node_(node) {
    for (const KnownOperand& operand : request.operands) {
      auto type = std::make_unique<onnx::TypeProto>();
      auto data = std::make_unique<onnx::TensorProto>();
      if (operand.type != nullptr) {
        *type = to_type_proto(*operand.type);
      }
      const bool small = operand.data != nullptr && operand.data->size() <= kMostKnownElements;
      if (small) {
        fill_proto(*operand.data, *data);
      }
      types_.push_back(operand.type != nullptr ? std::move(type) : nullptr);
      data_.push_back(small ? std::move(data) : nullptr);
    }
    results_.resize(request.results);
  }

  const onnx::AttributeProto* getAttribute(const std::string& name) const override {
    const auto found = std::find_if(node_.attribute().begin(), node_.attribute().end(),
                                    [&](const auto& a) { return a.name() == name; });
    return found == node_.attribute().end() ? nullptr : &*found;
  }
  std::size_t getNumInputs() const override { return types_.size(); }
  const onnx::TypeProto* getInputType(std::size_t i) const override {
    return types_.at(i).get();
  }
  const onnx::TensorProto* getInputData(std::size_t i) const override {
    return data_.at(i).get();
  }
  std::size_t getNumOutputs() const override { return results_.size(); }
  onnx::TypeProto* getOutputType(std::size_t i) override { return &results_.at(i); }
  // Sub-graphs, sparse and half-known operands do not occur.
  onnx::GraphInferencer* getGraphAttributeInferencer(const std::string&) override {
    return nullptr;
  }
  const onnx::SparseTensorProto* getInputSparseData(std::size_t) const override {
    return nullptr;
  }
  const onnx::TensorShapeProto* getSymbolicInput(std::size_t) const override { return nullptr; }

 private:
  const onnx::NodeProto& node_;
  std::vector<std::unique_ptr<onnx::TypeProto>> types_;
  std::vector<std::unique_ptr<onnx::TensorProto>> data_;
  std::vector<onnx::TypeProto> results_;
};

/// The library's messages, without what it adds for its own callers.
std::string own_words(std::string_view message) {
  for (const std::string_view prefix : {"[TypeInferenceError] ", "[ShapeInferenceError] "}) {
    if (message.starts_with(prefix)) {
      message.remove_prefix(prefix.size());
    }
  }
  message = message.substr(0, message.find("==> Context"));
  while (!message.empty() && std::string_view(". \n").find(message.back()) != message.npos) {
    message.remove_suffix(1);
  }
  std::string result(message);
  std::replace(result.begin(), result.end(), '\n', ' ');
  return result;
}

/// Operands that the schema gives the same type variable must have the same element type.
void check_operand_types(const onnx::OpSchema& schema,
                         const std::vector<KnownOperand>& operands) {
  std::map<std::string, DType> bound;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const auto& formal = schema.inputs().at(std::min(i, schema.inputs().size() - 1));
    const bool mixed =
        formal.GetOption() == onnx::OpSchema::Variadic && !formal.GetIsHomogeneous();
    if (operands[i].type == nullptr || mixed) {
      continue;
    }
    const DType dtype = operands[i].type->dtype;
    const bool concrete = formal.GetTypeStr().starts_with("tensor(");
    const DType first = bound.emplace(formal.GetTypeStr(), dtype).first->second;
    const bool fits = concrete ? formal.GetTypes().contains(onnx::Utils::DataTypeUtils::ToType(
                                     to_type_proto(*operands[i].type)))
                               : first == dtype;
    if (!fits) {
      throw Error(ErrorCode::kInvalidModel, "",
                  "operand " + std::to_string(i) + " '" + formal.GetName() + "' is " +
                      std::string(name_of(dtype)))
          .expected(concrete ? formal.GetTypeStr() : std::string(name_of(first)));
    }
  }
}

/// The shape is `fallback` where the library leaves it open.
TensorType static_type(const onnx::TypeProto& proto, const std::optional<Shape>& fallback) {
  if (!proto.has_tensor_type()) {
    throw Error(ErrorCode::kUnsupported, "", "its result is not a tensor of a known type");
  }
  TensorType type;
  type.dtype = required_dtype(proto.tensor_type().elem_type());
  bool known = proto.tensor_type().has_shape();
  for (const auto& dim : proto.tensor_type().shape().dim()) {
    known = known && dim.has_dim_value();
    type.shape.push_back(dim.dim_value());
  }
  if (!known && fallback) {
    type.shape = *fallback;
  } else if (!known) {
    throw DependsOnData("output shape depends on data");
  }
  if (!is_addressable(type.shape)) {
    throw Error(ErrorCode::kInvalidModel, "", "output has shape " + to_string(type.shape));
  }
  return type;
}

std::vector<TensorType> infer_with_schema(const InferenceRequest& request,
                                          const onnx::OpSchema& schema, bool checks_rules) {
  onnx::NodeProto node = to_node_proto(request.name, request.op, request.attributes);
  for (const KnownOperand& operand : request.operands) {
    node.add_input(operand.type != nullptr ? "operand" : "");
  }
  for (std::size_t i = 0; i < request.results; ++i) {
    node.add_output("result");
  }
  if (checks_rules) {
    schema.Verify(node);
    check_operand_types(schema, request.operands);
  }
  Context context(request, node);
  if (schema.has_type_and_shape_inference_function()) {
    schema.GetTypeAndShapeInferenceFunction()(context);
  } else if (schema.HasFunction()) {
    onnx::shape_inference::InferShapeForFunctionNode(
        *schema.GetFunction(), onnx::OpSchemaRegistry::Instance(), context);
  }
  std::vector<TensorType> result;
  for (std::size_t i = 0; i < request.results; ++i) {
    result.push_back(static_type(*context.getOutputType(i), shape_by_values(request, i)));
  }
  return result;
}

/// Gelu is younger than the library: same type as its operand.
std::vector<TensorType> infer_gelu(const InferenceRequest& request) {
  if (request.operands.size() != 1 || request.operands[0].type == nullptr ||
      request.results != 1) {
    throw Error(ErrorCode::kInvalidModel, "",
                "has " + std::to_string(request.operands.size()) + " operands and " +
                    std::to_string(request.results) + " results")
        .expected("1 of each");
  }
  const TensorType& type = *request.operands[0].type;
  if (!is_float(type.dtype)) {
    throw Error(ErrorCode::kInvalidModel, "",
                "operand 0 'X' is " + std::string(name_of(type.dtype)))
        .expected("a float type");
  }
  return {type};
}

/// The library counts the bins of STFT wrong, and reads ranks that it has not checked.
std::vector<TensorType> infer_stft(const InferenceRequest& request) {
  const auto known_number = [&](std::size_t operand) -> std::optional<std::int64_t> {
    if (operand >= request.operands.size() || request.operands[operand].type == nullptr) {
      return std::nullopt;
    }
    const Tensor* data = request.operands[operand].data;
    if (data == nullptr || data->size() != 1) {
      throw DependsOnData("output shape depends on data");
    }
    return data->to_int64()[0];
  };
  const std::size_t operands = request.operands.size();
  const bool has_window = operands > 2 && request.operands[2].type != nullptr;
  if (operands < 2 || operands > 4 || request.operands[0].type == nullptr ||
      request.results != 1) {
    throw Error(ErrorCode::kInvalidModel, "",
                "has " + std::to_string(operands) + " operands and " +
                    std::to_string(request.results) + " results")
        .expected("2 to 4, and 1");
  }
  const TensorType& signal = *request.operands[0].type;
  const auto step = known_number(1);
  auto length = known_number(3);
  if (!length && has_window && request.operands[2].type->shape.size() == 1) {
    length = request.operands[2].type->shape[0];
  }
  if (!is_float(signal.dtype) || signal.shape.size() != 3 || !step || *step < 1 || !length ||
      *length < 1 || *length > signal.shape[1]) {
    throw Error(ErrorCode::kInvalidModel, "",
                "signal " + to_string(signal.shape) + " has no such frames");
  }
  const bool onesided = request.attributes.integer("onesided", 1) != 0;
  TensorType result;
  result.dtype = signal.dtype;
  result.shape = {signal.shape[0], (signal.shape[1] - *length) / *step + 1,
                  onesided ? *length / 2 + 1 : *length, 2};
  if (!is_addressable(result.shape)) {
    throw Error(ErrorCode::kInvalidModel, "", "output has shape " + to_string(result.shape));
  }
  return {result};
}

/// Windows of AveragePool may be dilated since opset 19, those of LpPool since opset 18. The
/// library knows that of MaxPool only, whose result has the same shape.
bool is_newer_pool(const InferenceRequest& request) {
  return (request.op == "AveragePool" || request.op == "LpPool") &&
         (request.attributes.has("dilations") ||
          (request.op == "LpPool" && request.attributes.has("ceil_mode")));
}

std::vector<TensorType> infer_newer_pool(const InferenceRequest& request) {
  const std::string max_pool = "MaxPool";
  Attributes attributes = request.attributes;
  attributes.erase("count_include_pad");
  attributes.erase("p");
  return infer_types({.name = request.name,
                      .op = max_pool,
                      .attributes = attributes,
                      .operands = request.operands,
                      .results = request.results});
}

std::vector<TensorType> infer_younger(const InferenceRequest& request,
                                      const YoungerOperator& younger) {
  if (request.operands.size() < younger.operands || request.results != 1) {
    throw Error(ErrorCode::kInvalidModel, "",
                "has " + std::to_string(request.operands.size()) + " operands and " +
                    std::to_string(request.results) + " results")
        .expected(std::to_string(younger.operands) + " and 1");
  }
  Attributes attributes = request.attributes;
  attributes.erase(younger.attribute);
  std::vector<KnownOperand> operands = request.operands;
  operands.resize(younger.operands);
  return infer_types({.name = request.name,
                      .op = younger.like,
                      .attributes = attributes,
                      .operands = std::move(operands)});
}

/// As if it had not that attribute, which the library does not know.
std::vector<TensorType> infer_without(const InferenceRequest& request,
                                      std::string_view attribute) {
  Attributes attributes = request.attributes;
  attributes.erase(attribute);
  return infer_types({.name = request.name,
                      .op = request.op,
                      .attributes = attributes,
                      .operands = request.operands,
                      .results = request.results});
}

/// Parameters of blocks are younger than the library: they lie as the values do, with blocks
/// in place of `axis`.
bool is_in_blocks(const InferenceRequest& request) {
  return request.op == "DequantizeLinear" && request.attributes.has("block_size");
}

std::vector<TensorType> infer_in_blocks(const InferenceRequest& request) {
  check_blocks(request);
  return infer_without(request, "block_size");
}

/// Its results are those of the LSTM that has the same operands in float.
std::vector<TensorType> infer_dynamic_lstm(const InferenceRequest& request) {
  constexpr std::size_t kOfLstm = 8;
  const std::string lstm = "LSTM";
  std::vector<KnownOperand> operands = request.operands;
  operands.resize(std::min(operands.size(), kOfLstm));
  std::array<TensorType, 2> weights;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const TensorType* stored = operands.size() > i + 1 ? operands[i + 1].type : nullptr;
    if (stored == nullptr || stored->shape.size() != 3 ||
        (stored->dtype != DType::kInt8 && stored->dtype != DType::kUint8)) {
      throw Error(ErrorCode::kInvalidModel, "", "weights have another form")
          .expected("integers of 8 bits, [directions, inputs, gates * hidden]");
    }
    const Shape& shape = stored->shape;
    weights[i] = {DType::kFloat32, {shape[0], shape[2], shape[1]}, {}, {}};
    operands[i + 1] = {&weights[i], nullptr};
  }
  return infer_types({.name = request.name,
                      .op = lstm,
                      .attributes = request.attributes,
                      .operands = std::move(operands),
                      .results = request.results});
}

}  // namespace

bool is_onnx_op(const std::string& op) {
  return op == "Gelu" || op == "STFT" || find_younger_operator(op) != nullptr ||
         schema_of(op) != nullptr;
}

std::size_t required_results(const std::string& op) {
  const onnx::OpSchema* schema = schema_of(op);
  return schema != nullptr ? static_cast<std::size_t>(schema->min_output()) : 1;
}

namespace {

std::vector<TensorType> infer(const InferenceRequest& request, bool checks_rules) {
  if (request.op == kDynamicQuantizeLstm) {
    return infer_dynamic_lstm(request);
  }
  check_request(request);
  if (request.op == "Gelu") {
    return infer_gelu(request);
  }
  if (request.op == "STFT") {
    return infer_stft(request);
  }
  if (request.op == "Resize" && request.attributes.has("antialias")) {
    return infer_without(request, "antialias");
  }
  if (is_newer_pool(request)) {
    return infer_newer_pool(request);
  }
  if (const YoungerOperator* younger = find_younger_operator(request.op)) {
    return infer_younger(request, *younger);
  }
  if (is_in_blocks(request)) {
    return infer_in_blocks(request);
  }
  const onnx::OpSchema* schema = schema_of(request.op);
  if (schema == nullptr) {
    throw Error(ErrorCode::kInternal, "", "operator '" + request.op + "' is not of opset 17");
  }
  try {
    return infer_with_schema(request, *schema, checks_rules);
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(ErrorCode::kInvalidModel, "", own_words(error.what()));
  }
}

}  // namespace

std::vector<TensorType> infer_types(const InferenceRequest& request) {
  return infer(request, true);
}

std::vector<Shape> infer_shapes(const InferenceRequest& request) {
  std::vector<Shape> shapes;
  for (TensorType& type : infer(request, false)) {
    shapes.push_back(std::move(type.shape));
  }
  return shapes;
}

}  // namespace tare
