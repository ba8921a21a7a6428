#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "execute/dispatch.h"
#include "execute/nested_loops.h"

namespace tare {

/// y[i] = f(x[i]). x and y may be the same memory.
template <class X, class Y, class F>
void map_elements(const X* x, Y* y, std::size_t count, F f) {
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) {
    y[i] = convert<Y>(f(convert<Compute<X>>(x[i])));
  }
}

/// Elementwise combination of broadcast operands; y may be the memory of an operand of its size.
template <class A, class B, class Y, class F>
class BroadcastMap {
 public:
  BroadcastMap(const Operand& y, const Operand& a, const Operand& b, F f)
      : loops_(broadcast_loops(y, a, b)), f_(f) {}

  void operator()(const A* a, const B* b, Y* y) const {
    const std::size_t n = loops_.row_length();
    const std::int64_t a_step = loops_.row_stride(1);
    const std::int64_t b_step = loops_.row_stride(2);
    loops_.for_each_row([&](const auto& offsets) {
      const A* pa = a + offsets[1];
      const B* pb = b + offsets[2];
      Y* py = y + offsets[0];
      if (a_step == 1 && b_step == 1) {
        row(pa, pb, py, n, [](std::size_t i) { return i; }, [](std::size_t i) { return i; });
      } else if (a_step == 1 && b_step == 0) {
        row(pa, pb, py, n, [](std::size_t i) { return i; }, [](std::size_t) { return 0; });
      } else if (a_step == 0 && b_step == 1) {
        row(pa, pb, py, n, [](std::size_t) { return 0; }, [](std::size_t i) { return i; });
      } else {
        row(pa, pb, py, n,
            [=](std::size_t i) { return static_cast<std::int64_t>(i) * a_step; },
            [=](std::size_t i) { return static_cast<std::int64_t>(i) * b_step; });
      }
    });
  }

 private:
  template <class AtA, class AtB>
  void row(const A* a, const B* b, Y* y, std::size_t n, AtA at_a, AtB at_b) const {
    const F f = f_;
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) {
      y[i] = convert<Y>(f(convert<Compute<A>>(a[at_a(i)]), convert<Compute<B>>(b[at_b(i)])));
    }
  }

  NestedLoops<3> loops_;
  F f_;
};

/// Makes the kernel of one operator, or nothing when it does not take the types.
using Maker = std::function<std::unique_ptr<Kernel>(const KernelRequest&)>;

struct NamedMaker {
  std::string op;
  Maker make;
};

/// One family from a table of operators.
KernelInfo family(std::vector<NamedMaker> table, LayoutRule rule, bool in_place);

}  // namespace tare
