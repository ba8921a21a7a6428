#pragma once

#include "tare/dataset.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

namespace tare {

/// What a model takes; empty where no model is known.
using InputsOfModel = std::function<std::vector<ModelInput>()>;

/// As open_dataset(), for a model, which is asked only where a file does not say all itself:
/// where it holds groups with numbers, which are samples or parts of the names of inputs.
/// Samples in groups may differ in shape where the model leaves extents open.
std::unique_ptr<Dataset> open_hdf5(const std::filesystem::path&, const Hdf5Options&,
                                   const InputsOfModel&);

}  // namespace tare
