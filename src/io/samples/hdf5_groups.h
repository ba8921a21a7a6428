#pragma once

#include "tare/dataset.h"

#include "io/hdf5_links.h"

#include <filesystem>
#include <memory>
#include <vector>

namespace tare {

/// Whether such groups are samples. They are not where the model has an input whose name is a
/// path through one of them.
bool are_samples(const hdf5::NumberedGroups&, const std::vector<ModelInput>& model);

/// Samples of which each is a group of an HDF5 file, with a dataset for each input and perhaps
/// one integer called `labels`. Throws what file_dataset() does.
std::unique_ptr<Dataset> samples_in_groups(const std::filesystem::path&,
                                           const hdf5::NumberedGroups&,
                                           const std::vector<ModelInput>& model,
                                           const Hdf5Options&);

}  // namespace tare
