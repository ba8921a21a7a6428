// QuantizeLinear and DequantizeLinear of ONNX with parameters that are operands: per tensor,
// per axis, and in blocks as opset 21 has them, where parameters lie along the values with
// strides of their own. One pass.

#include "execute/elements/fixed_point.h"
#include "execute/elements/nested_loops.h"
#include "execute/operands.h"

#include <algorithm>

namespace tare {
namespace {

/// Loops over values, and over the parameters that belong to them.
struct Part {
  NestedLoops<2> loops;
  std::int64_t first = 0;  ///< value
  std::int64_t first_parameter = 0;
};

/// Blocks along an axis are two axes; the last one may be shorter.
std::vector<Part> parts_in_blocks(const KernelRequest& request, std::int64_t block) {
  const Operand& x = required(request, 0);
  const std::size_t axis = axis_of(request, 1, x.shape().size());
  const std::int64_t extent = x.shape()[axis];
  const std::int64_t whole = extent / block;
  const std::int64_t rest = extent % block;
  Shape blocks = x.shape();
  blocks[axis] = whole + (rest == 0 ? 0 : 1);
  expect_shape(required(request, 1), blocks);
  const Strides own = request.inputs[1].strides();
  std::vector<Part> parts;
  const auto add = [&](std::int64_t first, std::int64_t count, std::int64_t size) {
    const auto at = static_cast<std::ptrdiff_t>(axis);
    Shape shape = x.shape();
    Strides values = x.strides();
    Strides parameters = own;
    shape[axis] = count;
    shape.insert(shape.begin() + at + 1, size);
    values.insert(values.begin() + at + 1, values[axis]);
    values[axis] *= block;
    parameters.insert(parameters.begin() + at + 1, 0);
    parts.push_back({{shape, {values, parameters}}, first * values[axis], first * own[axis]});
  };
  if (whole > 0) {
    add(0, whole, block);
  }
  if (rest > 0) {
    add(whole, 1, rest);
  }
  return parts;
}

std::vector<Part> parameter_loops(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  const Operand& scale = required(request, 1);
  expect_shape(request.outputs[0], x.shape());
  if (request.has_input(2)) {
    expect_count(request.inputs[2], count_of(scale));
  }
  if (const std::int64_t block = request.attributes().integer("block_size", 0); block > 0) {
    return parts_in_blocks(request, block);
  }
  Strides strides(x.shape().size(), 0);
  if (count_of(scale) != 1) {
    const std::size_t axis = axis_of(request, 1, x.shape().size());
    expect_count(scale, static_cast<std::size_t>(x.shape()[axis]));
    strides[axis] = 1;
  }
  return {{{x.shape(), {x.strides(), strides}}}};
}

/// y[i] = f(x[i], scale, zero); zero points may be absent.
template <class X, class Y, class Q, class F>
void run(const Part& part, bool has_zero, const Buffers& b, F f) {
  const auto n = static_cast<std::int64_t>(part.loops.row_length());
  const std::int64_t stride = part.loops.row_stride(0);  // what is left of blocks has gaps
  const std::int64_t step = part.loops.row_stride(1);
  part.loops.for_each_row([&](const auto& at) {
    const X* x = input<X>(b, 0) + part.first + at[0];
    Y* y = output<Y>(b, 0) + part.first + at[0];
    const float* scale = input<float>(b, 1) + part.first_parameter + at[1];
    const Q* zero = has_zero ? input<Q>(b, 2) + part.first_parameter + at[1] : nullptr;
    if (stride == 1 && (step == 0 || n == 1)) {
      const float s = *scale;
      const std::int32_t z = has_zero ? static_cast<std::int32_t>(*zero) : 0;
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) {
        y[i] = f(x[i], s, z);
      }
    } else {
      for (std::int64_t i = 0; i < n; ++i) {
        y[i * stride] = f(x[i * stride], scale[i * step],
                          has_zero ? static_cast<std::int32_t>(zero[i * step]) : 0);
      }
    }
  });
}

template <class X, class Y, class Q, class F>
void run(const std::vector<Part>& parts, bool has_zero, const Buffers& b, F f) {
  for (const Part& part : parts) {
    run<X, Y, Q>(part, has_zero, b, f);
  }
}

std::unique_ptr<Kernel> make_quantize(const KernelRequest& request) {
  const std::vector<Part> parts = parameter_loops(request);
  const bool has_zero = request.has_input(2);
  return dispatch(Storage{}, request.outputs[0].dtype(), [&]<class Q>(Tag<Q>) {
    return dispatch(
        Types<float, std::int32_t>{}, request.inputs[0].dtype(), [&]<class X>(Tag<X>) {
          return make_kernel([=](const Buffers& b) {
            run<X, Q, Q>(parts, has_zero, b, [](X x, float scale, std::int32_t zero) {
              return round_to_storage<Q>(static_cast<float>(x) / scale, zero);
            });
          });
        });
  });
}

std::unique_ptr<Kernel> make_dequantize(const KernelRequest& request) {
  const std::vector<Part> parts = parameter_loops(request);
  const bool has_zero = request.has_input(2);
  using Stored = decltype(join(Storage{}, Types<std::int32_t>{}));
  return dispatch(Stored{}, request.inputs[0].dtype(), [&]<class Q>(Tag<Q>) {
    return make_kernel([=](const Buffers& b) {
      run<Q, float, Q>(parts, has_zero, b, [](Q q, float scale, std::int32_t zero) {
        if constexpr (sizeof(Q) == 4) {
          return static_cast<float>(std::int64_t{q} - zero) * scale;
        } else {
          return static_cast<float>(q - zero) * scale;
        }
      });
    });
  });
}

std::unique_ptr<Kernel> make_quantize_linear(const KernelRequest& request) {
  const bool quantizes = request.node->op == "QuantizeLinear";
  const DType stored = quantizes ? request.outputs[0].dtype() : required(request, 0).dtype();
  const DType real = quantizes ? DType::kFloat32 : request.outputs[0].dtype();
  if (real != DType::kFloat32 || required(request, 1).dtype() != DType::kFloat32 ||
      (request.has_input(2) && (request.inputs[2].dtype() != stored ||
                                request.inputs[2].layout != request.inputs[1].layout))) {
    return nullptr;
  }
  return quantizes ? make_quantize(request) : make_dequantize(request);
}

}  // namespace
}  // namespace tare

TARE_KERNEL(quantize_linear) {
  using namespace tare;
  return {.ops = {"QuantizeLinear", "DequantizeLinear"},
          .layout = follow,
          .make = make_quantize_linear};
}
