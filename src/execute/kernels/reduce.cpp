// Reductions of ONNX. Sums are in double or int64. ReduceLogSumExp keeps the largest element so
// far and a sum relative to it, so that one pass is enough and nothing overflows (as in Milakov
// and Gimelshein, "Online Normalizer Calculation for Softmax", 2018).
#include "execute/elements/dispatch.h"
#include "execute/elements/reduction.h"
#include "execute/elements/wider_types.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tare {
namespace {

/// Sums run in the widest type of their kind: long sums then do not depend on their order to
/// the precision of the result.
template <class T>
using Wide = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;

template <class T>
struct Sum {
  using Acc = Wide<T>;
  static constexpr Acc kInit = 0;
  static Acc step(Acc acc, T x) { return merge(acc, static_cast<Acc>(x)); }
  static Acc merge(Acc a, Acc b) {
    if constexpr (std::is_integral_v<Acc>) {
      return static_cast<Acc>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    } else {
      return a + b;
    }
  }
  static Acc finish(Acc acc, std::int64_t) { return acc; }
};

template <class T>
struct Prod {
  using Acc = Wide<T>;
  static constexpr Acc kInit = 1;
  static Acc step(Acc acc, T x) { return merge(acc, static_cast<Acc>(x)); }
  static Acc merge(Acc a, Acc b) {
    if constexpr (std::is_integral_v<Acc>) {
      return static_cast<Acc>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    } else {
      return a * b;
    }
  }
  static Acc finish(Acc acc, std::int64_t) { return acc; }
};

template <class T>
struct Mean : Sum<T> {
  using Acc = Wide<T>;
  static Acc finish(Acc acc, std::int64_t n) {
    return n == 0 ? Acc(0) : acc / static_cast<Acc>(n);
  }
};

template <class T>
struct L1 : Sum<T> {
  using Acc = Wide<T>;
  static Acc step(Acc acc, T x) {
    const auto wide = static_cast<Acc>(x);
    return L1::merge(acc, wide < 0 ? Prod<T>::merge(wide, -1) : wide);
  }
};

template <class T>
struct SumSquare : Sum<T> {
  using Acc = Wide<T>;
  static Acc step(Acc acc, T x) {
    const auto wide = static_cast<Acc>(x);
    return SumSquare::merge(acc, Prod<T>::merge(wide, wide));
  }
};

template <class T>
struct L2 : SumSquare<T> {
  using Acc = Wide<T>;
  static double finish(Acc acc, std::int64_t) { return std::sqrt(static_cast<double>(acc)); }
};

template <class T>
struct LogSum : Sum<T> {
  using Acc = Wide<T>;
  static double finish(Acc acc, std::int64_t) { return std::log(static_cast<double>(acc)); }
};

// Like numpy's, NaN wins.
template <class T>
struct Max {
  using Acc = T;
  using Limits = std::numeric_limits<T>;
  static constexpr Acc kInit = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  static Acc step(Acc acc, T x) { return acc < x || x != x ? x : acc; }
  static Acc merge(Acc a, Acc b) { return step(a, b); }
  static Acc finish(Acc acc, std::int64_t) { return acc; }
};

template <class T>
struct Min {
  using Acc = T;
  using Limits = std::numeric_limits<T>;
  static constexpr Acc kInit = Limits::has_infinity ? Limits::infinity() : Limits::max();
  static Acc step(Acc acc, T x) { return acc > x || x != x ? x : acc; }
  static Acc merge(Acc a, Acc b) { return step(a, b); }
  static Acc finish(Acc acc, std::int64_t) { return acc; }
};

/// The largest element so far, and the sum of e^(x - largest).
struct ScaledSum {
  double largest;
  double sum;
};

template <class T>
struct LogSumExp {
  using Acc = ScaledSum;
  static constexpr Acc kInit{-std::numeric_limits<double>::infinity(), 0};
  static Acc step(Acc acc, T x) { return merge(acc, {static_cast<double>(x), 1}); }
  static Acc merge(Acc a, Acc b) {
    const Acc& high = a.largest < b.largest || b.largest != b.largest ? b : a;
    const Acc& low = &high == &a ? b : a;
    // Equal infinities have no difference.
    const double factor =
        low.largest == high.largest ? 1 : std::exp(low.largest - high.largest);
    return {high.largest, high.sum + low.sum * factor};
  }
  static double finish(Acc acc, std::int64_t) { return acc.largest + std::log(acc.sum); }
};

template <class T, class Reducer>
void reduce(const Reduction& plan, const Buffers& buffers) {
  using Acc = typename Reducer::Acc;
  T* y = output<T>(buffers, 0);
  Acc* acc = reinterpret_cast<Acc*>(buffers.scratch);
  const auto step = [](Acc a, T value) { return Reducer::step(a, convert<Compute<T>>(value)); };
  accumulate(plan, input<T>(buffers, 0), acc, Acc(Reducer::kInit), step, Reducer::merge);
  for (std::size_t i = 0; i < plan.results; ++i) {
    y[i] = convert<T>(Reducer::finish(acc[i], plan.each));
  }
}

template <template <class> class Reducer>
std::unique_ptr<Kernel> make_with(const KernelRequest& request) {
  if (!uniform(request, 1)) {
    return nullptr;
  }
  return dispatch(WideNumbers{}, request.inputs[0].dtype(), [&]<class T>(Tag<T>) {
    using R = Reducer<Compute<T>>;
    const Reduction plan = make_reduction(request);
    return make_kernel([plan](const Buffers& buffers) { reduce<T, R>(plan, buffers); },
                       plan.results * sizeof(typename R::Acc));
  });
}

struct Entry {
  const char* op;
  std::unique_ptr<Kernel> (*make)(const KernelRequest&);
  Narrowing narrowing = Narrowing::kWrap;  ///< saturates results that are computed in double
};

constexpr std::array kTable{
    Entry{"ReduceSum", make_with<Sum>},
    Entry{"ReduceMean", make_with<Mean>},
    Entry{"ReduceMax", make_with<Max>},
    Entry{"ReduceMin", make_with<Min>},
    Entry{"ReduceProd", make_with<Prod>},
    Entry{"ReduceL1", make_with<L1>},
    Entry{"ReduceSumSquare", make_with<SumSquare>},
    Entry{"ReduceL2", make_with<L2>, Narrowing::kSaturate},
    Entry{"ReduceLogSum", make_with<LogSum>, Narrowing::kSaturate},
    Entry{"ReduceLogSumExp", make_with<LogSumExp>, Narrowing::kSaturate},
};

std::unique_ptr<Kernel> make_reduce(const KernelRequest& request) {
  const auto* entry = std::find_if(kTable.begin(), kTable.end(), [&](const Entry& each) {
    return each.op == request.node->op;
  });
  return make_wide(request, entry->make, entry->narrowing);
}

}  // namespace
}  // namespace tare

TARE_KERNEL(reduce) {
  using namespace tare;
  KernelInfo info{.ops = {}, .layout = reduction_layout, .make = make_reduce};
  for (const Entry& entry : kTable) {
    info.ops.emplace_back(entry.op);
  }
  return info;
}
