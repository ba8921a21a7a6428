// Writes results sample by sample to datasets that grow along their first axis, in chunks. A
// chunk is filled in the library's cache before it is written, so each is written once,
// whatever the size of a batch. That samples have several shapes may show late: what was
// written until then moves to groups, and HDF5 uses its place in the file again.
#include "tare/dataset.h"
#include "tare/error.h"

#include "base/check.h"
#include "io/hdf5_output.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

namespace tare {
namespace {

using hdf5::checked;
using hdf5::Handle;
using hdf5::owned;

/// Below the library's chunk cache of 1 MiB, so that a chunk is filled before it is written.
constexpr std::int64_t kChunkBytes = 256 << 10;

std::vector<hsize_t> sizes(const Shape& shape) {
  return {shape.begin(), shape.end()};
}

/// An extendible dataset without samples, for rows of the shape that `batch` has after axis 0.
Handle create(const Handle& file, const std::string& name, const Tensor& batch) {
  hdf5::require_name(name);
  std::vector<hsize_t> extents = sizes(batch.shape());
  std::vector<hsize_t> limits = extents;
  extents[0] = 0;
  limits[0] = H5S_UNLIMITED;
  const Handle space = owned(
      H5Screate_simple(static_cast<int>(extents.size()), extents.data(), limits.data()), name);
  std::vector<hsize_t> chunk = extents;
  std::int64_t row_bytes = static_cast<std::int64_t>(size_of(batch.dtype()));
  for (std::size_t axis = 1; axis < chunk.size(); ++axis) {
    chunk[axis] = std::max<hsize_t>(chunk[axis], 1);  // of an empty tensor too
    row_bytes *= static_cast<std::int64_t>(chunk[axis]);
  }
  chunk[0] = static_cast<hsize_t>(std::max<std::int64_t>(kChunkBytes / row_bytes, 1));

  const Handle properties = owned(H5Pcreate(H5P_DATASET_CREATE), name);
  checked(H5Pset_chunk(properties.get(), static_cast<int>(chunk.size()), chunk.data()), name);
  checked(H5Pset_obj_track_times(properties.get(), false), name);  // the same bytes every day
  const Handle links = owned(H5Pcreate(H5P_LINK_CREATE), name);
  checked(H5Pset_create_intermediate_group(links.get(), 1), name);  // names may hold slashes
  const Handle type = hdf5::type_of(batch.dtype());
  return owned(H5Dcreate2(file.get(), name.c_str(), type.get(), space.get(), links.get(),
                          properties.get(), H5P_DEFAULT),
               "dataset '" + name + "' cannot be created");
}

struct Series {
  Handle dataset;  ///< none where samples are in groups
  DType dtype = DType::kFloat32;
  Shape shape;  ///< of everything written so far; in groups only the first extent counts
  std::vector<float> mean{};
  std::vector<float> std{};
};

/// Rows of a dataset, and as many in memory.
struct Rows {
  Handle in_file;
  Handle in_memory;
};

Rows select_rows(const Handle& dataset, std::int64_t first, const Shape& rows,
                 const std::string& what) {
  std::vector<hsize_t> start(rows.size(), 0);
  start[0] = static_cast<hsize_t>(first);
  const std::vector<hsize_t> count = sizes(rows);
  Rows result{
      owned(H5Dget_space(dataset.get()), what),
      owned(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), what)};
  checked(H5Sselect_hyperslab(result.in_file.get(), H5S_SELECT_SET, start.data(), nullptr,
                              count.data(), nullptr),
          what);
  return result;
}

void extend(Series& series, const std::string& name, const Tensor& batch) {
  const std::string what = "dataset '" + name + "' cannot be written";
  const std::int64_t first = series.shape[0];
  series.shape[0] += batch.shape()[0];
  checked(H5Dset_extent(series.dataset.get(), sizes(series.shape).data()), what);
  const Rows rows = select_rows(series.dataset, first, batch.shape(), what);
  const Handle type = hdf5::type_of(batch.dtype());
  checked(H5Dwrite(series.dataset.get(), type.get(), rows.in_memory.get(), rows.in_file.get(),
                   H5P_DEFAULT, batch.data()),
          what);
}

/// One row of what was written.
Tensor read_back(const Series& series, std::int64_t row) {
  const std::string what = "cannot be read back";
  Shape shape = series.shape;
  shape[0] = 1;
  const Rows rows = select_rows(series.dataset, row, shape, what);
  Tensor result(series.dtype, std::move(shape));
  const Handle type = hdf5::type_of(series.dtype);
  checked(H5Dread(series.dataset.get(), type.get(), rows.in_memory.get(), rows.in_file.get(),
                  H5P_DEFAULT, result.mutable_data()),
          what);
  return result;
}

/// Names of groups sort as numbers do, also where they are taken for text.
std::string name_of_group(std::int64_t sample) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "%06lld", static_cast<long long>(sample));
  return text.data();
}

void write_attribute(const Handle& dataset, const char* name, std::span<const float> values) {
  const std::string what = std::string("attribute '") + name + "' cannot be written";
  const hsize_t count = values.size();
  const Handle space = owned(H5Screate_simple(1, &count, nullptr), what);
  const Handle type = hdf5::type_of(DType::kFloat32);
  const Handle attribute = owned(
      H5Acreate2(dataset.get(), name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), what);
  checked(H5Awrite(attribute.get(), type.get(), values.data()), what);
}

