#pragma once

#include "tare/dataset.h"

#include "io/hdf5.h"
#include "io/hdf5_links.h"
#include "io/normalize.h"

#include <cstddef>
#include <cstdint>

namespace tare::hdf5 {

/// One dataset of a file, after it was looked at.
struct Source {
  DatasetInput input;
  DType stored = DType::kFloat32;  ///< what it is read as
  std::size_t samples = 0;
  Handle dataset;
  Normalization normalization;
  Shape chunk;  ///< empty where it is not stored in chunks
  std::int64_t element_bytes = 0;
};

/// Where a dataset has its samples.
enum class SampleAxis : std::uint8_t {
  kFirst,  ///< they follow each other along the first axis
  kNone,   ///< it is one as a whole
};

// Hold the lock of the library for all but as_input().

/// Throws Error(kInvalidData) for a dataset that holds no numbers, no samples, less than its
/// shape says, samples of more than 4 GiB, or a mean and deviation that do not fit.
Source look_at(NamedDataset, SampleAxis);

/// Opens it again with a cache that holds the chunks of one sample, so that reading one after
/// another decompresses no chunk twice: up to 32 MiB, more only where a single row of chunks is
/// larger.
void keep_chunks(const Handle& file, Source&);

/// Throws Error(kInvalidData) unless it has one integer for each sample; it is then read as
/// int64.
void make_labels(Source&);

/// Samples [first, first + count) along the first axis, as they are stored.
Tensor read_rows(const Source&, std::size_t first, std::size_t count);
/// The sample that the dataset is, as [1, ...shape].
Tensor read_sample(const Source&);
/// What the model gets of them.
Tensor as_input(const Source&, Tensor stored);

}  // namespace tare::hdf5
