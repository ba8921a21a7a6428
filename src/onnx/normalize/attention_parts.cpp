#include "onnx/normalize/attention_parts.h"

namespace tare {

Error unsupported_form(const std::string& what) {
  return {ErrorCode::kUnsupported, "", what + " is not supported"};
}

std::int64_t share_of(std::int64_t width, std::int64_t heads) {
  if (heads < 1 || width % heads != 0) {
    throw Error(
        ErrorCode::kInvalidModel, "",
        "a width of " + std::to_string(width) + " for " + std::to_string(heads) + " heads");
  }
  return width / heads;
}

ValueId by_heads(NodeParts& parts, const std::string& name, ValueId data, std::int64_t heads) {
  const std::int64_t size = share_of(parts.extent(data, 2), heads);
  const ValueId split = parts.reshape(name + "_heads", data, {0, 0, heads, size});
  return parts.transpose(name, split, {0, 2, 1, 3});
}

std::vector<ValueId> split(NodeParts& parts, const std::string& name, ValueId data,
                           std::int64_t axis, const std::vector<std::int64_t>& extents) {
  std::vector<ValueId> result;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    result.push_back(
        parts.slice(name + "_" + std::to_string(i), data, axis, begin, begin + extents[i]));
    begin += extents[i];
  }
  return result;
}

ValueId without_axis(NodeParts& parts, const std::string& name, ValueId data,
                     std::int64_t axis) {
  return parts.add(name, "Squeeze", {data, parts.integers(name + "_axis", {axis})});
}

}  // namespace tare
