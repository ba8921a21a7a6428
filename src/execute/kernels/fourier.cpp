// DFT and STFT of ONNX by fast Fourier transforms of any length (kissfft, as Eigen has it), in
// double. n log n for each transform.
#include "tare/error.h"

#include "execute/elements/dispatch.h"
#include "execute/elements/wider_types.h"
#include "execute/operands.h"

#include <algorithm>
#include <complex>
#include <vector>

#include <unsupported/Eigen/FFT>

namespace tare {
namespace {

using Complex = std::complex<double>;

/// Of the numbers in it, as often as they are changed.
class Transform {
 public:
  Transform(std::size_t length, bool inverse) : numbers(length), inverse_(inverse) {}

  std::vector<Complex> numbers;

  const std::vector<Complex>& run() {
    if (numbers.size() == 1) {  // for which Eigen's reads beyond its memory
      results_ = numbers;
    } else if (inverse_) {
      fft_.inv(results_, numbers);
    } else {
      fft_.fwd(results_, numbers);
    }
    return results_;
  }

 private:
  bool inverse_;
  Eigen::FFT<double> fft_;
  std::vector<Complex> results_;
};

/// Number `at` of complex ones, or real ones.
template <class T>
Complex number(const T* x, std::size_t at, std::size_t parts) {
  return {static_cast<double>(x[at * parts]),
          parts == 2 ? static_cast<double>(x[at * parts + 1]) : 0.0};
}

template <class T>
void store(const std::vector<Complex>& numbers, std::size_t count, T* y, std::size_t stride) {
  for (std::size_t i = 0; i < count; ++i) {
    y[2 * i * stride] = static_cast<T>(numbers[i].real());
    y[2 * i * stride + 1] = static_cast<T>(numbers[i].imag());
  }
}

/// Real numbers have a last axis of 1, complex ones of 2.
std::size_t parts_of(const Shape& shape) {
  if (shape.size() < 2 || (shape.back() != 1 && shape.back() != 2)) {
    throw Error(ErrorCode::kInvalidModel, "", "the signal is " + to_string(shape))
        .expected("a last axis of 1, or of 2 for complex numbers");
  }
  return static_cast<std::size_t>(shape.back());
}

std::int64_t bins(std::int64_t length, bool onesided) {
  return onesided ? length / 2 + 1 : length;
}

std::unique_ptr<Kernel> make_dft(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  if (!uniform(request, 1)) {
    return nullptr;
  }
  const Shape& shape = x.shape();
  const std::size_t parts = parts_of(shape);
  const std::size_t axis = axis_of(request, 1, shape.size());
  if (axis + 1 == shape.size()) {
    throw Error(ErrorCode::kInvalidModel, "", "the axis is that of real and imaginary parts");
  }
  const bool inverse = request.attributes().integer("inverse", 0) != 0;
  const bool onesided = request.attributes().integer("onesided", 0) != 0;
  const std::int64_t length = request.has_input(1) ? request.integers(1).at(0) : shape[axis];
  if (length < 1 || (inverse && onesided)) {
    throw Error(ErrorCode::kInvalidModel, "",
                length < 1 ? "the length is " + std::to_string(length)
                           : "an inverse transform has both sides");
  }
  Shape result = shape;
  result[axis] = bins(length, onesided);
  result.back() = 2;
  expect_shape(request.outputs[0], result);
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i + 1 < shape.size(); ++i) {
    inner *= static_cast<std::size_t>(shape[i]);
  }
  const auto extent = static_cast<std::size_t>(shape[axis]);
  const auto size = static_cast<std::size_t>(length);
  const auto kept = static_cast<std::size_t>(result[axis]);
  const std::size_t lines = count_of(x) / (extent * parts);
  return dispatch(WideFloats{}, x.dtype(), [&]<class T>(Tag<T>) {
    return make_kernel([=](const Buffers& buffers) {
      Transform transform(size, inverse);
      for (std::size_t line = 0; line < lines; ++line) {
        const std::size_t outer = line / inner;
        const T* from = input<T>(buffers, 0) + (outer * extent * inner + line % inner) * parts;
        for (std::size_t i = 0; i < size; ++i) {
          transform.numbers[i] = i < extent ? number(from, i * inner, parts) : Complex();
        }
        store(transform.run(), kept,
              output<T>(buffers, 0) + 2 * (outer * kept * inner + line % inner), inner);
      }
    });
  });
}

std::unique_ptr<Kernel> make_stft(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  const Operand& y = request.outputs[0];
  const bool has_window = request.has_input(2);
  const Shape& shape = x.shape();
  const std::size_t parts = parts_of(shape);
  if (shape.size() != 3 || y.shape().size() != 4 || x.dtype() != y.dtype() ||
      (has_window && request.inputs[2].dtype() != x.dtype())) {
    return nullptr;
  }
  const std::int64_t step = request.integers(1).at(0);
  const std::int64_t length =
      request.has_input(3) ? request.integers(3).at(0) : request.inputs.at(2).shape().at(0);
  if (step < 1 || length < 1 || length > shape[1]) {
    throw Error(ErrorCode::kInvalidModel, "",
                "frames of " + std::to_string(length) + " every " + std::to_string(step) +
                    " of " + std::to_string(shape[1]));
  }
  const bool onesided = request.attributes().integer("onesided", 1) != 0;
  expect_shape(y, {shape[0], (shape[1] - length) / step + 1, bins(length, onesided), 2});
  if (has_window) {
    expect_shape(request.inputs[2], {length});
  }
  const auto frames = static_cast<std::size_t>(y.shape()[1]);
  const auto kept = static_cast<std::size_t>(y.shape()[2]);
  const auto size = static_cast<std::size_t>(length);
  return dispatch(WideFloats{}, x.dtype(), [&]<class T>(Tag<T>) {
    return make_kernel([=, signals = static_cast<std::size_t>(shape[0]),
                        extent = static_cast<std::size_t>(shape[1]),
                        stride = static_cast<std::size_t>(step)](const Buffers& buffers) {
      Transform transform(size, false);
      for (std::size_t i = 0; i < signals * frames; ++i) {
        const std::size_t first = i / frames * extent + i % frames * stride;
        for (std::size_t k = 0; k < size; ++k) {
          const double factor = has_window ? static_cast<double>(input<T>(buffers, 2)[k]) : 1.0;
          transform.numbers[k] = factor * number(input<T>(buffers, 0), first + k, parts);
        }
        store(transform.run(), kept, output<T>(buffers, 0) + 2 * i * kept, 1);
      }
    });
  });
}

std::unique_ptr<Kernel> make_fourier(const KernelRequest& request) {
  return request.node->op == "DFT" ? make_dft(request) : make_stft(request);
}

}  // namespace
}  // namespace tare

TARE_KERNEL(fourier) {
  return {.ops = {"DFT", "STFT"}, .make = tare::make_fourier};
}
