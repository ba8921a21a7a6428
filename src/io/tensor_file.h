#pragma once

#include "tare/dataset.h"
#include "tare/tensor.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tare {

/// An HDF5 file of whole arrays: what this program writes for itself. Names may hold slashes,
/// which are groups.
struct TensorFile {
  std::map<std::string, std::string> attributes;  ///< of the root
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::vector<std::string>> texts;  ///< none ends in a NUL byte
};

/// The same contents give the same bytes. Throws Error(kIo).
void write_tensor_file(const std::filesystem::path&, const TensorFile&);
/// Takes no more memory than the file is long. Throws Error(kIo) when it is not a readable HDF5
/// file, Error(kInvalidData) when its attribute `schema` is another than this one, or it holds
/// what write_tensor_file() does not write.
TensorFile read_tensor_file(const std::filesystem::path&, const std::string& schema,
                            const Hdf5Options& = {});

}  // namespace tare
