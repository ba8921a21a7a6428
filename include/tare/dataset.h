#pragma once

#include "tare/tensor.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tare {

/// One array per model input, all with the same number of samples along the first dimension.
struct DatasetInput {
  std::string name;
  DType dtype;  ///< after normalization: f32 for integer data that carries mean and std
  Shape shape;  ///< of one sample, without the first dimension
  /// Integers of 8 bits that were divided by a `std` other than 1.
  bool scaled_bytes = false;
};

/// Samples, read in any order from any thread.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::size_t size() const = 0;
  virtual const std::vector<DatasetInput>& inputs() const = 0;
  /// Samples [first, first + count) of the input with that name, as one tensor of shape
  /// [count, ...shape]. Throws Error(kInvalidData), naming sample and position, on NaN or
  /// infinity; Error(kIo) when the file cannot be read.
  virtual Tensor read(const std::string& input, std::size_t first, std::size_t count) const = 0;
  /// One int64 per sample; nothing without labels. Error(kInvalidData): they are others.
  virtual std::optional<std::vector<std::int64_t>> labels() const = 0;
};

/// How an HDF5 file is opened.
struct Hdf5Options {
  /// Reads the structure of the file in a child process first, as the HDF5 library crashes or
  /// hangs on some damaged files, which are then an Error(kInvalidData). For files of unknown
  /// origin: it takes a fork of the process, so nobody makes one who was not asked to.
  bool trial_in_child = false;
};

/// Opens an HDF5 file: one dataset per input, first dimension = sample. Integer datasets with
/// attributes `mean` and `std` (scalar, or one value per channel = axis 1 of the batch) are
/// normalized as (u - mean) / std. `labels` is not an input, and checked by labels() alone.
/// Throws Error(kIo) when it is not a readable HDF5 file, Error(kInvalidData) when it holds no
/// samples, or inputs whose sample counts differ. Reads by hyperslab.
std::unique_ptr<Dataset> open_dataset(const std::filesystem::path&, const Hdf5Options& = {});

/// The samples [first, first + count) of a dataset that has to outlive it, as one of their own.
std::unique_ptr<Dataset> part_of(const Dataset&, std::size_t first, std::size_t count);

/// Of the samples of a dataset, which has to outlive it, `count` that are spread evenly over
/// it: each the middle one of its share.
std::unique_ptr<Dataset> evenly_spaced(const Dataset&, std::size_t count);
/// The others, in their order.
std::unique_ptr<Dataset> without_evenly_spaced(const Dataset&, std::size_t count);

/// Writes one dataset per name, appending along the first dimension; the file appears under its
/// name only when `finish` was called.
class DatasetWriter {
 public:
  explicit DatasetWriter(std::filesystem::path);
  ~DatasetWriter();
  DatasetWriter(const DatasetWriter&) = delete;
  DatasetWriter& operator=(const DatasetWriter&) = delete;
  void append(const std::string& name, const Tensor&);
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tare
