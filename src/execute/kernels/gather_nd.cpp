#include "tare/error.h"

#include "execute/elements/combine.h"
#include "execute/elements/dispatch.h"
#include "execute/operands.h"

#include <cstring>

namespace tare {
namespace {

/// Where a tuple of leading positions leads: `extents` and the bytes of one step along each
/// axis.
struct TupleIndex {
  std::vector<std::int64_t> extents;
  std::vector<std::size_t> steps;

  template <class I>
  std::size_t offset(const I* tuple) const {
    std::size_t result = 0;
    for (std::size_t k = 0; k < extents.size(); ++k) {
      result += static_cast<std::size_t>(checked_index(tuple[k], extents[k])) * steps[k];
    }
    return result;
  }
};

/// The axes [first, first + length) of a plain operand.
TupleIndex tuple_index(const Operand& x, std::size_t first, std::size_t length) {
  TupleIndex result;
  const auto strides = x.strides();
  for (std::size_t axis = first; axis < first + length; ++axis) {
    result.extents.push_back(x.shape()[axis]);
    result.steps.push_back(static_cast<std::size_t>(strides[axis]) * size_of(x.dtype()));
  }
  return result;
}

std::size_t product(const Shape& shape, std::size_t first, std::size_t last) {
  return static_cast<std::size_t>(
      element_count(Shape(shape.begin() + static_cast<std::ptrdiff_t>(first),
                          shape.begin() + static_cast<std::ptrdiff_t>(last))));
}

std::unique_ptr<Kernel> gather_slices(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  const Operand& indices = required(request, 1);
  const std::int64_t batch_attribute = request.attributes().integer("batch_dims", 0);
  const Shape& from = x.shape();
  const Shape& by = indices.shape();
  const auto batch_axes = static_cast<std::size_t>(batch_attribute);
  const auto length = by.empty() ? std::size_t{0} : static_cast<std::size_t>(by.back());
  if (by.empty() || batch_attribute < 0 || batch_axes >= by.size() || length > from.size() ||
      batch_axes + length > from.size() ||
      !std::equal(by.begin(), by.begin() + batch_attribute, from.begin())) {
    throw Error(ErrorCode::kInvalidModel, "",
                "indices " + to_string(by) + " do not fit " + to_string(from));
  }
  Shape shape(by.begin(), by.end() - 1);
  shape.insert(shape.end(), from.begin() + static_cast<std::ptrdiff_t>(batch_axes + length),
               from.end());
  expect_shape(request.outputs[0], shape);

  const std::size_t batches = product(by, 0, batch_axes);
  const std::size_t tuples = product(by, batch_axes, by.size() - 1);
  const std::size_t block =
      product(from, batch_axes + length, from.size()) * size_of(x.dtype());
  const std::size_t batch_bytes = product(from, batch_axes, from.size()) * size_of(x.dtype());
  const TupleIndex tuple = tuple_index(x, batch_axes, length);
  return dispatch(Indices{}, indices.dtype(), [&]<class I>(Tag<I>) {
    return make_kernel([=](const Buffers& b) {
      const I* index = input<I>(b, 1);
      std::byte* to = b.outputs[0];
      for (std::size_t batch = 0; batch < batches; ++batch) {
        for (std::size_t i = 0; i < tuples; ++i, index += length, to += block) {
          std::memcpy(to, b.inputs[0] + batch * batch_bytes + tuple.offset(index), block);
        }
      }
    });
  });
}

std::unique_ptr<Kernel> scatter_slices(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  const Operand& indices = required(request, 1);
  const Operand& updates = required(request, 2);
  const Shape& to = x.shape();
  const Shape& by = indices.shape();
  expect_shape(request.outputs[0], to);
  if (updates.dtype() != x.dtype()) {
    return nullptr;
  }
  const auto length = by.empty() ? std::size_t{0} : static_cast<std::size_t>(by.back());
  if (by.empty() || length > to.size()) {
    throw Error(ErrorCode::kInvalidModel, "",
                "indices " + to_string(by) + " do not fit " + to_string(to));
  }
  Shape shape(by.begin(), by.end() - 1);
  shape.insert(shape.end(), to.begin() + static_cast<std::ptrdiff_t>(length), to.end());
  expect_shape(updates, shape);

  const std::size_t tuples = product(by, 0, by.size() - 1);
  const std::size_t block = product(to, length, to.size());
  const TupleIndex tuple = tuple_index(x, 0, length);
  const Combine combine = combine_of(request);
  return dispatch(Indices{}, indices.dtype(), [&]<class I>(Tag<I>) {
    return dispatch(AllTypes{}, x.dtype(), [&]<class T>(Tag<T>) {
      return make_kernel([=, count = count_of(x)](const Buffers& b) {
        std::memcpy(b.outputs[0], b.inputs[0], count * sizeof(T));
        const T* update = input<T>(b, 2);
        for (std::size_t i = 0; i < tuples; ++i) {
          const std::size_t offset = tuple.offset(input<I>(b, 1) + i * length);
          T* y = reinterpret_cast<T*>(b.outputs[0] + offset);
          for (std::size_t k = 0; k < block; ++k) {
            y[k] = combined(combine, y[k], *update++);
          }
        }
      });
    });
  });
}

std::unique_ptr<Kernel> make_gather_nd(const KernelRequest& request) {
  if (!uniform(request, 1)) {
    return nullptr;
  }
  return request.node->op == "GatherND" ? gather_slices(request) : scatter_slices(request);
}

}  // namespace
}  // namespace tare

TARE_KERNEL(gather_nd) {
  return {.ops = {"GatherND", "ScatterND"}, .make = tare::make_gather_nd};
}
