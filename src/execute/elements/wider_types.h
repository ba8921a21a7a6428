#pragma once

#include "execute/elements/dispatch.h"

#include <functional>
#include <memory>

namespace tare {

/// What arithmetic has loops of its own for; MadeWider does the others. Loops for every type
/// would be most of what the compiler does, for types that networks hardly compute in.
using WideFloats = Types<float, double>;
using WideNumbers = Types<float, double, std::int64_t, std::uint64_t>;

using KernelMaker = std::function<std::unique_ptr<Kernel>(const KernelRequest&)>;

/// The kernel that `make` makes. Where it takes only wider types than the request has (f32 for
/// f16, 64 bits for integers), the kernel for these, with all operands and results converted.
/// Integers wrap around in the end as they would have done at once. Null when `make` takes
/// neither.
std::unique_ptr<Kernel> make_wide(const KernelRequest&, const KernelMaker& make);

}  // namespace tare
