// Attention and RotaryEmbedding of opset 23, and TensorScatter of 24, by products and Softmax
// as those of ONNX Runtime.
#include "tare/error.h"

#include "onnx/constants.h"
#include "onnx/normalize/attention_parts.h"
#include "onnx/normalize/rules.h"
#include "onnx/normalize/runtime_rules.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace tare {
namespace {

constexpr std::size_t kMask = 3;
constexpr std::size_t kPastKey = 4;
constexpr std::size_t kPastValue = 5;
constexpr std::size_t kLengths = 6;
constexpr std::size_t kProducts = 3;  ///< of the results

/// [batch, heads, length, size] of that, or of [batch, length, heads * size].
ValueId heads_of(NodeParts& parts, const std::string& name, ValueId data, const char* count) {
  if (parts.rank(data) == 4) {
    return data;
  }
  if (parts.rank(data) != 3) {
    throw Error(ErrorCode::kInvalidModel, "",
                "the " + name + " is " + to_string(parts.shape(data)));
  }
  return by_heads(parts, name, data, parts.attributes().integer(count, 0));
}

/// Each head of keys or values for all heads of queries that share it.
ValueId for_all_heads(NodeParts& parts, const std::string& name, ValueId data,
                      std::int64_t heads) {
  const std::int64_t copies = share_of(heads, parts.extent(data, 1));
  if (copies == 1) {
    return data;
  }
  const ValueId repeated = parts.add(name + "_repeated", "Expand",
                                     {parts.unsqueeze(name + "_group", data, {2}),
                                      parts.integers(name + "_copies", {1, 1, copies, 1, 1})});
  return parts.reshape(name + "_all", repeated, {0, heads, -1, parts.extent(data, 3)});
}

/// 0 where a query sees a key, and next to nothing elsewhere.
ValueId term_of(NodeParts& parts, const std::string& name, ValueId sees, DType dtype) {
  const double unseen = static_cast<double>(std::numeric_limits<float>::lowest()) / 2;
  return parts.add(name, "Where",
                   {sees, parts.number(name + "_seen", dtype, 0),
                    parts.number(name + "_unseen", dtype, unseen)});
}

void refuse_rare_forms(const NodeParts& parts) {
  const Attributes& attributes = parts.attributes();
  const bool is_causal = attributes.integer("is_causal", 0) != 0;
  const char* what = parts.has(kLengths)                ? "operand 'nonpad_kv_seqlen'"
                     : parts.wants(kProducts)           ? "result 'qk_matmul_output'"
                     : is_causal && parts.has(kPastKey) ? "'is_causal' with keys of the past"
                     : attributes.real("softcap", 0) != 0 && (is_causal || parts.has(kMask))
                         ? "'softcap' with a mask"
                         : nullptr;
  if (what != nullptr) {
    throw Error(ErrorCode::kUnsupported, "", std::string(what) + " is not supported");
  }
}

ValueId scores_of(NodeParts& parts, ValueId query, ValueId key) {
  const DType dtype = parts.dtype(query);
  const Attributes& attributes = parts.attributes();
  const auto size = static_cast<float>(parts.extent(query, 3));
  const float scale = attributes.real("scale", 1 / std::sqrt(size));
  const ValueId product = parts.add("products", "MatMul",
                                    {query, parts.transpose("key_turned", key, {0, 1, 3, 2})});
  ValueId scores = parts.add(
      "scores", "Mul", {product, parts.number("scale", dtype, static_cast<double>(scale))});
  if (const float softcap = attributes.real("softcap", 0); softcap != 0) {
    const ValueId cap = parts.number("cap", dtype, static_cast<double>(softcap));
    const ValueId bounded =
        parts.add("bounded", "Tanh", {parts.add("shares_of_cap", "Div", {scores, cap})});
    scores = parts.add("capped", "Mul", {bounded, cap});
  }
  if (parts.has(kMask)) {
    const ValueId mask = parts.input(kMask);
    scores = parts.add(
        "masked", "Add",
        {scores,
         parts.dtype(mask) == DType::kBool ? term_of(parts, "mask", mask, dtype) : mask});
  }
  if (attributes.integer("is_causal", 0) != 0) {
    const std::int64_t queries = parts.extent(query, 2);
    const std::int64_t keys = parts.extent(key, 2);
    Tensor sees(DType::kBool, {queries, keys});
    for (std::int64_t i = 0; i < queries * keys; ++i) {
      reinterpret_cast<bool*>(sees.mutable_data())[i] = i % keys <= i / keys;
    }
    scores = parts.add("causal", "Add",
                       {scores, term_of(parts, "past", parts.constant("sees", sees), dtype)});
  }
  return scores;
}

}  // namespace

