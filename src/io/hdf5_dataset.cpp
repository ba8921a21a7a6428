// Samples in an HDF5 file. Opening reads the structure only, in a child process first where
// that is asked for (hdf5_trial.cpp); samples are read as slices of the first axis. The chunk
// cache of each dataset is as large as the chunks that one sample touches, so that reading one
// sample after another decompresses no chunk twice. Memory: that cache, up to 32 MiB for each
// input, more only where a single row of chunks is larger.
#include "tare/dataset.h"
#include "tare/error.h"

#include "base/check.h"
#include "base/files.h"
#include "io/hdf5.h"
#include "io/hdf5_links.h"
#include "io/hdf5_trial.h"
#include "io/normalize.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tare {
namespace {

using hdf5::checked;
using hdf5::Handle;
using hdf5::owned;

constexpr std::int64_t kMaxSampleBytes = std::int64_t{4} << 30;
constexpr std::int64_t kMaxChunkBytes = std::int64_t{1} << 30;

Error invalid(const std::string& what) {
  return {ErrorCode::kInvalidData, "", what};
}

/// One dataset of the file.
struct Source {
  DatasetInput input;
  DType stored = DType::kFloat32;
  std::size_t samples = 0;
  Handle dataset;
  Normalization normalization;
};

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

Shape checked_extents(const Handle& space) {
  Shape shape = hdf5::extents(space);
  if (shape.empty()) {
    throw invalid("holds a single value").expected("samples along the first dimension");
  }
  if (shape[0] == 0) {
    throw invalid("holds no samples");
  }
  std::int64_t bytes = sizeof(double);
  for (std::size_t axis = 1; axis < shape.size(); ++axis) {
    if (shape[axis] == 0) {
      throw invalid("samples of shape " + to_string(shape) + " have no elements");
    }
    if (shape[axis] < 0 || __builtin_mul_overflow(bytes, shape[axis], &bytes) ||
        bytes > kMaxSampleBytes) {
      throw invalid("one sample of shape " + to_string(shape) + " has more than 4 GiB");
    }
  }
  return shape;
}

/// Chunk extents, or nothing when the dataset is not stored in chunks. HDF5 reads beyond its
/// memory where a damaged file claims chunks that are larger than those it holds.
Shape chunk_shape(const Handle& properties, const Handle& space, std::size_t rank) {
  if (H5Pget_layout(properties.get()) != H5D_CHUNKED) {
    return {};
  }
  std::vector<hsize_t> chunk(rank);
  std::vector<hsize_t> limits(rank);
  checked(H5Pget_chunk(properties.get(), static_cast<int>(rank), chunk.data()), "its chunks");
  checked(H5Sget_simple_extent_dims(space.get(), nullptr, limits.data()), "its shape");
  Shape result(chunk.begin(), chunk.end());
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (limits[axis] != H5S_UNLIMITED && chunk[axis] > limits[axis]) {
      throw invalid("chunks of shape " + to_string(result) + " are larger than the dataset");
    }
  }
  return result;
}

/// A file may claim more samples than were ever written; HDF5 would make zeros of them.
void require_written(const Handle& dataset, const Handle& space, const Shape& shape,
                     const Shape& chunk) {
  std::int64_t wanted = 1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::int64_t pieces =
        chunk.empty() ? shape[axis] : ceil_div(shape[axis], chunk[axis]);
    if (__builtin_mul_overflow(wanted, pieces, &wanted)) {
      throw invalid("shape " + to_string(shape) + " is beyond any file");
    }
  }
  hsize_t written = 0;
  if (chunk.empty()) {
    const Handle type = owned(H5Dget_type(dataset.get()), "its type");
    written = hdf5::stored_bytes(dataset) / H5Tget_size(type.get());
  } else {
    checked(H5Dget_num_chunks(dataset.get(), space.get(), &written), "its chunks");
  }
  if (static_cast<std::int64_t>(written) != wanted) {
    throw invalid("holds " + std::to_string(written) +
                  (chunk.empty() ? " elements" : " chunks") + " where its shape " +
                  to_string(shape) + " has " + std::to_string(wanted));
  }
}

