#include "execute/elements/elementwise.h"

namespace tare {
namespace {

// Like numpy's, NaN wins.
constexpr auto kMax = [](auto a, auto b) { return a < b || b != b ? b : a; };
constexpr auto kMin = [](auto a, auto b) { return a > b || b != b ? b : a; };
constexpr auto kSum = [](auto a, auto b) { return a + b; };
constexpr auto kLast = [](auto, auto b) { return b; };

/// y = finish(f(f(x0, x1), x2) ...), from left to right.
template <class List, class F, class Finish>
NamedMaker fold(std::string op, List list, F f, Finish finish) {
  return {std::move(op), [=](const KernelRequest& request) -> std::unique_ptr<Kernel> {
            const Operand& first = required(request, 0);
            if (!uniform(request)) {
              return nullptr;
            }
            return dispatch(list, first.dtype(), [&]<class T>(Tag<T>) {
              const Operand& y = request.outputs[0];
              const BroadcastMap<T, T, T, decltype(kLast)> copy(y, first, first, kLast);
              std::vector<BroadcastMap<T, T, T, F>> steps;
              for (std::size_t i = 1; i < request.inputs.size(); ++i) {
                steps.emplace_back(y, i == 1 ? first : y, request.inputs[i], f);
              }
              return make_kernel([=, count = count_of(y)](const Buffers& b) {
                T* result = output<T>(b, 0);
                if (steps.empty()) {
                  copy(input<T>(b, 0), input<T>(b, 0), result);
                }
                for (std::size_t i = 0; i < steps.size(); ++i) {
                  steps[i](i == 0 ? input<T>(b, 0) : result, input<T>(b, i + 1), result);
                }
                finish(result, count, steps.size() + 1);
              });
            });
          }};
}

constexpr auto kKeep = [](auto*, std::size_t, std::size_t) {};
constexpr auto kDivide = []<class T>(T* y, std::size_t count, std::size_t operands) {
  map_elements(static_cast<const T*>(y), y, count,
               [n = static_cast<Compute<T>>(operands)](auto x) { return x / n; });
};

}  // namespace
}  // namespace tare

TARE_KERNEL(variadic) {
  using namespace tare;
  return elementwise({
      fold("Max", WideNumbers{}, kMax, kKeep),
      fold("Min", WideNumbers{}, kMin, kKeep),
      fold("Sum", WideFloats{}, kSum, kKeep),
      fold("Mean", WideFloats{}, kSum, kDivide),
  });
}
