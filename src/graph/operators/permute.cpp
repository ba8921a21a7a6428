#include "graph/operators/permute.h"

#include "base/check.h"

#include <algorithm>
#include <cstring>

namespace tare {
namespace {

std::vector<std::int64_t> strides_of(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * shape[i];
  }
  return strides;
}

}  // namespace

const std::vector<std::int64_t>& to_channels_first() {
  static const std::vector<std::int64_t> order{0, 3, 1, 2};
  return order;
}

const std::vector<std::int64_t>& to_channels_last() {
  static const std::vector<std::int64_t> order{0, 2, 3, 1};
  return order;
}

bool is_permutation(const std::vector<std::int64_t>& order, std::size_t rank) {
  std::vector<std::int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<std::int64_t>(i)) {
      return false;
    }
  }
  return sorted.size() == rank;
}

Shape permuted(const Shape& shape, const std::vector<std::int64_t>& order) {
  check(is_permutation(order, shape.size()), "an order of axes that is none");
  Shape result;
  for (const std::int64_t axis : order) {
    result.push_back(shape[static_cast<std::size_t>(axis)]);
  }
  return result;
}

Tensor permuted(const Tensor& tensor, const std::vector<std::int64_t>& order) {
  Tensor result(tensor.dtype(), permuted(tensor.shape(), order));
  const Shape& shape = result.shape();
  const Shape strides = permuted(strides_of(tensor.shape()), order);
  const std::size_t size = size_of(tensor.dtype());
  std::byte* to = result.mutable_data();
  std::vector<std::int64_t> index(shape.size());
  std::int64_t from = 0;
  for (std::int64_t done = 0; done < result.size(); ++done, to += size) {
    std::memcpy(to, tensor.data() + static_cast<std::size_t>(from) * size, size);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      from += strides[axis];
      if (++index[axis] < shape[axis]) {
        break;
      }
      from -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return result;
}

TensorType permuted(TensorType type, const std::vector<std::int64_t>& order) {
  type.shape = permuted(type.shape, order);
  if (type.quant && type.quant->axis) {
    check(type.quant->block == 0, "values in blocks are reordered");
    const auto moved = std::find(order.begin(), order.end(), *type.quant->axis);
    type.quant->axis = static_cast<int>(moved - order.begin());
  }
  return type;
}

}  // namespace tare
