#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <hdf5.h>

namespace tare::test {

using Extents = std::vector<hsize_t>;

/// Writes HDF5 files through the C API, as other programs do, without the code under test.
class Hdf5Builder {
 public:
  /// `latest`: in the newest format of files, whose metadata has checksums.
  explicit Hdf5Builder(const std::filesystem::path& path, bool latest = false) {
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (latest) {
      H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    }
    file_ = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pclose(access);
  }
  /// Takes over the file.
  explicit Hdf5Builder(hid_t file) : file_(file) {}
  ~Hdf5Builder() { H5Fclose(file_); }
  Hdf5Builder(const Hdf5Builder&) = delete;
  Hdf5Builder& operator=(const Hdf5Builder&) = delete;

  hid_t file() const { return file_; }

  /// `chunk` empty: contiguous, else chunked and compressed. `data` null: nothing is written.
  Hdf5Builder& dataset(const std::string& name, hid_t type, const Extents& extents,
                       const void* data, const Extents& chunk = {}) {
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    if (!chunk.empty()) {
      H5Pset_chunk(properties, static_cast<int>(chunk.size()), chunk.data());
      H5Pset_deflate(properties, 1);
    }
    const hid_t links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    const hid_t space = make_space(extents);
    const hid_t id =
        H5Dcreate2(file_, name.c_str(), type, space, links, properties, H5P_DEFAULT);
    if (data != nullptr) {
      H5Dwrite(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
    }
    H5Dclose(id);
    H5Sclose(space);
    H5Pclose(links);
    H5Pclose(properties);
    return *this;
  }

  /// One sequence for each sample, as `h5py.vlen_dtype` has them. `chunk` 0: contiguous, else
  /// chunked, shuffled and compressed, of as many as are to come.
  template <class T>
  Hdf5Builder& sequences(const std::string& name, hid_t base,
                         const std::vector<std::vector<T>>& values, hsize_t chunk = 0) {
    std::vector<hvl_t> elements;
    for (const std::vector<T>& each : values) {
      elements.push_back({each.size(), const_cast<T*>(each.data())});
    }
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    if (chunk > 0) {
      H5Pset_chunk(properties, 1, &chunk);
      H5Pset_shuffle(properties);
      H5Pset_deflate(properties, 1);
    }
    const hid_t type = H5Tvlen_create(base);
    const hsize_t count = values.size();
    const hsize_t most = chunk > 0 ? H5S_UNLIMITED : count;
    const hid_t space = H5Screate_simple(1, &count, &most);
    const hid_t id =
        H5Dcreate2(file_, name.c_str(), type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    H5Dwrite(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, elements.data());
    H5Dclose(id);
    H5Sclose(space);
    H5Tclose(type);
    H5Pclose(properties);
    return *this;
  }

  /// No extents: a scalar.
  Hdf5Builder& attribute(const std::string& dataset, const std::string& name, hid_t type,
                         const Extents& extents, const void* data) {
    const hid_t space = make_space(extents);
    const hid_t id = H5Acreate_by_name(file_, dataset.c_str(), name.c_str(), type, space,
                                       H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(id, type, data);
    H5Aclose(id);
    H5Sclose(space);
    return *this;
  }

 private:
  static hid_t make_space(const Extents& extents) {
    return extents.empty()
               ? H5Screate(H5S_SCALAR)
               : H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr);
  }

  hid_t file_;
};

struct StoredNumbers {
  Extents extents;
  std::vector<double> values;
};

inline StoredNumbers stored_numbers(const std::filesystem::path& path,
                                    const std::string& name) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t dataset = H5Dopen2(file, name.c_str(), H5P_DEFAULT);
  const hid_t space = H5Dget_space(dataset);
  StoredNumbers result;
  result.extents.resize(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
  H5Sget_simple_extent_dims(space, result.extents.data(), nullptr);
  result.values.resize(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, result.values.data());
  H5Sclose(space);
  H5Dclose(dataset);
  H5Fclose(file);
  return result;
}

}  // namespace tare::test
