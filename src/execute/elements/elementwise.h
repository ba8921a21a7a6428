#pragma once

#include "execute/elements/dispatch.h"
#include "execute/elements/nested_loops.h"
#include "execute/elements/wider_types.h"
#include "execute/operands.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tare {

/// y[i] = f(x[i]). x and y may be the same memory.
template <class X, class Y, class F>
void map_elements(const X* x, Y* y, std::size_t count, F f) {
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) {
    y[i] = convert<Y>(f(convert<Compute<X>>(x[i])));
  }
}

/// y = f(a, b) with a and b broadcast to y, which may be the memory of an operand of its size.
template <class A, class B, class Y, class F>
class BroadcastMap {
 public:
  BroadcastMap(const Operand& y, const Operand& a, const Operand& b, F f)
      : loops_(broadcast_loops(y, a, b)), f_(f) {}

  void operator()(const A* a, const B* b, Y* y) const {
    const std::int64_t a_step = loops_.row_stride(1);
    const std::int64_t b_step = loops_.row_stride(2);
    const auto next = [](std::int64_t i) { return i; };
    const auto same = [](std::int64_t) { return 0; };
    const auto each_row = [&](auto at_a, auto at_b) {
      loops_.for_each_row(
          [&](const auto& at) { row(a + at[1], b + at[2], y + at[0], at_a, at_b); });
    };
    if (a_step == 1 && b_step == 1) {
      each_row(next, next);
    } else if (a_step == 1 && b_step == 0) {
      each_row(next, same);
    } else if (a_step == 0 && b_step == 1) {
      each_row(same, next);
    } else {
      each_row([=](std::int64_t i) { return i * a_step; },
               [=](std::int64_t i) { return i * b_step; });
    }
  }

 private:
  template <class AtA, class AtB>
  void row(const A* a, const B* b, Y* y, AtA at_a, AtB at_b) const {
    const F f = f_;
    const auto n = static_cast<std::int64_t>(loops_.row_length());
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
      y[i] = convert<Y>(f(convert<Compute<A>>(a[at_a(i)]), convert<Compute<B>>(b[at_b(i)])));
    }
  }

  NestedLoops<3> loops_;
  F f_;
};

/// How one operator of a family makes its kernel; null when it does not take the types.
struct NamedMaker {
  std::string op;
  KernelMaker make;
};

/// A function that no attribute changes, as a builder.
template <class F>
auto fixed(F f) {
  return [f](const Attributes&) { return f; };
}

/// y = f(x), f = build(attributes), for x of a type in `list`; y has type Y, or that of x.
template <class Y = void, class List, class Build>
NamedMaker unary(std::string op, List list, Build build) {
  return {std::move(op), [=](const KernelRequest& request) {
            const Operand& x = required(request, 0);
            expect_shape(request.outputs[0], x.shape());
            return dispatch(list, x.dtype(), [&]<class X>(Tag<X>) -> std::unique_ptr<Kernel> {
              using Result = std::conditional_t<std::is_void_v<Y>, X, Y>;
              if (request.outputs[0].dtype() != DTypeOf<Result>::kValue) {
                return nullptr;
              }
              return make_kernel(
                  [f = build(request.attributes()), count = count_of(x)](const Buffers& b) {
                    map_elements(input<X>(b, 0), output<Result>(b, 0), count, f);
                  });
            });
          }};
}

/// y = f(a, b), f = build(attributes), for operands of one type in `list`; y has type Y or
/// theirs.
template <class Y = void, class List, class Build>
NamedMaker binary(std::string op, List list, Build build) {
  return {std::move(op), [=](const KernelRequest& request) -> std::unique_ptr<Kernel> {
            const Operand& a = required(request, 0);
            const Operand& b = required(request, 1);
            const Operand& y = request.outputs[0];
            if (a.dtype() != b.dtype()) {
              return nullptr;
            }
            return dispatch(list, a.dtype(), [&]<class T>(Tag<T>) -> std::unique_ptr<Kernel> {
              using Result = std::conditional_t<std::is_void_v<Y>, T, Y>;
              if (y.dtype() != DTypeOf<Result>::kValue) {
                return nullptr;
              }
              const auto f = build(request.attributes());
              return make_kernel([map = BroadcastMap<T, T, Result, decltype(f)>(y, a, b, f)](
                                     const Buffers& m) {
                map(input<T>(m, 0), input<T>(m, 1), output<Result>(m, 0));
              });
            });
          }};
}

/// One family of elementwise operators out of a table of them. They take the types of their
/// lists, and those that are widened to one of these.
KernelInfo elementwise(std::vector<NamedMaker> table);

}  // namespace tare
