#pragma once

#include "tare/dataset.h"
#include "tare/node.h"

#include "flags.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace tare::cli {

/// Whose integer arithmetic a quantized model runs with: that of an engine, by default ONNX
/// Runtime, or what the configuration and the model's file state.
Flag numerics_flag();
/// The engine; absent for what is stated.
std::optional<Numerics> asked_numerics(const Options&);
/// load_model() for those numerics. Throws Error(kInvalidConfig) when the options say some and
/// the model is no quantized one.
Graph load_for_numerics(const std::string& model,
                        const std::map<std::string, std::int64_t>& dims, const Dataset* data,
                        const Options&);
/// The model made ready to run: as it is, or as its integer graph with those numerics.
Graph load_runnable(const std::string& model, const Dataset* data, const Options&);

}  // namespace tare::cli
