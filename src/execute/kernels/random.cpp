// Random numbers of ONNX. Which ones is up to an engine; here each element gets a number of its
// own that follows from the operator's seed, or its name, and the element's place, so that they
// are the same in each run, on any number of threads, and in the networks that are compared.
#include "base/hash.h"
#include "execute/elements/dispatch.h"
#include "execute/operands.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

namespace tare {
namespace {

/// A stream of 64 random bits by number: the finalizer of SplitMix64 (Steele, Lea and Flood,
/// "Fast splittable pseudorandom number generators", 2014) of a counter.
class Stream {
 public:
  explicit Stream(std::uint64_t seed) : seed_(seed) {}

  /// In (0, 1), never an end.
  double number(std::uint64_t index) const {
    std::uint64_t bits = seed_ + (index + 1) * 0x9E3779B97F4A7C15U;
    bits = (bits ^ (bits >> 30U)) * 0xBF58476D1CE4E5B9U;
    bits = (bits ^ (bits >> 27U)) * 0x94D049BB133111EBU;
    bits ^= bits >> 31U;
    return (static_cast<double>(bits >> 12U) + 0.5) * 0x1p-52;
  }

 private:
  std::uint64_t seed_;
};

Stream stream_of(const KernelRequest& request) {
  const Attributes& attributes = request.attributes();
  return Stream(attributes.has("seed") ? std::bit_cast<std::uint32_t>(attributes.real("seed"))
                                       : hash(request.node->name));
}

/// By Box and Muller.
std::unique_ptr<Kernel> make_normal(const KernelRequest& request) {
  const Attributes& attributes = request.attributes();
  const auto mean = static_cast<double>(attributes.real("mean", 0));
  const auto scale = static_cast<double>(attributes.real("scale", 1));
  const Operand& y = request.outputs[0];
  return dispatch(Types<float, double>{}, y.dtype(), [&]<class T>(Tag<T>) {
    return make_kernel([=, stream = stream_of(request), count = count_of(y)](const Buffers& b) {
      for (std::size_t i = 0; i < count; ++i) {
        const double radius = std::sqrt(-2 * std::log(stream.number(2 * i)));
        const double angle = 2 * std::numbers::pi * stream.number(2 * i + 1);
        output<T>(b, 0)[i] = static_cast<T>(mean + scale * radius * std::cos(angle));
      }
    });
  });
}

std::unique_ptr<Kernel> make_uniform(const KernelRequest& request) {
  const Attributes& attributes = request.attributes();
  const auto low = static_cast<double>(attributes.real("low", 0));
  const auto high = static_cast<double>(attributes.real("high", 1));
  const Operand& y = request.outputs[0];
  return dispatch(Types<float, double>{}, y.dtype(), [&]<class T>(Tag<T>) {
    return make_kernel([=, stream = stream_of(request), count = count_of(y)](const Buffers& b) {
      for (std::size_t i = 0; i < count; ++i) {
        output<T>(b, 0)[i] = static_cast<T>(low + (high - low) * stream.number(i));
      }
    });
  });
}

/// 1 with the probability that the operand says.
std::unique_ptr<Kernel> make_bernoulli(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  const Operand& y = request.outputs[0];
  expect_shape(y, x.shape());
  return dispatch(Types<float, double>{}, x.dtype(), [&]<class X>(Tag<X>) {
    using Results = Types<float, double, bool, std::int64_t, std::uint64_t>;
    return dispatch(Results{}, y.dtype(), [&]<class Y>(Tag<Y>) {
      return make_kernel([stream = stream_of(request), count = count_of(y)](const Buffers& b) {
        for (std::size_t i = 0; i < count; ++i) {
          const bool hits = stream.number(i) < static_cast<double>(input<X>(b, 0)[i]);
          output<Y>(b, 0)[i] = static_cast<Y>(hits ? 1 : 0);
        }
      });
    });
  });
}

/// Classes as likely as the exponentials of a row say.
std::unique_ptr<Kernel> make_multinomial(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  const Operand& y = request.outputs[0];
  const Shape& shape = x.shape();
  const std::int64_t draws = request.attributes().integer("sample_size", 1);
  if (shape.size() != 2 || shape[1] < 1 || x.dtype() != DType::kFloat32) {
    return nullptr;
  }
  expect_shape(y, {shape[0], draws});
  return dispatch(Types<std::int32_t, std::int64_t>{}, y.dtype(), [&]<class Y>(Tag<Y>) {
    return make_kernel([=, stream = stream_of(request)](const Buffers& b) {
      std::vector<double> sums(static_cast<std::size_t>(shape[1]));
      for (std::int64_t row = 0; row < shape[0]; ++row) {
        const float* logits = input<float>(b, 0) + row * shape[1];
        const float most = *std::max_element(logits, logits + shape[1]);
        double sum = 0;
        for (std::size_t i = 0; i < sums.size(); ++i) {
          sum += std::exp(static_cast<double>(logits[i]) - static_cast<double>(most));
          sums[i] = sum;
        }
        for (std::int64_t draw = 0; draw < draws; ++draw) {
          const std::int64_t at = row * draws + draw;
          const double part = sum * stream.number(static_cast<std::uint64_t>(at));
          const auto found = std::upper_bound(sums.begin(), sums.end() - 1, part);
          output<Y>(b, 0)[at] = static_cast<Y>(found - sums.begin());
        }
      }
    });
  });
}

std::unique_ptr<Kernel> make_random(const KernelRequest& request) {
  const std::string& op = request.node->op;
  if (op == "Bernoulli") {
    return make_bernoulli(request);
  }
  if (op == "Multinomial") {
    return make_multinomial(request);
  }
  const Shape shape = op.ends_with("Like") ? required(request, 0).shape()
                                           : request.attributes().integers("shape");
  expect_shape(request.outputs[0], shape);
  return op.starts_with("RandomNormal") ? make_normal(request) : make_uniform(request);
}

}  // namespace
}  // namespace tare

TARE_KERNEL(random) {
  return {.ops = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike",
                  "RandomUniform", "RandomUniformLike"},
          .make = tare::make_random};
}
