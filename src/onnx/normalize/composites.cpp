// Operators that opset 17 has no form for, by those that it has: GroupNormalization, Mish,
// Swish, RMSNormalization, and BatchNormalization in training mode.
#include "tare/error.h"

#include "graph/arithmetic/onnx_number.h"
#include "graph/operators/float_types.h"
#include "onnx/constants.h"
#include "onnx/normalize/rules.h"
#include "onnx/tensor_proto.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace tare {
namespace {

ValueId shape_constant(GraphBuilder& builder, const std::string& name, const Shape& shape) {
  return builder.add_constant(name, vector_of(shape));
}

void require_inputs(const Draft& draft, std::size_t count) {
  if (draft.inputs.size() != count ||
      std::count(draft.inputs.begin(), draft.inputs.end(), ValueId{}) != 0) {
    throw Error(ErrorCode::kInvalidModel, "",
                "has " + std::to_string(draft.inputs.size()) + " operands")
        .expected(std::to_string(count));
  }
}

struct GroupShape {
  Shape data;
  std::int64_t groups = 0;
  bool per_channel = false;
};

GroupShape group_shape(const Draft& draft, const GraphBuilder& builder) {
  require_inputs(draft, 3);
  GroupShape result{builder.shape(draft.inputs[0]), draft.attributes.integer("num_groups")};
  const bool divides = result.data.size() >= 3 && result.groups > 0 && result.data[1] > 0 &&
                       result.data[1] % result.groups == 0;
  if (!divides) {
    throw Error(ErrorCode::kInvalidModel, "",
                "data of shape " + to_string(result.data) + " in " +
                    std::to_string(result.groups) + " groups");
  }
  const Shape& scale = builder.shape(draft.inputs[1]);
  result.per_channel = scale == Shape{result.data[1]};
  if ((!result.per_channel && scale != Shape{result.groups}) ||
      builder.shape(draft.inputs[2]) != scale) {
    throw Error(ErrorCode::kInvalidModel, "", "scale has shape " + to_string(scale));
  }
  return result;
}

constexpr std::size_t kScale = 1;
constexpr std::size_t kZeroPoint = 2;

bool is_of_16_bits(const GraphBuilder& builder, ValueId id) {
  const DType dtype = builder.type(id).dtype;
  return dtype == DType::kFloat16 || dtype == DType::kBfloat16;
}

/// The operand in float32, where it is of another floating type.
void widen(Draft& draft, std::size_t operand, std::string_view part, GraphBuilder& builder) {
  ValueId& id = draft.inputs[operand];
  if (!is_of_16_bits(builder, id)) {
    return;
  }
  const std::string name = draft.name + "_" + std::string(part);
  if (const Tensor* known = builder.known(id)) {
    id = builder.add_constant(name, in_float_type(*known, DType::kFloat32));
  } else {
    id = builder.emit_helper(name, "Cast", {id}, {{"to", onnx_number(DType::kFloat32)}});
  }
}

/// From opset 19 on scales may be of 16 bits, and what is quantized and dequantized with them.
void widen_scale(Draft& draft, GraphBuilder& builder) {
  if (!draft.has_input(0) || !draft.has_input(kScale)) {
    return;  // the schema says so
  }
  const DType dtype = builder.type(draft.inputs[kScale]).dtype;
  const bool is_narrow = is_of_16_bits(builder, draft.inputs[kScale]);
  widen(draft, kScale, "scale", builder);
  if (draft.op == "QuantizeLinear") {
    widen(draft, 0, "real", builder);
  } else if (is_narrow) {
    const ValueId real = builder.emit_helper(draft.name + "_real", draft.op, draft.inputs,
                                             std::move(draft.attributes));
    draft.op = "Cast";
    draft.inputs = {real};
    draft.attributes = Attributes{{"to", onnx_number(dtype)}};
  }
}

}  // namespace

