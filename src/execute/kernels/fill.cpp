#include "tare/error.h"

#include "execute/elements/dispatch.h"
#include "execute/operands.h"
#include "graph/operators/shape_facts.h"

#include <algorithm>
#include <cstring>

namespace tare {
namespace {

/// A result that is known before anything runs.
std::unique_ptr<Kernel> constant_kernel(Tensor value) {
  return make_kernel([value = std::move(value)](const Buffers& buffers) {
    std::memcpy(buffers.outputs[0], value.data(), value.byte_size());
  });
}

std::unique_ptr<Kernel> make_constant_of_shape(const KernelRequest& request) {
  const Operand& y = request.outputs[0];
  const Tensor value = request.attributes().has("value") ? request.attributes().tensor("value")
                                                         : Tensor(DType::kFloat32, {1});
  if (value.dtype() != y.dtype() || value.size() != 1) {
    throw Error(ErrorCode::kInvalidModel, "",
                "value is " + std::string(name_of(value.dtype())) + to_string(value.shape()))
        .expected(std::string(name_of(y.dtype())) + "[1]");
  }
  return with_cell(y.dtype(), [&]<class T>(Tag<T>) {
    return make_kernel([value, count = count_of(y)](const Buffers& b) {
      std::fill_n(output<T>(b, 0), count, *reinterpret_cast<const T*>(value.data()));
    });
  });
}

std::unique_ptr<Kernel> make_range(const KernelRequest& request) {
  const Operand& y = request.outputs[0];
  for (std::size_t i = 0; i < 3; ++i) {
    expect_count(required(request, i), 1);
  }
  if (!uniform(request)) {
    return nullptr;
  }
  using Counted = Types<float, double, std::int16_t, std::int32_t, std::int64_t>;
  return dispatch(Counted{}, y.dtype(), [&]<class T>(Tag<T>) {
    return make_kernel([count = count_of(y)](const Buffers& b) {
      const T start = *input<T>(b, 0);
      const T delta = *input<T>(b, 2);
      for (std::size_t i = 0; i < count; ++i) {
        output<T>(b, 0)[i] = static_cast<T>(start + static_cast<T>(i) * delta);
      }
    });
  });
}

std::unique_ptr<Kernel> make_fill(const KernelRequest& request) {
  const std::string& op = request.node->op;
  if (op == "Shape" || op == "Size") {
    if (request.outputs[0].dtype() != DType::kInt64) {
      return nullptr;
    }
    Tensor value = *fact_of_shape(*request.node, required(request, 0).shape());
    expect_shape(request.outputs[0], value.shape());
    return constant_kernel(std::move(value));
  }
  return op == "Range" ? make_range(request) : make_constant_of_shape(request);
}

}  // namespace
}  // namespace tare

TARE_KERNEL(fill) {
  return {.ops = {"Shape", "Size", "ConstantOfShape", "Range"}, .make = tare::make_fill};
}
