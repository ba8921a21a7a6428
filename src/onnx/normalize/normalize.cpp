// Brings operators of older and newer opsets to the form that they have in opset 17, so that
// everything behind knows one form. Where only attributes have become operands that is a table;
// the rest has functions of its own. Nodes are looked at once, in topological order, while the
// graph grows.
#include "onnx/normalize/normalize.h"

#include "tare/error.h"

#include "onnx/constants.h"
#include "onnx/normalize/moved_attributes.h"
#include "onnx/normalize/rules.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tare {
namespace {

constexpr int kOldest = 6;
constexpr int kNewest = 21;

/// Lists become vectors; a single integer (k) a vector of one; a real the type of the data.
Tensor operand_from(const Attribute& value, DType data) {
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) {
    return vector_of(*list);
  }
  if (const auto* list = std::get_if<std::vector<float>>(&value)) {
    return vector_of(*list);
  }
  if (const auto* one = std::get_if<std::int64_t>(&value)) {
    return vector_of(std::vector{*one});
  }
  if (const auto* one = std::get_if<float>(&value)) {
    return filled(data, {}, *one);
  }
  throw Error(ErrorCode::kInvalidModel, "", "an attribute has an unexpected type");
}

void move_attributes(Draft& draft, const MovedAttributes& moved, GraphBuilder& builder) {
  if (draft.inputs.size() != 1 || !draft.inputs[0]) {
    throw Error(ErrorCode::kInvalidModel, "",
                "has " + std::to_string(draft.inputs.size()) + " operands")
        .expected("1");
  }
  const DType data = builder.type(draft.inputs[0]).dtype;
  for (std::size_t i = 0; i < moved.names.size(); ++i) {
    const char* name = moved.names[i];
    if (name == nullptr || !draft.attributes.has(name)) {
      continue;
    }
    Tensor operand = operand_from(draft.attributes.items().find(name)->second, data);
    draft.attributes.erase(name);
    draft.set_input(i + 1, builder.add_constant(draft.name + "_" + name, std::move(operand)));
  }
}

void drop_saturate(Draft& draft, GraphBuilder&) {
  // About 8-bit floats, which are refused as types.
  draft.attributes.erase("saturate");
  draft.attributes.erase("round_mode");
}

void drop_broadcast(Draft& draft, GraphBuilder&) {
  draft.attributes.erase("broadcast");
}

/// Training was what an operator did unless told otherwise.
void require_test_mode(Draft& draft, GraphBuilder&) {
  if (draft.attributes.integer("is_test", 0) == 0) {
    throw Error(ErrorCode::kUnsupported, "", "training mode is not supported");
  }
  draft.attributes.erase("is_test");
}

void scatter_elements(Draft& draft, GraphBuilder&) {
  draft.op = "ScatterElements";
}

void inference_batch_norm(Draft& draft, GraphBuilder& builder) {
  if (draft.attributes.has("spatial")) {
    expect_and_drop(draft, "spatial", 1);
  }
  if (draft.attributes.integer("training_mode", 0) != 0) {
    train_batch_norm(draft, builder);
  } else if (draft.outputs.size() > 1) {
    throw Error(ErrorCode::kUnsupported, "", "training mode is not supported");
  }
}

bool drops_nothing(const Draft& draft, GraphBuilder& builder) {
  const Tensor* ratio = draft.has_input(1) ? builder.decisive(draft.inputs[1]) : nullptr;
  return ratio != nullptr && ratio->to_double() == std::vector<double>{0};
}

void inference_dropout(Draft& draft, GraphBuilder& builder) {
  constexpr std::size_t kTrainingMode = 2;
  if (draft.has_input(kTrainingMode)) {
    const Tensor& training = builder.required(draft, kTrainingMode);
    const bool trains = training.size() > 0 && training.to_int64().front() != 0;
    // Without anything to drop there is nothing random.
    if (trains && !drops_nothing(draft, builder)) {
      throw Error(ErrorCode::kUnsupported, "",
                  "training mode is not supported, which drops elements at random");
    }
    draft.inputs.resize(kTrainingMode);
  }
}

void rename_grid_sample_modes(Draft& draft, GraphBuilder&) {
  const std::string mode = draft.attributes.text("mode", "linear");
  draft.attributes.set("mode", mode == "linear"  ? std::string("bilinear")
                               : mode == "cubic" ? std::string("bicubic")
                                                 : mode);
}

void refuse_as_newer(Draft& draft, GraphBuilder&) {
  throw Error(ErrorCode::kUnsupported, "",
              "operator '" + draft.op + "' is younger than the opset of the model");
}

struct Rule {
  std::string_view op;
  int first_opset;
  int last_opset;
  void (*apply)(Draft&, GraphBuilder&);
  bool replaces_operator = false;
};