void group_to_instance_normalization(Draft& draft, GraphBuilder& builder) {
  const GroupShape group = group_shape(draft, builder);
  const std::string name = draft.name;
  const ValueId data = draft.inputs[0];
  ValueId scale = draft.inputs[1];
  ValueId bias = draft.inputs[2];
  if (group.per_channel) {
    const DType dtype = builder.type(data).dtype;
    scale = builder.add_constant(name + "_one", filled(dtype, {group.groups}, 1));
    bias = builder.add_constant(name + "_zero", Tensor(dtype, {group.groups}));
  }
  const ValueId grouped = builder.emit_helper(
      name + "_grouped", "Reshape",
      {data, shape_constant(builder, name + "_groups", {0, group.groups, -1})});
  const ValueId normal =
      builder.emit_helper(name + "_normal", "InstanceNormalization", {grouped, scale, bias},
                          {{"epsilon", draft.attributes.real("epsilon", 1e-5F)}});
  const std::vector<ValueId> back{normal, builder.extents_of(data, name + "_shape")};
  if (group.per_channel) {
    Shape channel(group.data.size() - 1, 1);
    channel.front() = group.data[1];
    const ValueId along_axis = shape_constant(builder, name + "_channel", channel);
    const ValueId whole = builder.emit_helper(name + "_whole", "Reshape", back);
    const ValueId factor =
        builder.emit_helper(name + "_scale", "Reshape", {draft.inputs[1], along_axis});
    const ValueId term =
        builder.emit_helper(name + "_bias", "Reshape", {draft.inputs[2], along_axis});
    const ValueId scaled = builder.emit_helper(name + "_scaled", "Mul", {whole, factor});
    draft.op = "Add";
    draft.inputs = {scaled, term};
  } else {
    draft.op = "Reshape";
    draft.inputs = back;
  }
  draft.attributes = {};
}

void train_batch_norm(Draft& draft, GraphBuilder& builder) {
  require_inputs(draft, 5);
  const std::string name = draft.name;
  const ValueId data = draft.inputs[0];
  const TensorType type = builder.type(data);
  if (type.shape.size() < 2) {
    throw Error(ErrorCode::kInvalidModel, "", "the data is " + to_string(type.shape));
  }
  std::vector<std::int64_t> axes{0};
  Shape along_channels(type.shape.size() - 1, 1);
  along_channels.front() = type.shape[1];
  for (std::size_t axis = 2; axis < type.shape.size(); ++axis) {
    axes.push_back(static_cast<std::int64_t>(axis));
  }
  const auto mean_of = [&](const std::string& part, ValueId of) {
    return builder.emit_helper(name + part, "ReduceMean", {of}, {{"axes", axes}});
  };
  const ValueId mean = mean_of("_mean", data);
  const ValueId centered = builder.emit_helper(name + "_centered", "Sub", {data, mean});
  const ValueId square = builder.emit_helper(name + "_square", "Mul", {centered, centered});
  const ValueId variance = mean_of("_variance", square);
  const auto real = [&](const std::string& part, double value) {
    return builder.add_constant(name + part, filled(type.dtype, {}, value));
  };
  const auto momentum = static_cast<double>(draft.attributes.real("momentum", 0.9F));
  const ValueId kept = real("_momentum", momentum);
  const ValueId taken = real("_rest", 1 - momentum);
  // The running mean and variance.
  const ValueId channels = shape_constant(builder, name + "_channels", {type.shape[1]});
  for (const auto& [result, before, now] :
       {std::tuple(std::size_t{1}, draft.inputs[3], mean),
        std::tuple(std::size_t{2}, draft.inputs[4], variance)}) {
    if (result >= draft.outputs.size() || draft.outputs[result].empty()) {
      continue;
    }
    const std::string part = result == 1 ? "_running_mean" : "_running_variance";
    const ValueId flat = builder.emit_helper(name + part + "_now", "Reshape", {now, channels});
    const ValueId new_part = builder.emit_helper(name + part + "_new", "Mul", {flat, taken});
    const ValueId old_part = builder.emit_helper(name + part + "_old", "Mul", {before, kept});
    builder.emit({builder.fresh_name(name + part),
                  "Add",
                  {old_part, new_part},
                  {draft.outputs[result]},
                  {}});
  }
  const auto epsilon = static_cast<double>(draft.attributes.real("epsilon", 1e-5F));
  const ValueId above =
      builder.emit_helper(name + "_above", "Add", {variance, real("_epsilon", epsilon)});
  const ValueId root = builder.emit_helper(name + "_root", "Sqrt", {above});
  const ValueId normal = builder.emit_helper(name + "_normal", "Div", {centered, root});
  const ValueId shape = shape_constant(builder, name + "_along", along_channels);
  const ValueId factor =
      builder.emit_helper(name + "_scale", "Reshape", {draft.inputs[1], shape});
  const ValueId term = builder.emit_helper(name + "_bias", "Reshape", {draft.inputs[2], shape});
  const ValueId scaled = builder.emit_helper(name + "_scaled", "Mul", {normal, factor});
  draft.op = "Add";
  draft.inputs = {scaled, term};
  draft.outputs.resize(1);
  draft.attributes = {};
}

