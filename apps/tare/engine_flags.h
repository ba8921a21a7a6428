#pragma once

#include "tare/execute.h"

#include "flags.h"
#include "text.h"

#include <string>
#include <vector>

namespace tare::cli {

/// --engine, --engine-timeout, and how many threads the engine has: `threads` is that flag.
std::vector<Flag> engine_flags(const std::string& threads, bool required);
Flag tune_time_flag(std::string summary);
/// What those flags say.
EngineOptions engine_of(const Options&, const std::string& threads);

/// "onnxruntime 1.21.0, 1 thread, AMD EPYC (26/2)"
std::string engine_text(const EngineFacts&);
Json engine_json(const EngineFacts&);
/// "1.85x as fast (1.82 to 1.88)"
std::string speed_text(const ConfidenceInterval&);
Json interval_json(const ConfidenceInterval&);

}  // namespace tare::cli