/// Enough to keep every chunk that a sample touches, twice for threads at a boundary, so that
/// reading sample by sample decompresses no chunk again. Chunks that HDF5 must hold in memory
/// to decompress may be kept beyond the 32 MiB.
std::size_t cache_bytes(const Shape& shape, const Shape& chunk, std::int64_t element_bytes) {
  std::int64_t row = element_bytes;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    row *= axis == 0 ? chunk[0] : ceil_div(shape[axis], chunk[axis]) * chunk[axis];
  }
  const std::int64_t usual = std::clamp<std::int64_t>(2 * row, 1 << 20, 32 << 20);
  return static_cast<std::size_t>(std::max(usual, std::min<std::int64_t>(row, 256 << 20)));
}

/// How to open a dataset so that its chunk cache has the right size.
Handle access_properties(const Shape& shape, const Shape& chunk, std::int64_t element_bytes) {
  std::int64_t chunk_bytes = element_bytes;
  for (const std::int64_t extent : chunk) {
    if (extent <= 0 || __builtin_mul_overflow(chunk_bytes, extent, &chunk_bytes) ||
        chunk_bytes > kMaxChunkBytes) {
      throw invalid("chunks of shape " + to_string(chunk) + " have more than 1 GiB");
    }
  }
  constexpr std::size_t kSlots = 12421;  // prime, and many more than chunks in the cache
  constexpr double kEvictReadFirst = 1;  // samples are read once
  Handle access = owned(H5Pcreate(H5P_DATASET_ACCESS), "access");
  checked(H5Pset_chunk_cache(access.get(), kSlots, cache_bytes(shape, chunk, element_bytes),
                             kEvictReadFirst),
          "its chunk cache");
  return access;
}

/// Empty when there is no such attribute.
std::vector<float> statistic(const Handle& dataset, const char* name, std::int64_t channels) {
  if (checked(H5Aexists(dataset.get(), name), name) == 0) {
    return {};
  }
  const std::string attribute_name = std::string("attribute '") + name + "'";
  const Handle attribute = owned(H5Aopen(dataset.get(), name, H5P_DEFAULT), attribute_name);
  const Handle type = owned(H5Aget_type(attribute.get()), attribute_name);
  const H5T_class_t type_class = H5Tget_class(type.get());
  if (type_class != H5T_FLOAT && type_class != H5T_INTEGER) {
    throw invalid(attribute_name + " is not numeric");
  }
  const Handle space = owned(H5Aget_space(attribute.get()), attribute_name);
  const hssize_t count = checked(H5Sget_simple_extent_npoints(space.get()), attribute_name);
  if (count != 1 && count != channels) {
    throw invalid(attribute_name + " has " + std::to_string(count) + " values")
        .expected(channels > 1 ? "1 or " + std::to_string(channels) : "1");
  }
  std::vector<float> values(static_cast<std::size_t>(count));
  checked(H5Aread(attribute.get(), H5T_NATIVE_FLOAT, values.data()), attribute_name);
  if (!std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); })) {
    throw invalid(attribute_name + " is not finite");
  }
  return values;
}

Normalization normalization_of(const Handle& dataset, const Shape& shape) {
  const std::int64_t channels = shape.size() > 1 ? shape[1] : 1;
  Normalization result{.mean = statistic(dataset, "mean", channels),
                       .std = statistic(dataset, "std", channels)};
  if (result.mean.empty() != result.std.empty()) {
    throw invalid(result.std.empty() ? "attribute 'mean' without 'std'"
                                     : "attribute 'std' without 'mean'");
  }
  if (std::any_of(result.std.begin(), result.std.end(), [](float x) { return x <= 0; })) {
    throw invalid("attribute 'std' is not above 0");
  }
  return result;
}