void expand_mish(Draft& draft, GraphBuilder& builder) {
  require_inputs(draft, 1);
  const ValueId data = draft.inputs[0];
  const ValueId soft = builder.emit_helper(draft.name + "_softplus", "Softplus", {data});
  const ValueId gate = builder.emit_helper(draft.name + "_tanh", "Tanh", {soft});
  draft.op = "Mul";
  draft.inputs = {data, gate};
}

void expand_swish(Draft& draft, GraphBuilder& builder) {
  require_inputs(draft, 1);
  const ValueId data = draft.inputs[0];
  ValueId scaled = data;
  if (const float alpha = draft.attributes.real("alpha", 1); alpha != 1) {
    const ValueId factor =
        builder.add_constant(draft.name + "_alpha",
                             filled(builder.type(data).dtype, {}, static_cast<double>(alpha)));
    scaled = builder.emit_helper(draft.name + "_scaled", "Mul", {data, factor});
  }
  const ValueId gate = builder.emit_helper(draft.name + "_sigmoid", "Sigmoid", {scaled});
  draft.op = "Mul";
  draft.inputs = {data, gate};
  draft.attributes = {};
}

void expand_rms_normalization(Draft& draft, GraphBuilder& builder) {
  require_inputs(draft, 2);
  const ValueId data = draft.inputs[0];
  const std::string name = draft.name;
  const auto rank = static_cast<std::int64_t>(builder.shape(data).size());
  const std::int64_t axis = draft.attributes.integer("axis", -1);
  if (axis < -rank || axis >= rank) {
    throw Error(
        ErrorCode::kInvalidModel, "",
        "axis " + std::to_string(axis) + " of an operand of rank " + std::to_string(rank));
  }
  std::vector<std::int64_t> axes;
  for (std::int64_t i = axis < 0 ? axis + rank : axis; i < rank; ++i) {
    axes.push_back(i);
  }
  const DType dtype = builder.type(data).dtype;
  const ValueId square = builder.emit_helper(name + "_square", "Mul", {data, data});
  const ValueId mean =
      builder.emit_helper(name + "_mean", "ReduceMean", {square}, {{"axes", axes}});
  const auto epsilon = static_cast<double>(draft.attributes.real("epsilon", 1e-5F));
  const ValueId least = builder.add_constant(name + "_epsilon", filled(dtype, {}, epsilon));
  const ValueId above = builder.emit_helper(name + "_above", "Add", {mean, least});
  const ValueId root = builder.emit_helper(name + "_root", "Sqrt", {above});
  const ValueId normal = builder.emit_helper(name + "_normal", "Div", {data, root});
  draft.op = "Mul";
  draft.inputs = {normal, draft.inputs[1]};
  draft.attributes = {};
}

void drop_newer_quantization(Draft& draft, GraphBuilder& builder) {
  draft.attributes.erase("saturate");  // about 8-bit floats, which are refused as types
  if (draft.attributes.has("block_size") &&
      (draft.op == "QuantizeLinear" || draft.attributes.integer("block_size", 0) == 0)) {
    expect_and_drop(draft, "block_size", 0);
  }
  // What a dequantized value is computed in, which here is the type of the scale.
  for (const char* attribute : {"precision", "output_dtype"}) {
    const bool is_float =
        draft.op == "DequantizeLinear" || std::string_view(attribute) == "precision";
    if (is_float && draft.attributes.integer(attribute, 0) != 0 && draft.has_input(kScale)) {
      expect_and_drop(draft, attribute,
                      onnx_data_type(builder.type(draft.inputs[kScale]).dtype));
    } else if (is_float) {
      draft.attributes.erase(attribute);
    }
  }
  const std::int64_t dtype = draft.attributes.integer("output_dtype", 0);
  draft.attributes.erase("output_dtype");
  if (dtype != 0 && draft.has_input(kScale) && !draft.has_input(kZeroPoint)) {
    const Tensor zero(required_dtype(static_cast<std::int32_t>(dtype)),
                      builder.shape(draft.inputs[kScale]));
    draft.set_input(kZeroPoint, builder.add_constant(draft.name + "_zero_point", zero));
  }
  widen_scale(draft, builder);
}

}  // namespace tare
