#pragma once

#include "tare/dataset.h"
#include "tare/graph.h"

#include <cstddef>
#include <filesystem>

namespace tare::test {

/// Writes the samples that `graph` takes as raw files for onnxruntime.mjs: SPEC.json and one
/// file per input, in `folder`. Returns the path of SPEC.json. `samples` 0 means all.
std::filesystem::path write_raw_samples(const Graph& graph, const Dataset&, std::size_t samples,
                                        const std::filesystem::path& folder);

}  // namespace tare::test
