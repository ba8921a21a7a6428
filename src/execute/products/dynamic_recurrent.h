#pragma once

#include "execute/products/recurrent.h"

#include <memory>

namespace tare {

/// For DynamicQuantizeLSTM of ONNX Runtime: operands as LSTM has, with W and R as integers of 8
/// bits, [directions, inputs or hidden, gates * hidden], and behind them scale and zero point
/// of W, then of R, [directions] or [directions, gates * hidden]. Null where these six are no
/// constants. Results differ from those of a product of integers by float32 sums.
std::unique_ptr<Kernel> make_dynamic_recurrent(Cell, const KernelRequest&);

}  // namespace tare
