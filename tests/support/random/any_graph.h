#pragma once

#include "support/random/fake_quantized.h"

namespace tare::test {

/// Listed and unlisted operators on two quantized inputs, with conversions anywhere between
/// them.
Graph any_graph(FakeQuantizedBuilder&);

}  // namespace tare::test
