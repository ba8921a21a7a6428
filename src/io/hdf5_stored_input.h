#pragma once

#include "tare/dataset.h"

#include "io/hdf5.h"
#include "io/hdf5_chunks.h"
#include "io/hdf5_links.h"
#include "io/hdf5_sequences.h"
#include "io/normalize.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

namespace tare::hdf5 {

/// One dataset of a file, after it was looked at.
struct StoredInput {
  DatasetInput input;
  DType stored = DType::kFloat32;  ///< what it is read as
  std::size_t samples = 0;
  Handle dataset;
  Normalization normalization;
  Shape chunk;  ///< empty where it is not stored in chunks
  std::int64_t element_bytes = 0;
  /// Where chunks are decoded here; null where the library does.
  std::unique_ptr<const ChunkedRows> rows{};
  /// Where each sample has a length of its own. Nobody else is to read the dataset then.
  std::unique_ptr<const Sequences> sequences{};
};

/// Where a dataset has its samples.
enum class SampleAxis : std::uint8_t {
  kFirst,  ///< they follow each other along the first axis
  kNone,   ///< it is one as a whole
};

// Hold the lock of the library for all but as_input().

/// Throws Error(kInvalidData) for a dataset that holds no numbers, no samples, less than its
/// shape says, samples of more than 4 GiB, or a mean and deviation that do not fit.
StoredInput look_at(NamedDataset, SampleAxis);

/// Where the dataset holds sequences of varying length, what there is to be known of them; else
/// nothing. The shape of the input is that of the longest one.
std::optional<StoredInput> look_at_sequences(const std::filesystem::path&, const NamedDataset&);

/// Has it keep the chunks of one sample, so that reading one after another decompresses no
/// chunk twice: up to 32 MiB, more only where a single row of chunks is larger.
void keep_chunks(const Handle& file, StoredInput&);

/// Throws Error(kInvalidData) unless it has one integer for each sample; it is then read as
/// int64.
void make_labels(StoredInput&);

/// Samples [first, first + count) along the first axis, as they are stored.
Tensor read_rows(const StoredInput&, std::size_t first, std::size_t count);
/// The sample that the dataset is, as [1, ...shape].
Tensor read_sample(const StoredInput&);
/// What the model gets of them.
Tensor as_input(const StoredInput&, Tensor stored);

}  // namespace tare::hdf5