Source describe(const Handle& file, hdf5::NamedDataset named) {
  Source source;
  source.input.name = std::move(named.name);
  source.dataset = std::move(named.dataset);
  const Handle type = owned(H5Dget_type(source.dataset.get()), "its type");
  source.stored = hdf5::element_type(type);
  const Handle space = owned(H5Dget_space(source.dataset.get()), "its shape");
  const Shape shape = checked_extents(space);
  const Handle properties = owned(H5Dget_create_plist(source.dataset.get()), "its storage");
  const Shape chunk = chunk_shape(properties, space, shape.size());
  if (!chunk.empty()) {
    const auto element_bytes = static_cast<std::int64_t>(H5Tget_size(type.get()));
    const Handle access = access_properties(shape, chunk, element_bytes);
    source.dataset.close();  // two identifiers would share the cache of the first
    source.dataset = owned(H5Dopen2(file.get(), source.input.name.c_str(), access.get()),
                           "cannot be opened");
  }
  require_written(source.dataset, space, shape, chunk);
  if (is_integer(source.stored)) {
    source.normalization = normalization_of(source.dataset, shape);
    const std::vector<float>& std = source.normalization.std;
    // Some write a `std` of 1 as the inverse of a rounded factor.
    source.input.scaled_bytes =
        size_of(source.stored) == 1 &&
        std::any_of(std.begin(), std.end(), [](float x) { return std::abs(x - 1) > 0.01F; });
    source.input.mean = source.normalization.mean;
    source.input.std = std;
  }
  source.samples = static_cast<std::size_t>(shape[0]);
  source.input.shape.assign(shape.begin() + 1, shape.end());
  source.input.dtype = source.normalization ? DType::kFloat32 : source.stored;
  return source;
}

struct Contents {
  Handle file;
  std::vector<Source> sources;
  std::optional<Source> labels;
  /// What is wrong with the labels, for those who need them.
  std::optional<Error> labels_fault;
};

void require_labels(const Source& labels) {
  if (!is_integer(labels.stored) || labels.normalization ||
      element_count(labels.input.shape) != 1) {
    throw invalid("holds " + std::string(name_of(labels.stored)) + " of shape " +
                  to_string(labels.input.shape) + " for each sample")
        .expected("one integer");
  }
}

void read_labels(hdf5::NamedDataset named, Contents& contents) {
  try {
    Source source = describe(contents.file, std::move(named));
    require_labels(source);
    contents.labels = std::move(source);
  } catch (Error& error) {
    contents.labels_fault = error;
  }
}

Contents read_contents(const std::filesystem::path& path) {
  Contents contents;
  contents.file =
      owned(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), "is not a readable HDF5 file");
  Faults faults;
  for (hdf5::NamedDataset& named : hdf5::datasets(contents.file)) {
    if (named.name == "labels") {
      read_labels(std::move(named), contents);
      continue;
    }
    const std::string place = "input '" + named.name + "'";
    try {
      contents.sources.push_back(describe(contents.file, std::move(named)));
    } catch (const Error& error) {
      for (const Fault& fault : error.faults()) {
        faults.add(place, fault.what, fault.expected);
      }
    }
  }
  faults.raise(ErrorCode::kInvalidData);
  return contents;
}

void require_equal_counts(Contents& contents) {
  if (contents.sources.empty()) {
    throw invalid("holds no inputs").expected("one dataset per model input");
  }
  const Source& first = contents.sources.front();
  const auto found = [](const Source& source) {
    return "holds " + std::to_string(source.samples) + " samples";
  };
  const std::string wanted =
      std::to_string(first.samples) + " as in '" + first.input.name + "'";
  Faults faults;
  for (const Source& source : contents.sources) {
    if (source.samples != first.samples) {
      faults.add("dataset '" + source.input.name + "'", found(source), wanted);
    }
  }
  faults.raise(ErrorCode::kInvalidData);
  if (contents.labels && contents.labels->samples != first.samples) {
    contents.labels_fault = invalid(found(*contents.labels)).expected(wanted);
  }
}

