// Writes results sample by sample to datasets that grow along their first axis, in chunks. A
// chunk is filled in the library's cache before it is written, so each is written once,
// whatever the size of a batch.
#include "tare/dataset.h"
#include "tare/error.h"

#include "base/check.h"
#include "io/hdf5_output.h"

#include <algorithm>
#include <map>
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
  Handle dataset;
  DType dtype = DType::kFloat32;
  Shape shape;  ///< of everything written so far
};

void extend(Series& series, const std::string& name, const Tensor& batch) {
  const std::string what = "dataset '" + name + "' cannot be written";
  std::vector<hsize_t> start(batch.shape().size(), 0);
  start[0] = static_cast<hsize_t>(series.shape[0]);
  series.shape[0] += batch.shape()[0];
  checked(H5Dset_extent(series.dataset.get(), sizes(series.shape).data()), what);
  const Handle space = owned(H5Dget_space(series.dataset.get()), what);
  const std::vector<hsize_t> count = sizes(batch.shape());
  checked(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(),
                              nullptr),
          what);
  const Handle memory =
      owned(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), what);
  const Handle type = hdf5::type_of(batch.dtype());
  checked(H5Dwrite(series.dataset.get(), type.get(), memory.get(), space.get(), H5P_DEFAULT,
                   batch.data()),
          what);
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

  OutputFile output;
  Handle file;
  std::map<std::string, Series> series;
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
  impl_->write([&] {
    auto found = impl_->series.find(name);
    if (found == impl_->series.end()) {
      Series series{create(impl_->file, name, batch), batch.dtype(), batch.shape()};
      series.shape[0] = 0;
      found = impl_->series.emplace(name, std::move(series)).first;
    }
    const Shape& so_far = found->second.shape;
    check(found->second.dtype == batch.dtype(), "results of one name differ in type");
    if (so_far.size() != batch.shape().size() ||
        !std::equal(so_far.begin() + 1, so_far.end(), batch.shape().begin() + 1)) {
      const auto sample = [](const Shape& shape) {
        return to_string(Shape(shape.begin() + 1, shape.end()));
      };
      throw Error(ErrorCode::kUnsupported, "'" + name + "'",
                  "has shape " + sample(batch.shape()) + " after others of " + sample(so_far))
          .expected("one shape for all samples, as an HDF5 dataset has one");
    }
    extend(found->second, name, batch);
  });
}

void DatasetWriter::normalize(const std::string& name, std::span<const float> mean,
                              std::span<const float> std) {
  const auto guard = hdf5::lock();
  impl_->write([&] {
    const auto found = impl_->series.find(name);
    check(found != impl_->series.end(), "attributes of a name under which nothing was written");
    for (const auto& [attribute, values] : {std::pair("mean", mean), std::pair("std", std)}) {
      write_attribute(found->second.dataset, attribute, values);
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
