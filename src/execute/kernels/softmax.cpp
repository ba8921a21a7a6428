// Softmax and LogSoftmax of ONNX, with the largest element subtracted so that no exponential
// overflows: passes for that, for exponentials, for their sum and for the quotient. Where the
// axis is not the innermost one, some columns are worked on together.
#include "execute/elements/dispatch.h"
#include "execute/elements/row_reduce.h"
#include "execute/elements/vector_math.h"
#include "execute/operands.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tare {
namespace {

/// NaN wins, so that it reaches the result.
template <class T>
T larger(T a, T b) {
  return a < b || b != b ? b : a;
}

/// y and x may be the same memory.
template <class T, bool kLog>
void softmax_row(const T* x, T* y, std::size_t n) {
  // A lambda, since GCC does not inline calls by a pointer to a function here.
  const auto of_two = [](T a, T b) { return larger(a, b); };
  const T peak = reduce_row(x, n, -std::numeric_limits<T>::infinity(), of_two, of_two);
  const auto plus = [](T a, T b) { return a + b; };
  if constexpr (kLog) {
    const T sum = reduce_row(
        x, n, T(0), [peak](T acc, T v) { return acc + vmath::exp(v - peak); }, plus);
    const T shift = std::log(sum);
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) {
      y[i] = x[i] - peak - shift;
    }
  } else {
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) {
      y[i] = vmath::exp(x[i] - peak);
    }
    const T factor = T(1) / reduce_row(y, n, T(0), plus, plus);
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) {
      y[i] *= factor;
    }
  }
}

constexpr std::size_t kWidth = 64;  ///< columns that are worked on together

/// `width` <= kWidth neighbouring columns at once, each `n` long with `stride` between its
/// elements.
template <class T, bool kLog>
void softmax_columns(const T* x, T* y, std::size_t n, std::size_t stride, std::size_t width) {
  std::array<T, kWidth> peak;
  std::array<T, kWidth> sum{};
  peak.fill(-std::numeric_limits<T>::infinity());
  for (std::size_t k = 0; k < n; ++k) {
#pragma omp simd
    for (std::size_t i = 0; i < width; ++i) {
      peak[i] = larger(peak[i], x[k * stride + i]);
    }
  }
  for (std::size_t k = 0; k < n; ++k) {
#pragma omp simd
    for (std::size_t i = 0; i < width; ++i) {
      const T shifted = x[k * stride + i] - peak[i];
      const T e = vmath::exp(shifted);
      sum[i] += e;
      y[k * stride + i] = kLog ? shifted : e;
    }
  }
  for (std::size_t i = 0; i < width; ++i) {
    sum[i] = kLog ? std::log(sum[i]) : T(1) / sum[i];
  }
  for (std::size_t k = 0; k < n; ++k) {
#pragma omp simd
    for (std::size_t i = 0; i < width; ++i) {
      T& value = y[k * stride + i];
      value = kLog ? value - sum[i] : value * sum[i];
    }
  }
}

template <class T, bool kLog>
void softmax(const AxisView& view, const T* x, T* y) {
  for (std::size_t o = 0; o < view.outer; ++o) {
    if (view.inner == 1) {
      softmax_row<T, kLog>(x, y, view.extent);
    } else {
      for (std::size_t i = 0; i < view.inner; i += kWidth) {
        softmax_columns<T, kLog>(x + i, y + i, view.extent, view.inner,
                                 std::min(kWidth, view.inner - i));
      }
    }
    x += view.extent * view.inner;
    y += view.extent * view.inner;
  }
}

std::unique_ptr<Kernel> make_softmax(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  if (!uniform(request)) {
    return nullptr;
  }
  expect_shape(request.outputs[0], x.shape());
  const AxisView view = view_axis(x, axis_of(request, -1, x.shape().size()));
  const bool log = request.node->op == "LogSoftmax";
  return dispatch(Types<float, double>{}, x.dtype(), [&]<class T>(Tag<T>) {
    return make_kernel([=](const Buffers& b) {
      (log ? softmax<T, true> : softmax<T, false>)(view, input<T>(b, 0), output<T>(b, 0));
    });
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(softmax) {
  using namespace tare;
  return {.ops = {"Softmax", "LogSoftmax"},
          .layout = follow,
          .make = make_softmax,
          .in_place = true};
}
