#pragma once

#include "tare/integer_graph.h"

#include "flags.h"

namespace tare::cli {

/// How a quantized model is spelled in ONNX.
Flag form_flag();
Form form_of(const Options&);

}  // namespace tare::cli
