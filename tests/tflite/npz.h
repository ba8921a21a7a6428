#pragma once

#include "tare/tensor.h"

#include <filesystem>
#include <map>
#include <string>

namespace tare::test {

/// The arrays of a NumPy archive, by name without ".npy". For files that a test trusts.
std::map<std::string, Tensor> read_npz(const std::filesystem::path&);

}  // namespace tare::test
