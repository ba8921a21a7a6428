#include "tare/error.h"

#include "execute/elements/elementwise.h"
#include "execute/elements/vector_math.h"

#include <cmath>

namespace tare {
namespace {

/// Two's complement negation that does not overflow.
template <class T>
T negated(T x) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(std::uint64_t{0} - static_cast<std::uint64_t>(x));
  } else {
    return -x;
  }
}

constexpr auto kRelu = [](auto x) { return x < 0 ? decltype(x)(0) : x; };
constexpr auto kSign = [](auto x) { return static_cast<decltype(x)>((x > 0) - (x < 0)); };
constexpr auto kAbs = []<class T>(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fabs(x);
  } else {
    return x < 0 ? negated(x) : x;
  }
};

/// f(alpha, x) with the attribute alpha.
template <class F>
auto with_alpha(float fallback, F f) {
  return [=](const Attributes& attributes) {
    return [alpha = attributes.real("alpha", fallback), f](auto x) {
      return f(static_cast<decltype(x)>(alpha), x);
    };
  };
}

auto hard_sigmoid(const Attributes& attributes) {
  return
      [alpha = attributes.real("alpha", 0.2F), beta = attributes.real("beta", 0.5F)](auto x) {
        using T = decltype(x);
        const T y = T(alpha) * x + T(beta);
        const T above = y < T(0) ? T(0) : y;
        return above > T(1) ? T(1) : above;
      };
}

auto shrink(const Attributes& attributes) {
  return [bias = attributes.real("bias", 0), bound = attributes.real("lambd", 0.5F)](auto x) {
    using T = decltype(x);
    return x < T(-bound) ? x + T(bias) : x > T(bound) ? x - T(bias) : T(0);
  };
}

auto selu(const Attributes& attributes) {
  return [alpha = attributes.real("alpha", 1.67326319217681884765625F),
          gamma = attributes.real("gamma", 1.05070102214813232421875F)](auto x) {
    using T = decltype(x);
    const T below = T(gamma) * (T(alpha) * vmath::expm1(x));
    const T above = T(gamma) * x;
    return x > T(0) ? above : below;
  };
}

/// Gelu has two definitions, hence two makers.
NamedMaker gelu() {
  const NamedMaker exact =
      unary("Gelu", WideFloats{}, fixed([](auto x) { return vmath::gelu(x); }));
  const NamedMaker by_tanh =
      unary("Gelu", WideFloats{}, fixed([](auto x) { return vmath::gelu_tanh(x); }));
  return {"Gelu", [=](const KernelRequest& request) {
            const std::string form = request.attributes().text("approximate", "none");
            if (form != "none" && form != "tanh") {
              throw Error(ErrorCode::kInvalidModel, "", "approximate is '" + form + "'")
                  .expected("none or tanh");
            }
            return (form == "tanh" ? by_tanh : exact).make(request);
          }};
}

std::vector<NamedMaker> activations() {
  return {
      unary("Relu", WideNumbers{}, fixed(kRelu)),
      unary("LeakyRelu", WideFloats{},
            with_alpha(0.01F, [](auto alpha, auto x) { return x < 0 ? alpha * x : x; })),
      unary(
          "ThresholdedRelu", WideFloats{},
          with_alpha(1.0F, [](auto alpha, auto x) { return x > alpha ? x : decltype(x)(0); })),
      unary("Elu", WideFloats{},
            with_alpha(1.0F,
                       [](auto alpha, auto x) {
                         const auto below = alpha * vmath::expm1(x);
                         return x > 0 ? x : below;
                       })),
      unary("Celu", WideFloats{},
            with_alpha(1.0F,
                       [](auto alpha, auto x) {
                         const auto below = alpha * vmath::expm1(x / alpha);
                         return x > 0 ? x : below;
                       })),
      unary("Selu", WideFloats{}, selu),
      unary("Shrink", WideFloats{}, shrink),
      unary("Sigmoid", WideFloats{}, fixed([](auto x) { return vmath::sigmoid(x); })),
      unary("HardSigmoid", WideFloats{}, hard_sigmoid),
      unary("HardSwish", WideFloats{}, fixed([](auto x) {
              using T = decltype(x);
              const T gate = x * T(1.0 / 6) + T(0.5);
              const T above = gate < T(0) ? T(0) : gate;
              return x * (above > T(1) ? T(1) : above);
            })),
      unary("Softplus", WideFloats{}, fixed([](auto x) { return vmath::softplus(x); })),
      unary("Softsign", WideFloats{}, fixed([](auto x) { return x / (1 + std::fabs(x)); })),
      unary("Mish", WideFloats{}, fixed([](auto x) { return vmath::mish(x); })),
      gelu(),
  };
}

std::vector<NamedMaker> functions() {
  return {
      unary("Abs", WideNumbers{}, fixed(kAbs)),
      unary("Neg", WideNumbers{}, fixed([](auto x) { return negated(x); })),
      unary("Sign", WideNumbers{}, fixed(kSign)),
      unary("Rsqrt", WideFloats{}, fixed([](auto x) { return 1 / std::sqrt(x); })),
      unary("Floor", WideFloats{}, fixed([](auto x) { return std::floor(x); })),
      unary("Ceil", WideFloats{}, fixed([](auto x) { return std::ceil(x); })),
      unary("Round", WideFloats{}, fixed([](auto x) { return std::nearbyint(x); })),
      unary("Reciprocal", WideFloats{}, fixed([](auto x) { return 1 / x; })),
      unary("Sqrt", WideFloats{}, fixed([](auto x) { return std::sqrt(x); })),
      unary("Exp", WideFloats{}, fixed([](auto x) { return vmath::exp(x); })),
      unary("Log", WideFloats{}, fixed([](auto x) { return std::log(x); })),
      unary("Erf", WideFloats{}, fixed([](auto x) { return vmath::erf(x); })),
      unary("Sin", WideFloats{}, fixed([](auto x) { return std::sin(x); })),
      unary("Cos", WideFloats{}, fixed([](auto x) { return std::cos(x); })),
      unary("Tan", WideFloats{}, fixed([](auto x) { return std::tan(x); })),
      unary("Asin", WideFloats{}, fixed([](auto x) { return std::asin(x); })),
      unary("Acos", WideFloats{}, fixed([](auto x) { return std::acos(x); })),
      unary("Atan", WideFloats{}, fixed([](auto x) { return std::atan(x); })),
      unary("Sinh", WideFloats{}, fixed([](auto x) { return std::sinh(x); })),
      unary("Cosh", WideFloats{}, fixed([](auto x) { return std::cosh(x); })),
      unary("Tanh", WideFloats{}, fixed([](auto x) { return vmath::tanh(x); })),
      unary("Asinh", WideFloats{}, fixed([](auto x) { return std::asinh(x); })),
      unary("Acosh", WideFloats{}, fixed([](auto x) { return std::acosh(x); })),
      unary("Atanh", WideFloats{}, fixed([](auto x) { return std::atanh(x); })),
  };
}

}  // namespace
}  // namespace tare

TARE_KERNEL(unary) {
  std::vector<tare::NamedMaker> table = tare::activations();
  const std::vector<tare::NamedMaker> rest = tare::functions();
  table.insert(table.end(), rest.begin(), rest.end());
  return tare::elementwise(std::move(table));
}
