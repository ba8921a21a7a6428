#pragma once

#include "execute/kernel.h"

#include <cstdint>
#include <functional>

namespace tare {

/// From a storage value to one: a function of one value in integers, the zero points included
/// and the result within its range.
using StorageFunction = std::function<std::int32_t(std::int32_t)>;

/// What the operator is between these parameters in TensorFlow Lite. Null where the numerics of
/// the node has no algorithm for it or for these storage types.
StorageFunction tflite_function(const Node&, const QuantParams& from, const QuantParams& to);

}  // namespace tare
