#pragma once

#include "fuzz/envelope.h"

#include <functional>
#include <limits>

namespace tare::fuzz {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// f of each element.
Tensor map(const Tensor&, const std::function<double(double)>& f);
Tensor map(const Tensor& a, const Tensor& b, const std::function<double(double, double)>& f);

/// The largest that each element may be, without its sign.
Tensor magnitudes(const Envelope&);

/// Moves both ends away by `error`, and by what sums of so few terms may lose to underflow;
/// what is no number afterwards is not known.
Envelope widened(const Envelope&, const Tensor& error);

/// From the negative magnitude to the positive one.
Envelope bounded(const Shape&, double magnitude);
Envelope unknown(const Shape&);

/// What one or the other is.
Envelope either(const Envelope&, const Envelope&);

}  // namespace tare::fuzz
