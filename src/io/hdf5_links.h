#pragma once

#include "io/hdf5.h"

#include <cstddef>
#include <string>
#include <vector>

namespace tare::hdf5 {

struct NamedDataset {
  std::string name;
  Handle dataset;
};

/// Far above what the inputs of a model need.
constexpr std::size_t kMostLinks = 4096;
/// Groups of samples: opening them all takes some seconds.
constexpr std::size_t kMostGroups = 100'000;

/// Every dataset of a file or group, sorted by name. A name with slashes is a path through
/// groups, which is how HDF5 stores it. Throws Error(kInvalidData) for links into other files,
/// datasets with elements in other files, links to nothing, and groups without end, which have
/// more links than `most`.
std::vector<NamedDataset> datasets(const Handle& place, std::size_t most = kMostLinks);

/// Throws Error(kInvalidData) for a link into another file, which may be any file of the user.
void require_link_inside(const Handle& place, const std::string& name);

/// Groups of a file that may be one for each sample, as their names are `0`, `1` or
/// `sample_012`.
struct NumberedGroups {
  std::vector<std::string> names;  ///< in the order of their numbers
  bool labels = false;             ///< whether there is a dataset of that name beside them
};

/// No names where there are others, or too many, or the first is no group with datasets.
NumberedGroups numbered_groups(const Handle& file);

}  // namespace tare::hdf5
