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

/// What a file has that may be one group for each sample.
struct GroupNames {
  std::vector<std::string> names;     ///< of the groups, in the order in which people count
  std::vector<std::string> in_first;  ///< of datasets in the first of them
  bool labels = false;                ///< whether there is a dataset of that name beside them
};

/// No names where there is no group, or something else comes first, or there are too many.
GroupNames groups_at_root(const Handle& file);

}  // namespace tare::hdf5
