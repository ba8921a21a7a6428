#pragma once

#include "tare/node.h"

#include "tflite/model_file.h"

namespace tare::tflite {

/// The graph of a file; as read_tflite().
Graph import_model(const ModelFile&, Numerics = Numerics::kOnnxRuntime);

}  // namespace tare::tflite
