#pragma once

#include "tare/error.h"

#include "onnx/normalize/node_parts.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tare {

// What operators of attention are made of.

Error unsupported_form(const std::string& what);
std::int64_t share_of(std::int64_t width, std::int64_t heads);
/// [batch, length, heads * size] as [batch, heads, length, size].
ValueId by_heads(NodeParts& parts, const std::string& name, ValueId data, std::int64_t heads);
/// `count` equal slices along an axis.
std::vector<ValueId> split(NodeParts& parts, const std::string& name, ValueId data,
                           std::int64_t axis, const std::vector<std::int64_t>& extents);
ValueId without_axis(NodeParts& parts, const std::string& name, ValueId data,
                     std::int64_t axis);

}  // namespace tare