void expand_newer_attention(Draft& draft, GraphBuilder& builder) {
  NodeParts parts(draft, builder);
  refuse_rare_forms(parts);
  const bool is_flat = parts.rank(parts.input(0)) == 3;
  const ValueId query = heads_of(parts, "query", parts.input(0), "q_num_heads");
  ValueId key = heads_of(parts, "key", parts.input(1), "kv_num_heads");
  ValueId value = heads_of(parts, "value", parts.input(2), "kv_num_heads");
  if (parts.has(kPastKey) && parts.has(kPastValue)) {
    key = parts.concat("keys", {parts.input(kPastKey), key}, 2);
    value = parts.concat("values", {parts.input(kPastValue), value}, 2);
  }
  parts.result(1, key);
  parts.result(2, value);
  const std::int64_t heads = parts.extent(query, 1);
  const ValueId scores = scores_of(parts, query, for_all_heads(parts, "key", key, heads));
  const ValueId shares = parts.add("shares", "Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  const ValueId values = for_all_heads(parts, "value", value, heads);
  if (!is_flat) {
    parts.finish("MatMul", {shares, values});
    return;
  }
  const ValueId sums = parts.add("sums", "MatMul", {shares, values});
  const std::int64_t width = heads * parts.extent(values, 3);
  parts.finish("Reshape", {parts.transpose("together", sums, {0, 2, 1, 3}),
                           parts.integers("shape", {0, 0, width})});
}

void expand_newer_rotary_embedding(Draft& draft, GraphBuilder& builder) {
  constexpr std::size_t kCosine = 1;
  constexpr std::size_t kSine = 2;
  constexpr std::size_t kPlaces = 3;
  NodeParts parts(draft, builder);
  const ValueId data = parts.input(0);
  const bool interleaved = parts.attributes().integer("interleaved", 0) != 0;
  const auto of_places = [&](const std::string& name, std::size_t operand) {
    ValueId table = parts.input(operand);
    if (parts.has(kPlaces)) {
      table = parts.add(name, "Gather", {table, parts.input(kPlaces)});
    }
    return parts.unsqueeze(name + "_of_heads", table, {1});
  };
  const ValueId cosine = of_places("cosine", kCosine);
  const ValueId sine = of_places("sine", kSine);
  const ValueId turned = rotated(parts, "rotated", heads_of(parts, "heads", data, "num_heads"),
                                 cosine, sine, interleaved);
  if (parts.rank(data) == 4) {
    parts.finish("Identity", {turned});
    return;
  }
  parts.finish("Reshape", {parts.transpose("together", turned, {0, 2, 1, 3}),
                           parts.integers("shape", {0, 0, parts.extent(data, 2)})});
}

void expand_tensor_scatter(Draft& draft, GraphBuilder& builder) {
  constexpr std::size_t kUpdate = 1;
  constexpr std::size_t kPlaces = 2;
  NodeParts parts(draft, builder);
  const ValueId cache = parts.input(0);
  const ValueId update = parts.input(kUpdate);
  const Shape shape = parts.shape(update);
  const std::string mode = parts.attributes().text("mode", "linear");
  const std::size_t axis =
      normalized_axis(parts.attributes().integer("axis", -2), parts.rank(cache));
  if (shape.size() != parts.rank(cache) || (mode != "linear" && mode != "circular")) {
    throw Error(ErrorCode::kInvalidModel, "",
                "writes " + to_string(shape) + " into " + to_string(parts.shape(cache)) +
                    " in mode '" + mode + "'");
  }
  Shape along(shape.size(), 1);
  along[axis] = shape[axis];
  std::vector<std::int64_t> steps(static_cast<std::size_t>(shape[axis]));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i] = static_cast<std::int64_t>(i);
  }
  ValueId rows = parts.constant("steps", vector_of(steps).reshaped(along));
  if (parts.has(kPlaces)) {
    std::vector<std::int64_t> others(shape.size() - 1);
    for (std::size_t i = 0; i < others.size(); ++i) {
      others[i] = static_cast<std::int64_t>(i) + 1;
    }
    rows = parts.add("rows", "Add",
                     {parts.unsqueeze("first_rows", parts.input(kPlaces), others), rows});
  }
  if (mode == "circular") {
    rows = parts.add("wrapped", "Mod",
                     {rows, parts.integers("extent", {parts.extent(cache, axis)})});
  }
  const ValueId all = parts.add("all_rows", "Expand",
                                {rows, builder.extents_of(update, draft.name + "_extents")});
  parts.finish("ScatterElements", {cache, all, update},
               {{"axis", static_cast<std::int64_t>(axis)}});
}

}  // namespace tare
