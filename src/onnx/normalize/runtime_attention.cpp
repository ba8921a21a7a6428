// Attention as ONNX Runtime has it, by products and Softmax: Attention, MultiHeadAttention,
// and GroupQueryAttention.
#include "tare/error.h"

#include "onnx/constants.h"
#include "onnx/normalize/attention_parts.h"
#include "onnx/normalize/runtime_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace tare {
namespace {

std::int64_t required_heads(const NodeParts& parts, const char* attribute) {
  const std::int64_t heads = parts.attributes().integer(attribute);
  if (heads < 1) {
    throw Error(ErrorCode::kInvalidModel, "",
                "attribute '" + std::string(attribute) + "' is " + std::to_string(heads));
  }
  return heads;
}

/// What attention multiplies; all [batch, heads, length, size].
struct Heads {
  ValueId query;
  ValueId key;
  ValueId value;
};

/// Added to the scores; absent: nothing.
struct Bias {
  std::vector<ValueId> terms;
  float softcap = 0;  ///< scores stay within it by tanh, where it is not 0
};

/// softmax(query * key * scale + bias) * value, as [batch, length, width].
void finish_attention(NodeParts& parts, const Heads& heads, float scale, const Bias& bias) {
  const DType dtype = parts.dtype(heads.query);
  const auto size = static_cast<float>(parts.extent(heads.query, 3));
  const auto factor = static_cast<double>(scale != 0 ? scale : 1 / std::sqrt(size));
  const ValueId turned = parts.transpose("key_turned", heads.key, {0, 1, 3, 2});
  const ValueId product = parts.add("products", "MatMul", {heads.query, turned});
  ValueId scores = parts.add("scores", "Mul", {product, parts.number("scale", dtype, factor)});
  if (bias.softcap != 0) {
    const ValueId cap = parts.number("cap", dtype, static_cast<double>(bias.softcap));
    const ValueId bounded =
        parts.add("bounded", "Tanh", {parts.add("shares_of_cap", "Div", {scores, cap})});
    scores = parts.add("capped", "Mul", {bounded, cap});
  }
  for (std::size_t i = 0; i < bias.terms.size(); ++i) {
    scores = parts.add("biased_" + std::to_string(i), "Add", {scores, bias.terms[i]});
  }
  const ValueId shares = parts.add("shares", "Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  const ValueId sum = parts.add("sums", "MatMul", {shares, heads.value});
  const ValueId together = parts.transpose("together", sum, {0, 2, 1, 3});
  const std::int64_t width = parts.extent(heads.value, 1) * parts.extent(heads.value, 3);
  parts.finish("Reshape", {together, parts.integers("shape", {0, 0, width})});
}

/// 0 where `keeps` holds, the filter value elsewhere.
ValueId filtered(NodeParts& parts, const std::string& name, ValueId keeps, DType dtype) {
  const auto filter = static_cast<double>(parts.attributes().real("mask_filter_value", -10000));
  return parts.add(name, "Where",
                   {keeps, parts.number(name + "_kept", dtype, 0),
                    parts.number(name + "_left_out", dtype, filter)});
}

/// A mask of keys in one of the forms of `mask_index`, as what is added to scores.
ValueId mask_term(NodeParts& parts, ValueId mask, std::int64_t batch, std::int64_t keys,
                  DType dtype) {
  const Shape shape = parts.shape(mask);
  const DType integer = parts.dtype(mask);
  const auto whole = [&](const std::string& name, std::vector<std::int64_t> numbers) {
    return parts.add(name, "CastLike", {parts.integers(name + "_list", numbers), mask});
  };
  if (shape.size() == 1 && (shape[0] == batch || shape[0] == 2 * batch)) {
    // Where keys end, and where they begin.
    std::vector<std::int64_t> all(static_cast<std::size_t>(keys));
    for (std::int64_t i = 0; i < keys; ++i) {
      all[static_cast<std::size_t>(i)] = i;
    }
    const ValueId places = whole("places", all);
    const auto bound = [&](const std::string& name, std::int64_t first) {
      return parts.unsqueeze(name, parts.slice(name + "_rows", mask, 0, first, first + batch),
                             {1, 2, 3});
    };
    ValueId keeps = parts.add("before_end", "Less", {places, bound("end", 0)});
    if (shape[0] == 2 * batch) {
      const ValueId behind =
          parts.add("behind_start", "GreaterOrEqual", {places, bound("start", batch)});
      keeps = parts.add("inside", "And", {keeps, behind});
    }
    return filtered(parts, "mask", keeps, dtype);
  }
  if (shape.size() == 2 || shape.size() == 3) {
    const std::vector<std::int64_t> axes =
        shape.size() == 2 ? std::vector<std::int64_t>{1, 2} : std::vector<std::int64_t>{1};
    const ValueId wide = parts.unsqueeze("mask_wide", mask, axes);
    const ValueId keeps = integer == DType::kBool ? wide
                                                  : parts.add("mask_keeps", "Greater",
                                                              {wide, whole("mask_none", {0})});
    return filtered(parts, "mask", keeps, dtype);
  }
  throw unsupported_form("a mask of shape " + to_string(shape));
}

/// Each query sees keys up to its own place, and from `window` places before it on where that
/// is not negative. `past` keys come before the first query.
ValueId causal_term(NodeParts& parts, std::int64_t queries, std::int64_t keys,
                    std::int64_t past, std::int64_t window, DType dtype) {
  Tensor term(DType::kFloat32, {queries, keys});
  auto numbers = term.mutable_view<float>();
  for (std::int64_t query = 0; query < queries; ++query) {
    for (std::int64_t key = 0; key < keys; ++key) {
      const std::int64_t place = past + query;
      const bool sees = key <= place && (window < 0 || key >= place - window);
      numbers[static_cast<std::size_t>(query * keys + key)] =
          sees ? 0 : std::numeric_limits<float>::lowest() / 2;
    }
  }
  const ValueId constant = parts.constant("causal", std::move(term));
  return dtype == DType::kFloat32
             ? constant
             : parts.add("causal_cast", "CastLike", {constant, parts.number("zero", dtype, 0)});
}

/// Keys or values so far: those of `past`, then the new ones.
ValueId behind_past(NodeParts& parts, const std::string& name, ValueId past, ValueId now) {
  return past ? parts.concat(name, {past, now}, 2) : now;
}

/// Query, key and value of MultiHeadAttention, [batch, length, width] each, or keys and values
/// by heads already.
struct Operands {
  ValueId query;
  ValueId key;
  ValueId value;
};

/// One of `count` of [batch, length, heads, count, size], as [batch, length, heads * size].
ValueId unpacked(NodeParts& parts, const std::string& name, ValueId packed,
                 std::int64_t index) {
  const std::int64_t width = parts.extent(packed, 2) * parts.extent(packed, 4);
  return parts.reshape(name + "_flat",
                       parts.slice(name + "_of_packed", packed, 3, index, index + 1),
                       {0, 0, width});
}

Operands separate_operands(NodeParts& parts) {
  const ValueId query = parts.input(0);
  if (parts.rank(query) == 5 && parts.extent(query, 3) == 3) {
    return {unpacked(parts, "query", query, 0), unpacked(parts, "key", query, 1),
            unpacked(parts, "value", query, 2)};
  }
  if (parts.rank(query) == 3 && parts.has(1) && parts.rank(parts.input(1)) == 5 &&
      parts.extent(parts.input(1), 3) == 2) {
    const ValueId both = parts.input(1);
    return {query, unpacked(parts, "key", both, 0), unpacked(parts, "value", both, 1)};
  }
  if (parts.rank(query) != 3 || !parts.has(1) || !parts.has(2)) {
    throw unsupported_form("queries of shape " + to_string(parts.shape(query)));
  }
  return {query, parts.input(1), parts.input(2)};
}

}  // namespace

void expand_attention(NodeParts& parts) {
  const ValueId data = parts.input(0);
  const ValueId weights = parts.input(1);
  const std::int64_t heads = required_heads(parts, "num_heads");
  const std::int64_t batch = parts.extent(data, 0);
  const std::int64_t length = parts.extent(data, 1);
  const std::int64_t width = parts.extent(weights, 1);
  const std::vector<std::int64_t> widths =
      parts.attributes().integers("qkv_hidden_sizes", std::vector<std::int64_t>(3, width / 3));
  if (widths.size() != 3 || widths[0] + widths[1] + widths[2] != width) {
    throw Error(ErrorCode::kInvalidModel, "",
                "weights are " + to_string(parts.shape(weights)) +
                    ", and 'qkv_hidden_sizes' is " + to_string(widths));
  }
  if (parts.attributes().integer("do_rotary", 0) != 0 ||
      parts.attributes().integer("past_present_share_buffer", 0) != 0) {
    throw unsupported_form("'do_rotary' or 'past_present_share_buffer'");
  }
  ValueId projected = parts.add("product", "MatMul", {data, weights});
  if (parts.has(2)) {
    projected = parts.add("projected", "Add", {projected, parts.input(2)});
  }
  const auto all = split(parts, "part", projected, 2, widths);
  Heads by{by_heads(parts, "query", all[0], heads), by_heads(parts, "key", all[1], heads),
           by_heads(parts, "value", all[2], heads)};
  std::int64_t past = 0;
  if (parts.has(4)) {
    const ValueId both = parts.input(4);
    past = parts.extent(both, 3);
    const auto halves = split(parts, "past", both, 0, {1, 1});
    by.key = behind_past(parts, "keys", without_axis(parts, "past_keys", halves[0], 0), by.key);
    by.value = behind_past(parts, "values", without_axis(parts, "past_values", halves[1], 0),
                           by.value);
  }
  if (parts.wants(1)) {
    parts.result(1, parts.concat("present",
                                 {parts.unsqueeze("present_keys", by.key, {0}),
                                  parts.unsqueeze("present_values", by.value, {0})},
                                 0));
  }
  const DType dtype = parts.dtype(data);
  const std::int64_t keys = past + length;
  Bias bias;
  if (parts.has(3)) {
    bias.terms.push_back(mask_term(parts, parts.input(3), batch, keys, dtype));
  }
  if (parts.has(5)) {
    bias.terms.push_back(parts.input(5));
  }
  if (parts.attributes().integer("unidirectional", 0) != 0) {
    bias.terms.push_back(causal_term(parts, length, keys, past, -1, dtype));
  }
  finish_attention(parts, by, parts.attributes().real("scale", 0), bias);
}

void expand_multi_head_attention(NodeParts& parts) {
  const std::int64_t heads = required_heads(parts, "num_heads");
  Operands given = separate_operands(parts);
  const std::int64_t batch = parts.extent(given.query, 0);
  const std::int64_t length = parts.extent(given.query, 1);
  const bool keys_are_by_heads = parts.rank(given.key) == 4;
  if (parts.has(3)) {
    const std::int64_t width = parts.extent(given.query, 2);
    const std::int64_t rest = parts.extent(parts.input(3), 0) - 2 * width;
    const auto biases = split(parts, "bias", parts.input(3), 0, {width, width, rest});
    given.query = parts.add("query_biased", "Add", {given.query, biases[0]});
    if (!keys_are_by_heads) {
      given.key = parts.add("key_biased", "Add", {given.key, biases[1]});
      given.value = parts.add("value_biased", "Add", {given.value, biases[2]});
    }
  }
  Heads by{by_heads(parts, "query", given.query, heads), given.key, given.value};
  if (!keys_are_by_heads) {
    by.key = by_heads(parts, "key", given.key, heads);
    by.value = by_heads(parts, "value", given.value, heads);
  }
  const std::int64_t past = parts.has(6) ? parts.extent(parts.input(6), 2) : 0;
  by.key = behind_past(parts, "keys", parts.optional(6), by.key);
  by.value = behind_past(parts, "values", parts.optional(7), by.value);
  parts.result(1, by.key);
  parts.result(2, by.value);
  const DType dtype = parts.dtype(given.query);
  const std::int64_t keys = parts.extent(by.key, 2);
  Bias bias;
  if (parts.has(4)) {
    bias.terms.push_back(mask_term(parts, parts.input(4), batch, keys, dtype));
  }
  if (parts.has(5)) {
    bias.terms.push_back(parts.input(5));
  }
  if (parts.attributes().integer("unidirectional", 0) != 0) {
    bias.terms.push_back(causal_term(parts, length, keys, past, -1, dtype));
  }
  finish_attention(parts, by, parts.attributes().real("scale", 0), bias);
}

void expand_group_query_attention(NodeParts& parts) {
  const std::int64_t heads = required_heads(parts, "num_heads");
  const std::int64_t groups = required_heads(parts, "kv_num_heads");
  const std::int64_t in_group = share_of(heads, groups);
  ValueId query = parts.input(0);
  ValueId key = parts.optional(1);
  ValueId value = parts.optional(2);
  if (!key) {
    const std::int64_t size = share_of(parts.extent(query, 2), heads + 2 * groups);
    const auto all =
        split(parts, "part", query, 2, {heads * size, groups * size, groups * size});
    query = all[0];
    key = all[1];
    value = all[2];
  }
  const std::int64_t length = parts.extent(query, 1);
  const std::int64_t past = parts.has(3) ? parts.extent(parts.input(3), 2) : 0;
  Heads by{by_heads(parts, "query", query, heads), by_heads(parts, "key", key, groups),
           by_heads(parts, "value", value, groups)};
  if (parts.attributes().integer("do_rotary", 0) != 0) {
    const bool interleaved = parts.attributes().integer("rotary_interleaved", 0) != 0;
    const ValueId cosine = parts.slice("cosine", parts.input(7), 0, past, past + length);
    const ValueId sine = parts.slice("sine", parts.input(8), 0, past, past + length);
    by.query = rotated(parts, "query_rotated", by.query, cosine, sine, interleaved);
    by.key = rotated(parts, "key_rotated", by.key, cosine, sine, interleaved);
  }
  by.key = behind_past(parts, "keys", parts.optional(3), by.key);
  by.value = behind_past(parts, "values", parts.optional(4), by.value);
  parts.result(1, by.key);
  parts.result(2, by.value);
  const auto for_each_query = [&](const std::string& name, ValueId data) {
    if (in_group == 1) {
      return data;
    }
    const std::int64_t size = parts.extent(data, 3);
    const ValueId one = parts.unsqueeze(name + "_group", data, {2});
    const ValueId repeated =
        parts.add(name + "_repeated", "Expand",
                  {one, parts.integers(name + "_copies", {1, 1, in_group, 1, 1})});
    return parts.reshape(name + "_all", repeated, {0, heads, -1, size});
  };
  by.key = for_each_query("key", by.key);
  by.value = for_each_query("value", by.value);
  const DType dtype = parts.dtype(query);
  Bias bias;
  bias.softcap = parts.attributes().real("softcap", 0);
  if (parts.has(10)) {
    bias.terms.push_back(parts.input(10));
  }
  bias.terms.push_back(causal_term(parts, length, past + length, past,
                                   parts.attributes().integer("local_window_size", -1), dtype));
  finish_attention(parts, by, parts.attributes().real("scale", 0), bias);
}

}  // namespace tare
