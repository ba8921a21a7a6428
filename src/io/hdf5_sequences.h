#pragma once

#include "tare/dataset.h"

#include "base/input_file.h"
#include "io/hdf5.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tare::hdf5 {

/// Whether elements of that type are sequences of varying length, as `h5py.vlen_dtype` makes.
bool are_sequences(const Handle& type);

/// The elements of a dataset of one axis that are sequences of numbers, each of its own length.
/// They are found in the file without the library, which believes what a damaged one says of
/// their sizes.
class Sequences {
 public:
  /// Hold the lock of the library. Throws Error(kInvalidData) for other datasets, filters that
  /// are not read here, sequences without elements, and those that the file does not hold.
  Sequences(const std::filesystem::path&, const Handle& dataset);

  std::size_t size() const { return found_.size(); }
  DType dtype() const { return dtype_; }
  std::int64_t length(std::size_t index) const {
    return static_cast<std::int64_t>(found_[index].length);
  }
  /// As [1, length]. Takes the lock of the library.
  Tensor read(std::size_t index) const;

 private:
  struct Sequence {
    std::uint64_t place = 0;  ///< of its heap, then of its elements in the file
    std::uint32_t object = 0;
    std::uint32_t length = 0;
  };
  struct Heap;

  void take_references(const Handle& dataset, std::size_t count);
  void find_elements();
  Heap open_heap(std::uint64_t place) const;
  void find_in(const Heap&, const std::vector<Sequence*>&) const;

  InputFile file_;
  std::uint64_t base_ = 0;  ///< what addresses begin at
  Handle stored_;           ///< type of an element
  std::uint64_t element_bytes_ = 0;
  DType dtype_ = DType::kFloat32;
  std::vector<Sequence> found_;
};

}  // namespace tare::hdf5