/// Samples [first, first + count) as `dtype`, converted by HDF5 where the file has another
/// type.
Tensor read_stored(const Source& source, DType dtype, std::size_t first, std::size_t count) {
  Shape shape = source.input.shape;
  shape.insert(shape.begin(), static_cast<std::int64_t>(count));
  std::vector<hsize_t> counts(shape.begin(), shape.end());
  std::vector<hsize_t> start(shape.size(), 0);
  start[0] = first;
  Tensor result(dtype, std::move(shape));

  const auto guard = hdf5::lock();
  const std::string what = "samples " + std::to_string(first) + " to " +
                           std::to_string(first + count - 1) + " cannot be read";
  const Handle space = owned(H5Dget_space(source.dataset.get()), what);
  checked(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, counts.data(),
                              nullptr),
          what);
  const Handle memory =
      owned(H5Screate_simple(static_cast<int>(counts.size()), counts.data(), nullptr), what);
  const Handle type = hdf5::type_of(dtype);
  checked(H5Dread(source.dataset.get(), type.get(), memory.get(), space.get(), H5P_DEFAULT,
                  result.mutable_data()),
          what);
  return result;
}

/// Other programs may store any byte as a truth value; in C++ only 0 and 1 are some.
void make_truth_values(Tensor& tensor) {
  auto* bytes = reinterpret_cast<std::uint8_t*>(tensor.mutable_data());
  std::transform(bytes, bytes + tensor.byte_size(), bytes,
                 [](std::uint8_t x) { return static_cast<std::uint8_t>(x != 0); });
}

class Hdf5Dataset final : public Dataset {
 public:
  Hdf5Dataset(std::filesystem::path path, Contents contents)
      : path_(std::move(path)), contents_(std::move(contents)) {
    for (const Source& source : contents_.sources) {
      inputs_.push_back(source.input);
    }
  }
  ~Hdf5Dataset() override {
    const auto guard = hdf5::lock();
    contents_ = {};
  }
  Hdf5Dataset(const Hdf5Dataset&) = delete;
  Hdf5Dataset& operator=(const Hdf5Dataset&) = delete;

  std::size_t size() const override { return contents_.sources.front().samples; }
  const std::vector<DatasetInput>& inputs() const override { return inputs_; }

  Tensor read(const std::string& input, std::size_t first, std::size_t count) const override
      try {
    check(count <= size() && first <= size() - count, "samples beyond the end of the data");
    const Source& source = find(input);
    Tensor result = read_stored(source, source.stored, first, count);
    if (source.normalization) {
      result = normalize(result, source.normalization);
    }
    if (result.dtype() == DType::kBool) {
      make_truth_values(result);
    }
    if (result.dtype() == DType::kFloat32) {
      require_finite(result, input, first);
    }
    return result;
  } catch (Error& error) {
    error.at(path_.string());
    throw;
  }

  std::optional<std::vector<std::int64_t>> labels() const override try {
    if (contents_.labels_fault) {
      throw Error(*contents_.labels_fault);
    }
    if (!contents_.labels) {
      return std::nullopt;
    }
    return read_stored(*contents_.labels, DType::kInt64, 0, size()).to_int64();
  } catch (Error& error) {
    error.at("dataset 'labels'").at(path_.string());
    throw;
  }

 private:
  const Source& find(const std::string& input) const {
    const auto found = std::find_if(contents_.sources.begin(), contents_.sources.end(),
                                    [&](const Source& s) { return s.input.name == input; });
    if (found == contents_.sources.end()) {
      throw Error(ErrorCode::kInvalidData, "", "no dataset '" + input + "'");
    }
    return *found;
  }

  std::filesystem::path path_;
  Contents contents_;
  std::vector<DatasetInput> inputs_;
};

}  // namespace

std::unique_ptr<Dataset> open_dataset(const std::filesystem::path& path,
                                      const Hdf5Options& options) {
  require_readable(path, "an HDF5 file with one dataset for each input of the model");
  const auto guard = hdf5::lock();
  try {
    Contents contents = hdf5::read_with(options, [&] { return read_contents(path); });
    require_equal_counts(contents);
    return std::make_unique<Hdf5Dataset>(path, std::move(contents));
  } catch (Error& error) {
    error.at(path.string());
    throw;
  }
}

}  // namespace tare
