// Copies by one table of indices for each axis, from the outermost axis to the innermost. Inner
// axes that are copied whole are one block. Memory: a number for each position along each axis,
// not for each element.
#include "execute/elements/indexed_copy.h"

#include "execute/elements/dispatch.h"

#include <algorithm>
#include <cstring>

namespace tare {
namespace {

bool is_identity(const IndexedCopy::Map& map, std::int64_t extent) {
  if (static_cast<std::int64_t>(map.size()) != extent) {
    return false;
  }
  for (std::int64_t i = 0; i < extent; ++i) {
    if (map[static_cast<std::size_t>(i)] != i) {
      return false;
    }
  }
  return true;
}

}  // namespace

IndexedCopy::IndexedCopy(const Operand& to, const Operand& from, const std::vector<Map>& maps)
    : dtype_(to.dtype()) {
  const std::size_t rank = maps.size();
  offsets_.resize(rank);
  const std::vector<std::int64_t> strides = from.strides();
  std::vector<bool> whole(rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::size_t position = to.physical_axis(axis);
    whole[position] = is_identity(maps[axis], from.shape()[axis]);
    for (const std::int64_t index : maps[axis]) {
      offsets_[position].push_back(index < 0 ? -1 : index * strides[axis]);
    }
  }
  while (!offsets_.empty() && whole[offsets_.size() - 1]) {
    block_ *= static_cast<std::int64_t>(offsets_.back().size());
    offsets_.pop_back();
  }
  span_.resize(offsets_.size());
  std::int64_t below = block_;
  for (std::size_t i = offsets_.size(); i-- > 0;) {
    span_[i] = below;
    below *= static_cast<std::int64_t>(offsets_[i].size());
  }
}

template <class T>
struct IndexedCopy::Run {
  const IndexedCopy& plan;
  T fill;

  void copy(std::size_t axis, const T* from, T* to) const {
    if (axis == plan.offsets_.size()) {
      std::memcpy(to, from, static_cast<std::size_t>(plan.block_) * sizeof(T));
      return;
    }
    const bool last = axis + 1 == plan.offsets_.size();
    const std::int64_t span = plan.span_[axis];
    for (const std::int64_t offset : plan.offsets_[axis]) {
      if (offset < 0) {
        std::fill_n(to, span, fill);
      } else if (last && plan.block_ == 1) {
        *to = from[offset];
      } else {
        copy(axis + 1, from + offset, to);
      }
      to += span;
    }
  }
};

void IndexedCopy::operator()(const std::byte* from, std::byte* to,
                             const std::byte* fill) const {
  const auto as = [&]<class T>(Tag<T>) {
    T value{};
    if (fill != nullptr) {
      std::memcpy(&value, fill, sizeof(T));
    }
    Run<T>{*this, value}.copy(0, reinterpret_cast<const T*>(from), reinterpret_cast<T*>(to));
  };
  with_cell(dtype_, as);
}

}  // namespace tare
