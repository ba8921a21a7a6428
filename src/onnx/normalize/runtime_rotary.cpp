// Rotary embeddings: pairs of elements are turned by angles that go with their places.
#include "tare/error.h"

#include "onnx/normalize/attention_parts.h"
#include "onnx/normalize/runtime_rules.h"

#include <string>
#include <vector>

namespace tare {

ValueId rotated(NodeParts& parts, const std::string& part, ValueId data, ValueId cosine,
                ValueId sine, bool interleaved) {
  const std::int64_t size = parts.extent(data, 3);
  const std::int64_t pairs = parts.shape(cosine).back();
  const std::int64_t turned = 2 * pairs;
  if (turned > size) {
    throw Error(
        ErrorCode::kInvalidModel, "",
        "rotates " + std::to_string(turned) + " of " + std::to_string(size) + " elements");
  }
  const ValueId first_part =
      turned == size ? data : parts.slice(part + "_turned", data, 3, 0, turned);
  ValueId first;
  ValueId second;
  if (interleaved) {
    const std::int64_t heads = parts.extent(data, 1);
    const ValueId paired = parts.reshape(part + "_pairs", first_part, {0, heads, -1, pairs, 2});
    const auto both = split(parts, part + "_of_pairs", paired, 4, {1, 1});
    first = without_axis(parts, part + "_first", both[0], 4);
    second = without_axis(parts, part + "_second", both[1], 4);
  } else {
    const auto both = split(parts, part + "_halves", first_part, 3, {pairs, pairs});
    first = both[0];
    second = both[1];
  }
  const auto product = [&](const std::string& name, ValueId a, ValueId b) {
    return parts.add(part + name, "Mul", {a, b});
  };
  const ValueId real = parts.add(
      part + "_real", "Sub",
      {product("_first_cosine", first, cosine), product("_second_sine", second, sine)});
  const ValueId imaginary = parts.add(
      part + "_imaginary", "Add",
      {product("_first_sine", first, sine), product("_second_cosine", second, cosine)});
  ValueId result;
  if (interleaved) {
    const std::int64_t heads = parts.extent(data, 1);
    const ValueId stacked =
        parts.concat(part + "_stacked",
                     {parts.unsqueeze(part + "_real_last", real, {4}),
                      parts.unsqueeze(part + "_imaginary_last", imaginary, {4})},
                     4);
    result = parts.reshape(part + "_interleaved", stacked, {0, heads, -1, turned});
  } else {
    result = parts.concat(part + "_joined", {real, imaginary}, 3);
  }
  if (turned == size) {
    return result;
  }
  return parts.concat(part, {result, parts.slice(part + "_rest", data, 3, turned, size)}, 3);
}

void expand_rotary_embedding(NodeParts& parts) {
  const ValueId data = parts.input(0);
  const ValueId places = parts.input(1);
  const bool interleaved = parts.attributes().integer("interleaved", 0) != 0;
  if (parts.attributes().real("scale", 1) != 1 ||
      parts.attributes().integer("is_packed_batching", 0) != 0) {
    throw unsupported_form("'scale' or 'is_packed_batching'");
  }
  const bool is_flat = parts.rank(data) == 3;
  const std::int64_t length = parts.extent(data, is_flat ? 1 : 2);
  ValueId rows = places;
  if (parts.rank(places) == 1) {
    // The place of the first one.
    std::vector<std::int64_t> all(static_cast<std::size_t>(length));
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = static_cast<std::int64_t>(i);
    }
    rows = parts.add("places", "Add", {places, parts.integers("steps", all)});
  }
  const auto looked_up = [&](const std::string& name, std::size_t operand) {
    const ValueId found = parts.add(name, "Gather", {parts.input(operand), rows});
    return parts.rank(found) == 3 ? parts.unsqueeze(name + "_of_heads", found, {1}) : found;
  };
  const ValueId cosine = looked_up("cosine", 2);
  const ValueId sine = looked_up("sine", 3);
  if (!is_flat) {
    parts.finish("Identity", {rotated(parts, "rotated", data, cosine, sine, interleaved)});
    return;
  }
  std::int64_t heads = parts.attributes().integer("num_heads", 0);
  if (heads == 0) {
    heads = share_of(parts.extent(data, 2), 2 * parts.shape(cosine).back());
  }
  const ValueId turned = rotated(parts, "rotated", by_heads(parts, "heads", data, heads),
                                 cosine, sine, interleaved);
  const ValueId together = parts.transpose("together", turned, {0, 2, 1, 3});
  parts.finish("Reshape", {together, parts.integers("shape", {0, 0, parts.extent(data, 2)})});
}

}  // namespace tare