/// Applied in order; an operator may have several.
constexpr std::array kRules{
    Rule{"Add", kOldest, 6, broadcast_as_numpy},
    Rule{"Sub", kOldest, 6, broadcast_as_numpy},
    Rule{"Mul", kOldest, 6, broadcast_as_numpy},
    Rule{"Div", kOldest, 6, broadcast_as_numpy},
    Rule{"Pow", kOldest, 6, broadcast_as_numpy},
    Rule{"And", kOldest, 6, broadcast_as_numpy},
    Rule{"Or", kOldest, 6, broadcast_as_numpy},
    Rule{"Xor", kOldest, 6, broadcast_as_numpy},
    Rule{"Equal", kOldest, 6, broadcast_as_numpy},
    Rule{"Greater", kOldest, 6, broadcast_as_numpy},
    Rule{"Less", kOldest, 6, broadcast_as_numpy},
    Rule{"PRelu", kOldest, 6, slope_by_channel},
    Rule{"Gemm", kOldest, 6, drop_broadcast},
    Rule{"BatchNormalization", kOldest, 6, require_test_mode},
    Rule{"Dropout", kOldest, 6, require_test_mode},
    Rule{"Softmax", kOldest, 12, flatten_softmax},
    Rule{"LogSoftmax", kOldest, 12, flatten_softmax},
    Rule{"Hardmax", kOldest, 12, flatten_softmax},
    Rule{"BatchNormalization", kOldest, kNewest, inference_batch_norm},
    Rule{"Dropout", kOldest, kNewest, inference_dropout},
    Rule{"Scatter", kOldest, 10, scatter_elements, true},
    Rule{"Upsample", kOldest, 9, to_resize, true},
    Rule{"Resize", 10, 10, to_resize},
    Rule{"Resize", 18, kNewest, resize_all_axes},
    Rule{"Resize", 11, kNewest, drop_empty_resize_operands},
    Rule{"Pad", 18, kNewest, pad_all_axes},
    Rule{"Split", 18, kNewest, split_evenly},
    Rule{"ReduceL1", 18, kNewest, reduce_axes_to_attribute},
    Rule{"ReduceL2", 18, kNewest, reduce_axes_to_attribute},
    Rule{"ReduceLogSum", 18, kNewest, reduce_axes_to_attribute},
    Rule{"ReduceLogSumExp", 18, kNewest, reduce_axes_to_attribute},
    Rule{"ReduceMax", 18, kNewest, reduce_axes_to_attribute},
    Rule{"ReduceMean", 18, kNewest, reduce_axes_to_attribute},
    Rule{"ReduceMin", 18, kNewest, reduce_axes_to_attribute},
    Rule{"ReduceProd", 18, kNewest, reduce_axes_to_attribute},
    Rule{"ReduceSumSquare", 18, kNewest, reduce_axes_to_attribute},
    Rule{"Cast", 19, kNewest, drop_saturate},
    Rule{"CastLike", 19, kNewest, drop_saturate},
    Rule{"QuantizeLinear", 19, kNewest, drop_newer_quantization},
    Rule{"DequantizeLinear", 19, kNewest, drop_newer_quantization},
    Rule{"GridSample", 20, kNewest, rename_grid_sample_modes},
    Rule{"Gelu", kOldest, 19, refuse_as_newer},
    Rule{"DFT", 20, kNewest, dft_axis_to_attribute},
    Rule{"GroupNormalization", 18, kNewest, group_to_instance_normalization, true},
    Rule{"Mish", 18, kNewest, expand_mish, true},
    Rule{"CenterCropPad", 18, kNewest, expand_center_crop_pad, true},
    Rule{"Col2Im", 18, kNewest, expand_col2im, true},
    Rule{"AffineGrid", 20, kNewest, expand_affine_grid, true},
    Rule{"Attention", kNewest, kNewest, expand_newer_attention, true},
    Rule{"RotaryEmbedding", kNewest, kNewest, expand_newer_rotary_embedding, true},
    Rule{"TensorScatter", kNewest, kNewest, expand_tensor_scatter, true},
    Rule{"Swish", kNewest, kNewest, expand_swish, true},
    // ONNX Runtime writes it as an operator of ONNX, of any opset.
    Rule{"SimplifiedLayerNormalization", kOldest, kNewest, expand_rms_normalization, true},
    Rule{"RMSNormalization", kNewest, kNewest, expand_rms_normalization, true},
};

}  // namespace

void expect_and_drop(Draft& draft, std::string_view attribute, std::int64_t value) {
  if (draft.attributes.integer(attribute, value) != value) {
    throw Error(ErrorCode::kUnsupported, "",
                "attribute '" + std::string(attribute) + "' is " +
                    std::to_string(draft.attributes.integer(attribute)) +
                    ", which is not supported");
  }
  draft.attributes.erase(attribute);
}

void normalize(Draft& draft, int opset, GraphBuilder& builder) {
  const std::string op = draft.op;
  for (const MovedAttributes& moved : kMovedAttributes) {
    if (moved.op == op && opset <= moved.last_opset) {
      move_attributes(draft, moved, builder);
    }
  }
  for (const Rule& rule : kRules) {
    if (rule.op == op && rule.first_opset <= opset && opset <= rule.last_opset) {
      rule.apply(draft, builder);
    }
  }
}

bool replaces_operator(std::string_view op, int opset) {
  return std::any_of(kRules.begin(), kRules.end(), [&](const Rule& rule) {
    return rule.replaces_operator && rule.op == op && rule.first_opset <= opset &&
           opset <= rule.last_opset;
  });
}

std::vector<std::string> replaced_operators() {
  std::vector<std::string> names;
  for (const Rule& rule : kRules) {
    if (rule.replaces_operator) {
      names.emplace_back(rule.op);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tare
