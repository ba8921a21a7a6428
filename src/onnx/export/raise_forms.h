#pragma once

#include "tare/graph.h"

#include <onnx/onnx_pb.h>

namespace tare {

/// The operators of a tail in the forms of one opset, which is that of none of them older.
/// Nothing is known of their values. Throws Error(kUnsupported) for an operator that has no
/// such form.
onnx::GraphProto raised_tail(const Tail&, int opset);

}  // namespace tare
