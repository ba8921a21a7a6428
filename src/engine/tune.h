#pragma once

#include "tare/quantize.h"
#include "tare/search.h"

#include "engine/engine.h"

#include <chrono>
#include <functional>

namespace tare {

/// tune() in an engine that is open, until a deadline.
TunedTarget tune_in(Engine&, const Graph& model, const Config&, const Toolkit&,
                    const std::filesystem::path& cache,
                    std::chrono::steady_clock::time_point deadline,
                    const std::function<void(std::size_t done, std::size_t total)>& progress);

}  // namespace tare
