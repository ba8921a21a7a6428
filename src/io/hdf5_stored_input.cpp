// What is asked of a dataset before its elements are read, and how they are. A damaged file may
// claim anything: sizes are held against what the file has, and bounded.
#include "io/hdf5_stored_input.h"

#include "tare/error.h"

#include "base/truth_values.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tare::hdf5 {
namespace {

constexpr std::int64_t kMaxSampleBytes = std::int64_t{4} << 30;
constexpr std::int64_t kMaxChunkBytes = std::int64_t{1} << 30;

Error invalid(const std::string& what) {
  return {ErrorCode::kInvalidData, "", what};
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

void require_extents(const Shape& shape) {
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
    written = stored_bytes(dataset) / H5Tget_size(type.get());
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

void require_chunks(const Shape& chunk, std::int64_t element_bytes) {
  std::int64_t chunk_bytes = element_bytes;
  for (const std::int64_t extent : chunk) {
    if (extent <= 0 || __builtin_mul_overflow(chunk_bytes, extent, &chunk_bytes) ||
        chunk_bytes > kMaxChunkBytes) {
      throw invalid("chunks of shape " + to_string(chunk) + " have more than 1 GiB");
    }
  }
}

Shape shape_of(const StoredInput& source) {
  Shape shape = source.input.shape;
  shape.insert(shape.begin(), static_cast<std::int64_t>(source.samples));
  return shape;
}

/// How to open a dataset so that its chunk cache has the right size.
Handle access_properties(std::size_t kept) {
  constexpr std::size_t kSlots = 12421;  // prime, and many more than chunks in the cache
  constexpr double kEvictReadFirst = 1;  // samples are read once
  Handle access = owned(H5Pcreate(H5P_DATASET_ACCESS), "access");
  checked(H5Pset_chunk_cache(access.get(), kSlots, kept, kEvictReadFirst), "its chunk cache");
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

Normalization normalization_of(const Handle& dataset, std::int64_t channels) {
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

/// What the elements become, by the attributes of the dataset.
void take_normalization(StoredInput& source, const Handle& dataset, std::int64_t channels) {
  if (is_integer(source.stored)) {
    source.normalization = normalization_of(dataset, channels);
    const std::vector<float>& std = source.normalization.std;
    // Some write a `std` of 1 as the inverse of a rounded factor.
    source.input.scaled_bytes =
        size_of(source.stored) == 1 &&
        std::any_of(std.begin(), std.end(), [](float x) { return std::abs(x - 1) > 0.01F; });
    source.input.mean = source.normalization.mean;
    source.input.std = std;
  }
  source.input.dtype = source.normalization ? DType::kFloat32 : source.stored;
}

/// Converted by HDF5 where the file has another type than is said.
Tensor read_selected(const StoredInput& source, Shape shape, const Handle& memory,
                     const Handle& space, const std::string& what) {
  Tensor result(source.stored, std::move(shape));
  const Handle type = type_of(source.stored);
  checked(H5Dread(source.dataset.get(), type.get(), memory.get(), space.get(), H5P_DEFAULT,
                  result.mutable_data()),
          what);
  return result;
}

}  // namespace

StoredInput look_at(NamedDataset named, SampleAxis axis) {
  StoredInput source;
  source.input.name = std::move(named.name);
  source.dataset = std::move(named.dataset);
  const Handle type = owned(H5Dget_type(source.dataset.get()), "its type");
  source.stored = element_type(type);
  const Handle space = owned(H5Dget_space(source.dataset.get()), "its shape");
  const Shape own = extents(space);
  Shape shape = own;
  if (axis == SampleAxis::kNone) {
    shape.insert(shape.begin(), 1);
  }
  require_extents(shape);
  const Handle properties = owned(H5Dget_create_plist(source.dataset.get()), "its storage");
  source.chunk = chunk_shape(properties, space, own.size());
  source.element_bytes = static_cast<std::int64_t>(H5Tget_size(type.get()));
  require_chunks(source.chunk, source.element_bytes);
  require_written(source.dataset, space, own, source.chunk);
  source.samples = static_cast<std::size_t>(shape[0]);
  source.input.shape.assign(shape.begin() + 1, shape.end());
  take_normalization(source, source.dataset, shape.size() > 1 ? shape[1] : 1);
  return source;
}

std::optional<StoredInput> look_at_sequences(const std::filesystem::path& path,
                                             const NamedDataset& named) {
  const Handle type = owned(H5Dget_type(named.dataset.get()), "its type");
  if (!are_sequences(type)) {
    return std::nullopt;
  }
  StoredInput source;
  source.input.name = named.name;
  source.sequences = std::make_unique<const Sequences>(path, named.dataset);
  source.stored = source.sequences->dtype();
  source.samples = source.sequences->size();
  std::int64_t longest = 0;
  for (std::size_t i = 0; i < source.samples; ++i) {
    longest = std::max(longest, source.sequences->length(i));
  }
  source.input.shape = {longest};
  take_normalization(source, named.dataset, 1);
  return source;
}

void keep_chunks(const Handle& file, StoredInput& source) {
  if (source.chunk.empty()) {
    return;
  }
  const std::size_t kept = cache_bytes(shape_of(source), source.chunk, source.element_bytes);
  source.rows =
      ChunkedRows::of(source.dataset, source.stored, shape_of(source), source.chunk, kept);
  if (source.rows != nullptr) {
    return;
  }
  const Handle access = access_properties(kept);
  source.dataset.close();  // two identifiers would share the cache of the first
  source.dataset =
      owned(H5Dopen2(file.get(), source.input.name.c_str(), access.get()), "cannot be opened");
}

void make_labels(StoredInput& labels) {
  if (!is_integer(labels.stored) || labels.normalization || labels.sequences ||
      element_count(labels.input.shape) != 1) {
    throw invalid("holds " + std::string(name_of(labels.stored)) + " of shape " +
                  to_string(labels.input.shape) + " for each sample")
        .expected("one integer");
  }
  labels.stored = DType::kInt64;
  labels.rows.reset();  // of another type, mostly
}

Tensor read_rows(const StoredInput& source, std::size_t first, std::size_t count) {
  Shape shape = source.input.shape;
  shape.insert(shape.begin(), static_cast<std::int64_t>(count));
  const std::vector<hsize_t> counts(shape.begin(), shape.end());
  std::vector<hsize_t> start(shape.size(), 0);
  start[0] = first;
  const std::string what = "samples " + std::to_string(first) + " to " +
                           std::to_string(first + count - 1) + " cannot be read";
  const Handle space = owned(H5Dget_space(source.dataset.get()), what);
  checked(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, counts.data(),
                              nullptr),
          what);
  const Handle memory =
      owned(H5Screate_simple(static_cast<int>(counts.size()), counts.data(), nullptr), what);
  return read_selected(source, std::move(shape), memory, space, what);
}

Tensor read_sample(const StoredInput& source) {
  Shape shape = source.input.shape;
  shape.insert(shape.begin(), 1);
  const Handle space = owned(H5Dget_space(source.dataset.get()), "its shape");
  return read_selected(source, std::move(shape), space, space, "cannot be read");
}

Tensor as_input(const StoredInput& source, Tensor stored) {
  if (source.normalization) {
    return normalize(stored, source.normalization);
  }
  if (stored.dtype() == DType::kBool) {
    make_truth_values({stored.mutable_data(), stored.byte_size()});
  }
  return stored;
}

}  // namespace tare::hdf5
