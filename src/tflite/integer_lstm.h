#pragma once

#include "tflite/operator_import.h"

namespace tare::tflite {

/// Whether the kernels of TensorFlow Lite compute this LSTM on integers, and the graph is made
/// for their numerics.
bool is_integer_lstm(const OperatorImport&);

/// LSTM over sequences in int8, with a cell in int16, as the kernels compute it from states of
/// zeros; every step is spelled out. cell_clip 0: the cell has no bound.
void integer_lstm(OperatorImport&, bool time_major, float cell_clip);

}  // namespace tare::tflite
