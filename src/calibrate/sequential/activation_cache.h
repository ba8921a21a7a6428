#pragma once

#include "tare/execute.h"

#include "base/scratch_file.h"
#include "calibrate/sequential/record_memory.h"

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace tare {

/// A value that is cached until later levels read it.
struct CachedActivation {
  ValueId value;
  TensorType type;  ///< with quant: storage values in float32, which are kept in that storage
  bool channels_last = false;
};

/// Where nothing is said, the caches may have what so many samples take, so that memory does
/// not grow with the samples beyond these.
constexpr std::size_t kUsualSamples = 64;
/// How much memory each of the two caches of a step may have, the one that is read and the one
/// that is written: half of `asked`, or where that is 0, the bytes that kUsualSamples take in
/// one, 8 MiB at least, and at most a sixteenth of available_memory().
std::size_t memory_of_each_cache(std::size_t asked, std::size_t usual);

/// The cached activations of every run of the data, one record each. Records that exceed
/// `memory` bytes are spilled to a temporary file.
class ActivationCache {
 public:
  /// Spills to `file`, whatever is in it, or where it is null to a new one. Where runs have
  /// `several_shapes`, those of `values` are about as large as any.
  ActivationCache(std::vector<CachedActivation> values, std::size_t runs, std::size_t memory,
                  std::unique_ptr<ScratchFile> file = {}, bool several_shapes = false);

  /// What such records take.
  static std::size_t bytes(const std::vector<CachedActivation>& values, std::size_t runs);

  const std::vector<CachedActivation>& values() const { return values_; }
  // May be called for different runs at once:
  void write(std::size_t run, std::size_t index, const TensorView&);
  /// Gives the result another shape where that of the run is another one. What needs no
  /// conversion is not copied: the result shares the bytes of the cache.
  void read(std::size_t run, std::size_t index, Tensor& result) const;
  /// The run is not read any more. What is written next, to whichever cache, takes its memory,
  /// when no result of read() has it: pages that are there already need not be made and
  /// cleared.
  void release(std::size_t run);

  /// For another cache, when this one is not read any more.
  std::unique_ptr<ScratchFile> take_file() { return std::move(file_); }

 private:
  /// One value of one run, where runs have several shapes.
  struct Entry {
    Shape shape;
    RecordMemory::Record memory;
    std::size_t offset = 0;  ///< in the file, where it is not in memory
  };
  /// Where a value is: in memory, or where that is null, in the file.
  struct Place {
    RecordMemory::Record memory;
    std::size_t offset = 0;
  };
  Place place_of(std::size_t run, std::size_t index) const;
  Place new_place(std::size_t run, std::size_t index, const TensorType&);
  TensorType type_of(std::size_t index, const Shape&) const;

  std::vector<CachedActivation> values_;
  std::vector<std::size_t> offsets_;  ///< in a record
  std::size_t record_ = 0;            ///< bytes
  RecordMemory memory_;
  /// Of the first runs; those of the others are in the file.
  std::vector<RecordMemory::Record> records_;
  std::unique_ptr<ScratchFile> file_;
  // Of runs of several shapes, whose entries follow each other as they come.
  std::vector<Entry> entries_;  ///< by run and value; empty where all have one shape
  std::unique_ptr<std::mutex> mutex_;
  std::size_t memory_left_ = 0;
  std::size_t file_used_ = 0;
};

}  // namespace tare
