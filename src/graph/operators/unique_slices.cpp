// Slices are sorted by their elements, so equal ones are neighbours: n log n comparisons.
#include "graph/operators/unique_slices.h"

#include "graph/arithmetic/element_type.h"

#include <algorithm>
#include <numeric>

namespace tare {
namespace {

/// -1, 0 or 1.
template <class T>
int compare(T a, T b) {
  const bool a_is_nan = a != a;
  const bool b_is_nan = b != b;
  if (a_is_nan || b_is_nan) {
    return static_cast<int>(a_is_nan) - static_cast<int>(b_is_nan);
  }
  return static_cast<int>(b < a) - static_cast<int>(a < b);
}

/// Slices of a tensor along an axis, in memory: outer blocks of `extent` runs of `inner`.
struct Slices {
  std::size_t outer = 1;
  std::size_t extent = 1;
  std::size_t inner = 1;
};

template <class T>
int compare(const T* data, const Slices& slices, std::int64_t a, std::int64_t b) {
  for (std::size_t outer = 0; outer < slices.outer; ++outer) {
    const T* block = data + outer * slices.extent * slices.inner;
    for (std::size_t i = 0; i < slices.inner; ++i) {
      const int order = compare(block[static_cast<std::size_t>(a) * slices.inner + i],
                                block[static_cast<std::size_t>(b) * slices.inner + i]);
      if (order != 0) {
        return order;
      }
    }
  }
  return 0;
}

template <class T>
UniqueSlices find_unique(const T* data, const Slices& slices, bool sorted) {
  std::vector<std::int64_t> order(slices.extent);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return compare(data, slices, a, b) < 0;
  });
  UniqueSlices result;
  result.inverse.resize(slices.extent);
  for (const std::int64_t slice : order) {
    if (result.first.empty() || compare(data, slices, result.first.back(), slice) != 0) {
      result.first.push_back(slice);
      result.count.push_back(0);
    }
    ++result.count.back();
    result.inverse[static_cast<std::size_t>(slice)] =
        static_cast<std::int64_t>(result.first.size()) - 1;
  }
  if (sorted) {
    return result;
  }
  std::vector<std::size_t> met(result.first.size());
  std::iota(met.begin(), met.end(), std::size_t{0});
  std::sort(met.begin(), met.end(),
            [&](std::size_t a, std::size_t b) { return result.first[a] < result.first[b]; });
  UniqueSlices in_order;
  std::vector<std::int64_t> place(met.size());
  for (std::size_t i = 0; i < met.size(); ++i) {
    in_order.first.push_back(result.first[met[i]]);
    in_order.count.push_back(result.count[met[i]]);
    place[met[i]] = static_cast<std::int64_t>(i);
  }
  for (const std::int64_t slice : result.inverse) {
    in_order.inverse.push_back(place[static_cast<std::size_t>(slice)]);
  }
  return in_order;
}

}  // namespace

UniqueSlices unique_slices(const std::byte* data, DType dtype, const Shape& shape,
                           std::optional<std::size_t> axis, bool sorted) {
  Slices slices{.extent = static_cast<std::size_t>(element_count(shape))};
  if (axis) {
    const auto at = static_cast<std::ptrdiff_t>(*axis);
    slices.outer =
        static_cast<std::size_t>(element_count(Shape(shape.begin(), shape.begin() + at)));
    slices.extent = static_cast<std::size_t>(shape[*axis]);
    slices.inner =
        static_cast<std::size_t>(element_count(Shape(shape.begin() + at + 1, shape.end())));
  }
  return with_element_type(dtype, [&](auto tag) {
    return find_unique(reinterpret_cast<const decltype(tag)*>(data), slices, sorted);
  });
}

}  // namespace tare