void write_statistics(const Handle& dataset, const Series& series) {
  if (!series.mean.empty()) {
    write_attribute(dataset, "mean", series.mean);
    write_attribute(dataset, "std", series.std);
  }
}

/// Each row as a dataset of its own, in the group of its sample.
void write_to_groups(const Handle& file, const std::string& name, const Tensor& batch,
                     Series& series) {
  const std::vector<hsize_t> all = sizes(batch.shape());
  const Handle space =
      owned(H5Screate_simple(static_cast<int>(all.size()) - 1, all.data() + 1, nullptr), name);
  const Handle type = hdf5::type_of(batch.dtype());
  const Handle properties = owned(H5Pcreate(H5P_DATASET_CREATE), name);
  checked(H5Pset_obj_track_times(properties.get(), false), name);
  const Handle links = owned(H5Pcreate(H5P_LINK_CREATE), name);
  checked(H5Pset_create_intermediate_group(links.get(), 1), name);
  for (std::int64_t row = 0; row < batch.shape()[0]; ++row) {
    const std::string place = name_of_group(series.shape[0]++) + "/" + name;
    const Handle dataset = owned(H5Dcreate2(file.get(), place.c_str(), type.get(), space.get(),
                                            links.get(), properties.get(), H5P_DEFAULT),
                                 "dataset '" + place + "' cannot be created");
    checked(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT,
                     batch.rows(row, 1).data()),
            "dataset '" + place + "' cannot be written");
    write_statistics(dataset, series);
  }
}

bool have_one_shape(const Shape& rows, const Shape& others) {
  return rows.size() == others.size() &&
         std::equal(rows.begin() + 1, rows.end(), others.begin() + 1);
}

}  // namespace

struct DatasetWriter::Impl {
  explicit Impl(std::filesystem::path path) : output(std::move(path)) {
    const auto guard = hdf5::lock();
    write([&] { file = hdf5::create_file(output); });
  }

  /// Calls `call`; errors say which file it was.
  template <class Call>
  void write(const Call& call) {
    try {
      call();
    } catch (Error& error) {
      output.require_written();  // where that is the reason
      error.at(output.path().string());
      throw;
    }
    output.require_written();
  }

  /// Moves all that was written to a group for each sample.
  void split_into_groups() {
    std::set<std::string> links;
    for (const auto& [name, written] : series) {
      links.insert(name.substr(0, name.find('/')));
    }
    for (const std::string& link : links) {  // datasets stay until they are closed
      checked(H5Ldelete(file.get(), link.c_str(), H5P_DEFAULT), link);
    }
    for (auto& [name, rows] : series) {
      Series moved{
          .dataset = {}, .dtype = rows.dtype, .shape = {0}, .mean = rows.mean, .std = rows.std};
      for (std::int64_t row = 0; row < rows.shape[0]; ++row) {
        write_to_groups(file, name, read_back(rows, row), moved);
      }
      hdf5::close(rows.dataset);
      rows = std::move(moved);
    }
    in_groups = true;
  }

  Series& series_of(const std::string& name, const Tensor& batch) {
    const auto found = series.find(name);
    if (found != series.end()) {
      return found->second;
    }
    Series fresh{.dataset = {}, .dtype = batch.dtype(), .shape = batch.shape()};
    fresh.shape[0] = 0;
    if (!in_groups) {
      fresh.dataset = create(file, name, batch);
    }
    return series.emplace(name, std::move(fresh)).first->second;
  }

  void append(const std::string& name, const Tensor& batch) {
    Series& written = series_of(name, batch);
    check(written.dtype == batch.dtype(), "results of one name differ in type");
    if (!in_groups && !have_one_shape(batch.shape(), written.shape)) {
      split_into_groups();
    }
    if (in_groups) {
      write_to_groups(file, name, batch, written);
    } else {
      extend(written, name, batch);
    }
  }

  OutputFile output;
  Handle file;
  std::map<std::string, Series> series;
  bool in_groups = false;
};

DatasetWriter::DatasetWriter(std::filesystem::path path)
    : impl_(std::make_unique<Impl>(std::move(path))) {}

DatasetWriter::~DatasetWriter() {
  const auto guard = hdf5::lock();
  impl_.reset();
}

void DatasetWriter::append(const std::string& name, const Tensor& tensor) {
  const Tensor batch = tensor.shape().empty() ? tensor.reshaped({1}) : tensor;
  const auto guard = hdf5::lock();
  impl_->write([&] { impl_->append(name, batch); });
}

void DatasetWriter::normalize(const std::string& name, std::span<const float> mean,
                              std::span<const float> std) {
  const auto guard = hdf5::lock();
  impl_->write([&] {
    const auto found = impl_->series.find(name);
    check(found != impl_->series.end(), "attributes of a name under which nothing was written");
    Series& written = found->second;
    written.mean.assign(mean.begin(), mean.end());
    written.std.assign(std.begin(), std.end());
    if (!impl_->in_groups) {
      write_statistics(written.dataset, written);
      return;
    }
    for (std::int64_t sample = 0; sample < written.shape[0]; ++sample) {
      const std::string place = name_of_group(sample) + "/" + name;
      write_statistics(owned(H5Dopen2(impl_->file.get(), place.c_str(), H5P_DEFAULT), place),
                       written);
    }
  });
}

void DatasetWriter::finish() {
  const auto guard = hdf5::lock();
  impl_->write([&] {
    for (auto& [name, series] : impl_->series) {
      hdf5::close(series.dataset);
    }
    hdf5::close(impl_->file);
  });
  impl_->output.commit();
}

}  // namespace tare
