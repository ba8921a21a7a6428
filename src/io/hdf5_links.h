#pragma once

#include "io/hdf5.h"

#include <string>
#include <vector>

namespace tare::hdf5 {

struct NamedDataset {
  std::string name;
  Handle dataset;
};

/// Every dataset of a file, sorted by name. A name with slashes is a path through groups, which
/// is how HDF5 stores it. Throws Error(kInvalidData) for links into other files, datasets with
/// elements in other files, links to nothing, and groups without end.
std::vector<NamedDataset> datasets(const Handle& file);

}  // namespace tare::hdf5
