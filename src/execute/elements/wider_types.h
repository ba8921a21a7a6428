#pragma once

#include "execute/elements/dispatch.h"

#include <functional>
#include <memory>

namespace tare {

/// What arithmetic has loops of its own for; make_wide() does the others. Loops for every type
/// would be most of what the compiler does, for types that networks hardly compute in.
using WideFloats = Types<float, double>;
using WideNumbers = Types<float, double, std::int64_t, std::uint64_t>;

using KernelMaker = std::function<std::unique_ptr<Kernel>(const KernelRequest&)>;

/// How an integer of 64 bits becomes one of fewer.
enum class Narrowing {
  kWrap,      ///< its low bits: sums and products are then those of the narrow type
  kSaturate,  ///< the nearest one there is, as for results that were floats
};

/// The kernel that `make` makes. Where it takes only wider types than the request has (f32 for
/// f16, 64 bits for integers), the kernel for these, with all operands and results converted at
/// each run. So it serves kernels that only compute: neither constants that were packed when
/// the kernel was made nor state between runs are converted. Null when `make` takes neither.
std::unique_ptr<Kernel> make_wide(const KernelRequest&, const KernelMaker& make,
                                  Narrowing = Narrowing::kWrap);

}  // namespace tare
