#include "tare/error.h"

#include "execute/elements/combine.h"
#include "execute/elements/dispatch.h"
#include "execute/elements/nested_loops.h"
#include "execute/operands.h"

#include <cstring>

namespace tare {
namespace {

/// Visits the positions of `indices` together with the element of `data` that each one names
/// along `axis`.
class ElementIndex {
 public:
  ElementIndex(const Operand& data, const Operand& indices, std::size_t axis)
      : extent_(data.shape()[axis]), step_(data.strides()[axis]), loops_({}, {}) {
    Strides strides = data.strides();
    strides[axis] = 0;
    bool fits = data.shape().size() == indices.shape().size();
    for (std::size_t i = 0; fits && i < strides.size(); ++i) {
      fits = i == axis || indices.shape()[i] <= data.shape()[i];
    }
    if (!fits) {
      throw Error(
          ErrorCode::kInvalidModel, "",
          "indices " + to_string(indices.shape()) + " do not fit " + to_string(data.shape()));
    }
    loops_ = {indices.shape(), {indices.strides(), strides}};
  }

  /// f(position in indices, position in data)
  template <class I, class F>
  void for_each(const I* indices, F&& f) const {
    const auto n = static_cast<std::int64_t>(loops_.row_length());
    loops_.for_each_row([&](const auto& at) {
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t position = at[0] + i * loops_.row_stride(0);
        const std::int64_t index = checked_index(indices[position], extent_);
        f(position, at[1] + i * loops_.row_stride(1) + index * step_);
      }
    });
  }

 private:
  std::int64_t extent_;
  std::int64_t step_;
  NestedLoops<2> loops_;
};

std::unique_ptr<Kernel> gather_elements(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  const Operand& indices = required(request, 1);
  expect_shape(request.outputs[0], indices.shape());
  const ElementIndex elements(x, indices, axis_of(request, 0, x.shape().size()));
  return dispatch(Indices{}, indices.dtype(), [&]<class I>(Tag<I>) {
    return with_cell(x.dtype(), [&]<class T>(Tag<T>) {
      return make_kernel([elements](const Buffers& b) {
        elements.for_each(input<I>(b, 1), [&](std::int64_t to, std::int64_t from) {
          output<T>(b, 0)[to] = input<T>(b, 0)[from];
        });
      });
    });
  });
}

std::unique_ptr<Kernel> scatter_elements(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  const Operand& indices = required(request, 1);
  const Operand& updates = required(request, 2);
  const Combine combine = combine_of(request);
  expect_shape(request.outputs[0], x.shape());
  expect_shape(updates, indices.shape());
  if (updates.dtype() != x.dtype()) {
    return nullptr;
  }
  const ElementIndex elements(x, indices, axis_of(request, 0, x.shape().size()));
  return dispatch(Indices{}, indices.dtype(), [&]<class I>(Tag<I>) {
    return dispatch(AllTypes{}, x.dtype(), [&]<class T>(Tag<T>) {
      return make_kernel([=, count = count_of(x)](const Buffers& b) {
        T* y = output<T>(b, 0);
        std::memcpy(y, b.inputs[0], count * sizeof(T));
        elements.for_each(input<I>(b, 1), [&](std::int64_t from, std::int64_t to) {
          y[to] = combined(combine, y[to], input<T>(b, 2)[from]);
        });
      });
    });
  });
}

std::unique_ptr<Kernel> make_gather_elements(const KernelRequest& request) {
  if (!uniform(request, 1)) {
    return nullptr;
  }
  return request.node->op == "GatherElements" ? gather_elements(request)
                                              : scatter_elements(request);
}

}  // namespace
}  // namespace tare

TARE_KERNEL(gather_elements) {
  return {.ops = {"GatherElements", "ScatterElements"}, .make = tare::make_gather_elements};
}
