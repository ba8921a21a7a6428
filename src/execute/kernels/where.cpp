#include "execute/elements/dispatch.h"
#include "execute/elements/nested_loops.h"
#include "execute/operands.h"

namespace tare {
namespace {

/// Steps are given as functions, so that the common ones are known when the loop is compiled.
template <class T, class AtA, class AtB>
void choose(const bool* conditions, const T* a, const T* b, T* y, std::int64_t n, AtA at_a,
            AtB at_b) {
  // As numbers, since GCC does not vectorize loops that read bool.
  const auto* condition = reinterpret_cast<const std::uint8_t*>(conditions);
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    // A conditional expression would be a branch for each element.
    const T chosen = static_cast<T>(T{0} - static_cast<T>(condition[i]));
    y[i] = static_cast<T>((a[at_a(i)] & chosen) | (b[at_b(i)] & ~chosen));
  }
}

template <class T>
void run(const NestedLoops<4>& loops, const Buffers& buffers) {
  const auto n = static_cast<std::int64_t>(loops.row_length());
  const std::array step{loops.row_stride(1), loops.row_stride(2), loops.row_stride(3)};
  const auto next = [](std::int64_t i) { return i; };
  const auto same = [](std::int64_t) { return 0; };
  loops.for_each_row([&](const auto& at) {
    T* y = output<T>(buffers, 0) + at[0];
    const bool* condition = input<bool>(buffers, 0) + at[1];
    const T* a = input<T>(buffers, 1) + at[2];
    const T* b = input<T>(buffers, 2) + at[3];
    if (step == std::array<std::int64_t, 3>{1, 1, 1}) {
      choose(condition, a, b, y, n, next, next);
    } else if (step == std::array<std::int64_t, 3>{1, 0, 1}) {
      choose(condition, a, b, y, n, same, next);
    } else if (step == std::array<std::int64_t, 3>{1, 1, 0}) {
      choose(condition, a, b, y, n, next, same);
    } else {
      for (std::int64_t i = 0; i < n; ++i) {
        y[i] = condition[i * step[0]] ? a[i * step[1]] : b[i * step[2]];
      }
    }
  });
}

std::unique_ptr<Kernel> make_where(const KernelRequest& request) {
  const Operand& condition = required(request, 0);
  const Operand& a = required(request, 1);
  const Operand& b = required(request, 2);
  const Operand& y = request.outputs[0];
  if (condition.dtype() != DType::kBool || a.dtype() != b.dtype() || a.dtype() != y.dtype()) {
    return nullptr;
  }
  return with_cell(y.dtype(), [&]<class T>(Tag<T>) {
    return make_kernel([loops = broadcast_loops(y, condition, a, b)](const Buffers& buffers) {
      run<T>(loops, buffers);
    });
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(where) {
  using namespace tare;
  return {.ops = {"Where"}, .layout = follow, .make = make_where};
}
