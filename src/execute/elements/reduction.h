#pragma once

#include "execute/elements/nested_loops.h"
#include "execute/elements/row_reduce.h"
#include "execute/operands.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tare {

/// How the elements of an operand fall to the results of a reduction.
struct Reduction {
  NestedLoops<2> loops;  ///< over the operand, and over the accumulators it goes into
  std::size_t results;
  std::int64_t each;  ///< elements per result
};

/// Reads the axes, and checks the shape of the result.
Reduction make_reduction(const KernelRequest&);
/// The layout function of reductions.
LayoutRule reduction_layout(const KernelRequest&);

/// acc[r] = all elements of result r combined, starting at `init`: step(acc, element) and
/// merge(acc, acc) give the new one.
template <class Acc, class T, class Step, class Merge>
void accumulate(const Reduction& plan, const T* x, Acc* acc, Acc init, Step step, Merge merge) {
  std::fill_n(acc, plan.results, init);
  const std::size_t n = plan.loops.row_length();
  const auto stride = static_cast<std::size_t>(plan.loops.row_stride(1));
  plan.loops.for_each_row([&](const auto& at) {
    const T* row = x + at[0];
    Acc* target = acc + at[1];
    if (stride == 0) {
      *target = merge(*target, reduce_row(row, n, init, step, merge));
    } else {
#pragma omp simd
      for (std::size_t i = 0; i < n; ++i) {
        target[i * stride] = step(target[i * stride], row[i]);
      }
    }
  });
}

}  // namespace tare
