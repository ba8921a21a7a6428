// Operators of ONNX Runtime's domain between real values, by the operators of ONNX that they
// are defined by. Those of attention are in runtime_attention.cpp.
#include "onnx/normalize/runtime_operators.h"

#include "tare/error.h"

#include "onnx/normalize/runtime_rules.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace tare {
namespace {

Error not_supported(const std::string& what) {
  return {ErrorCode::kUnsupported, "", what + " is not supported"};
}

// ---- activations ----------------------------------------------------------------------------

void expand_gelu(NodeParts& parts) {
  parts.finish("Gelu", {parts.input(0)});
}

void expand_bias_gelu(NodeParts& parts) {
  parts.finish("Gelu", {parts.add("biased", "Add", {parts.input(0), parts.input(1)})});
}

void expand_fast_gelu(NodeParts& parts) {
  const ValueId biased = parts.has(1)
                             ? parts.add("biased", "Add", {parts.input(0), parts.input(1)})
                             : parts.input(0);
  parts.finish("Gelu", {biased}, {{"approximate", std::string("tanh")}});
}

void expand_quick_gelu(NodeParts& parts) {
  const ValueId data = parts.input(0);
  const ValueId alpha =
      parts.number("alpha", parts.dtype(data),
                   static_cast<double>(parts.attributes().real("alpha", 1.702F)));
  const ValueId scaled = parts.add("scaled", "Mul", {data, alpha});
  parts.finish("Mul", {data, parts.add("gate", "Sigmoid", {scaled})});
}

// ---- products -------------------------------------------------------------------------------

/// The attributes of an operator of ONNX among those of a fused one.
Attributes without(const Attributes& all, std::initializer_list<const char*> names) {
  Attributes result = all;
  for (const char* name : names) {
    result.erase(name);
  }
  return result;
}

/// The activation that a fused operator names, in place of `value`.
void finish_activated(NodeParts& parts, const Attributes& attributes, ValueId value) {
  const std::string op = attributes.text("activation", "");
  const std::vector<float> numbers = attributes.reals("activation_params", {});
  const auto number = [&](std::size_t i, float fallback) {
    return i < numbers.size() ? numbers[i] : fallback;
  };
  constexpr std::array kPlain{"Relu", "Sigmoid", "Tanh", "HardSwish"};
  if (op.empty()) {
    parts.finish("Identity", {value});
  } else if (std::find(kPlain.begin(), kPlain.end(), op) != kPlain.end()) {
    parts.finish(op, {value});
  } else if (op == "LeakyRelu") {
    parts.finish(op, {value}, {{"alpha", number(0, 0.01F)}});
  } else if (op == "HardSigmoid") {
    parts.finish(op, {value}, {{"alpha", number(0, 0.2F)}, {"beta", number(1, 0.5F)}});
  } else if (op == "Clip" && numbers.size() == 2) {
    const DType dtype = parts.dtype(value);
    parts.finish(op, {value, parts.number("low", dtype, static_cast<double>(numbers[0])),
                      parts.number("high", dtype, static_cast<double>(numbers[1]))});
  } else {
    throw not_supported("activation '" + op + "'");
  }
}

void expand_fused_conv(NodeParts& parts) {
  const Attributes all = parts.attributes();
  std::vector<ValueId> operands{parts.input(0), parts.input(1)};
  if (parts.has(2)) {
    operands.push_back(parts.input(2));
  }
  ValueId sum = parts.add("product", "Conv", std::move(operands),
                          without(all, {"activation", "activation_params"}));
  if (parts.has(3)) {
    sum = parts.add("sum", "Add", {sum, parts.input(3)});
  }
  finish_activated(parts, all, sum);
}

void expand_fused_gemm(NodeParts& parts) {
  // Its parameters have names of their own.
  Attributes all = parts.attributes();
  std::vector<float> numbers;
  for (const char* name : {"activation_alpha", "activation_beta", "activation_gamma"}) {
    if (all.has(name)) {
      numbers.push_back(all.real(name));
      all.erase(name);
    }
  }
  all.set("activation_params", numbers);
  std::vector<ValueId> operands{parts.input(0), parts.input(1)};
  if (parts.has(2)) {
    operands.push_back(parts.input(2));
  }
  const ValueId sum = parts.add("product", "Gemm", std::move(operands),
                                without(all, {"activation", "activation_params"}));
  finish_activated(parts, all, sum);
}

/// `batched` says that the first axis but those of the matrix is where the rows are.
ValueId transposed(NodeParts& parts, const std::string& name, ValueId matrix,
                   bool is_transposed, bool batched) {
  const std::size_t rank = parts.rank(matrix);
  std::vector<std::int64_t> perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  if (batched && rank > 2) {
    // [rows, batches..., columns]: the first axis is moved behind the batches.
    std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  }
  if (is_transposed && rank > 1) {
    std::swap(perm[rank - 1], perm[rank - 2]);
  }
  return std::is_sorted(perm.begin(), perm.end())
             ? matrix
             : parts.transpose(name, matrix, std::move(perm));
}

void expand_fused_mat_mul(NodeParts& parts) {
  const Attributes& all = parts.attributes();
  const auto has = [&](const char* name) { return all.integer(name, 0) != 0; };
  const float alpha = all.real("alpha", 1);
  const ValueId a = transposed(parts, "a", parts.input(0), has("transA"), has("transBatchA"));
  const ValueId b = transposed(parts, "b", parts.input(1), has("transB"), has("transBatchB"));
  if (alpha == 1) {
    parts.finish("MatMul", {a, b});
    return;
  }
  const ValueId product = parts.add("product", "MatMul", {a, b});
  const ValueId factor =
      parts.number("alpha", parts.dtype(product), static_cast<double>(alpha));
  parts.finish("Mul", {product, factor});
}

void expand_nhwc_conv(NodeParts& parts) {
  const ValueId data = parts.input(0);
  const std::size_t rank = parts.rank(data);
  if (rank < 3) {
    throw Error(ErrorCode::kInvalidModel, "", "the data is " + to_string(parts.shape(data)));
  }
  std::vector<std::int64_t> first{0, static_cast<std::int64_t>(rank) - 1};
  std::vector<std::int64_t> last{0};
  for (std::size_t axis = 1; axis + 1 < rank; ++axis) {
    first.push_back(static_cast<std::int64_t>(axis));
    last.push_back(static_cast<std::int64_t>(axis) + 1);
  }
  last.push_back(1);
  std::vector<ValueId> operands{parts.transpose("channels_first", data, first), parts.input(1)};
  if (parts.has(2)) {
    operands.push_back(parts.input(2));
  }
  const ValueId product = parts.add("product", "Conv", std::move(operands), parts.attributes());
  parts.finish("Transpose", {product}, {{"perm", last}});
}

// ---- normalizations -------------------------------------------------------------------------

/// x / sqrt(mean(x^2) + epsilon) * scale along the last axis.
void finish_root_mean_square(NodeParts& parts, ValueId data, ValueId scale, double epsilon) {
  const ValueId square = parts.add("square", "Mul", {data, data});
  const ValueId mean =
      parts.add("mean", "ReduceMean", {square}, {{"axes", std::vector<std::int64_t>{-1}}});
  const ValueId least = parts.number("epsilon", parts.dtype(data), epsilon);
  const ValueId root = parts.add("root", "Sqrt", {parts.add("above", "Add", {mean, least})});
  parts.finish("Mul", {parts.add("normal", "Div", {data, root}), scale});
}

/// input + skip + bias, with the bias at `bias`, which is result 3 as well.
ValueId skip_sum(NodeParts& parts, std::size_t bias) {
  ValueId sum = parts.add("skip", "Add", {parts.input(0), parts.input(1)});
  if (parts.has(bias)) {
    sum = parts.add("biased", "Add", {sum, parts.input(bias)});
  }
  if (parts.wants(1) || parts.wants(2)) {
    throw not_supported("a mean or variance as a result");
  }
  parts.result(3, sum);
  return sum;
}

void finish_layer_norm(NodeParts& parts, ValueId data, ValueId gamma, ValueId beta) {
  std::vector<ValueId> operands{data, gamma};
  if (beta) {
    operands.push_back(beta);
  }
  const float epsilon = parts.attributes().real("epsilon", 1e-12F);
  parts.finish("LayerNormalization", std::move(operands),
               {{"axis", std::int64_t{-1}}, {"epsilon", epsilon}});
}

void expand_skip_layer_norm(NodeParts& parts) {
  const ValueId gamma = parts.input(2);
  const ValueId beta = parts.optional(3);
  const ValueId sum = skip_sum(parts, 4);
  finish_layer_norm(parts, sum, gamma, beta);
}

void expand_skip_simplified_layer_norm(NodeParts& parts) {
  const ValueId gamma = parts.input(2);
  const auto epsilon = static_cast<double>(parts.attributes().real("epsilon", 1e-12F));
  finish_root_mean_square(parts, skip_sum(parts, 3), gamma, epsilon);
}

void expand_embed_layer_norm(NodeParts& parts) {
  const ValueId words = parts.input(0);
  const std::int64_t length = parts.extent(words, 1);
  const ValueId word = parts.add("word", "Gather", {parts.input(2), words});
  ValueId position;
  if (parts.has(8)) {
    position = parts.add("position", "Gather", {parts.input(3), parts.input(8)});
  } else {
    position = parts.slice("position", parts.input(3), 0, 0, length);
  }
  ValueId sum = parts.add("placed", "Add", {word, position});
  if (parts.has(1) && parts.has(4)) {
    sum = parts.add("embedded", "Add",
                    {sum, parts.add("segment", "Gather", {parts.input(4), parts.input(1)})});
  }
  if (parts.wants(1)) {
    // How many items of each row the mask keeps.
    ValueId kept;
    if (parts.has(7)) {
      kept = parts.add("kept", "ReduceSum", {parts.input(7), parts.integers("axis", {1})},
                       {{"keepdims", std::int64_t{0}}});
    } else {
      kept = parts.constant("kept", Tensor(DType::kInt32, {parts.extent(words, 0)}));
    }
    parts.result(1, kept);
  }
  parts.result(2, sum);
  finish_layer_norm(parts, sum, parts.input(5), parts.input(6));
}

struct RuntimeOperator {
  std::string_view op;
  void (*expand)(NodeParts&);
};

constexpr std::array kRuntimeOperators{
    RuntimeOperator{"Attention", expand_attention},
    RuntimeOperator{"BiasAdd", expand_bias_add},
    RuntimeOperator{"BiasGelu", expand_bias_gelu},
    RuntimeOperator{"BiasSplitGelu", expand_bias_split_gelu},
    RuntimeOperator{"EmbedLayerNormalization", expand_embed_layer_norm},
    RuntimeOperator{"FastGelu", expand_fast_gelu},
    RuntimeOperator{"FusedConv", expand_fused_conv},
    RuntimeOperator{"FusedGemm", expand_fused_gemm},
    RuntimeOperator{"FusedMatMul", expand_fused_mat_mul},
    RuntimeOperator{"Gelu", expand_gelu},
    RuntimeOperator{"GroupQueryAttention", expand_group_query_attention},
    RuntimeOperator{"GroupNorm", expand_group_norm},
    RuntimeOperator{"MatMulNBits", expand_mat_mul_n_bits},
    RuntimeOperator{"MultiHeadAttention", expand_multi_head_attention},
    RuntimeOperator{"NhwcConv", expand_nhwc_conv},
    RuntimeOperator{"QuickGelu", expand_quick_gelu},
    RuntimeOperator{"RotaryEmbedding", expand_rotary_embedding},
    RuntimeOperator{"SkipGroupNorm", expand_skip_group_norm},
    RuntimeOperator{"SkipLayerNormalization", expand_skip_layer_norm},
    RuntimeOperator{"SkipSimplifiedLayerNormalization", expand_skip_simplified_layer_norm},
    RuntimeOperator{"TransposeMatMul", expand_fused_mat_mul},
    RuntimeOperator{"Trilu", expand_trilu},
};

const RuntimeOperator* find_runtime_operator(std::string_view op) {
  const auto* found = std::find_if(kRuntimeOperators.begin(), kRuntimeOperators.end(),
                                   [&](const RuntimeOperator& row) { return row.op == op; });
  return found == kRuntimeOperators.end() ? nullptr : found;
}

}  // namespace

bool is_runtime_operator(std::string_view op) {
  return find_runtime_operator(op) != nullptr;
}

std::vector<std::string> runtime_operators() {
  std::vector<std::string> names;
  for (const RuntimeOperator& row : kRuntimeOperators) {
    names.emplace_back(row.op);
  }
  return names;
}

void normalize_runtime_operator(Draft& draft, GraphBuilder& builder) {
  NodeParts parts(draft, builder);
  find_runtime_operator(draft.op)->expand(parts);
}

}  // namespace tare
