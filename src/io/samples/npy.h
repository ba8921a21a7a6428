#pragma once

#include "tare/dataset.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tare {

/// Where an array in NumPy's format is: a file, or a part of one.
struct ArrayBytes {
  std::uint64_t size = 0;
  /// Fills the bytes from `offset` on; they are within `size`.
  std::function<void(std::uint64_t offset, std::span<std::byte>)> read;
};

struct NpyHeader {
  DType dtype = DType::kFloat32;  ///< as stored
  Shape shape;                    ///< in row-major order
  std::uint64_t data = 0;         ///< where the elements begin

  /// What elements become: every float type f32.
  DType read_type() const;
};

/// Reads the first bytes only. Throws Error(kInvalidData) with an empty `where` for what is no
/// such array of numbers, lowest byte first, in row-major order, and for one that claims more
/// elements than there are bytes.
NpyHeader read_npy_header(const ArrayBytes&);
/// The same from the first bytes of an array of `size` bytes.
NpyHeader parse_npy_header(std::span<const std::byte> start, std::uint64_t size);
/// An upper bound of the bytes that parse_npy_header() needs.
inline constexpr std::size_t kMostNpyHeader = 1 << 16;

/// How an array is cut into samples of an input.
struct ArrayLayout {
  std::size_t samples = 1;
  Shape sample;
};

/// The first axis counts samples, unless the array has one axis less than the input: then it is
/// one sample. Throws Error(kInvalidData) for no samples, or for empty ones.
ArrayLayout layout_of(const Shape& array, const ModelInput*);

/// Elements [first, first + count) of the header's array, as its read_type(), under `shape`.
Tensor read_elements(const ArrayBytes&, const NpyHeader&, std::uint64_t first, Shape shape);

/// Throws Error(kInvalidData) where samples are beyond those, as of a file that was replaced.
void require_samples(const ArrayLayout&, std::size_t first, std::size_t count);

/// Null where the model has no such input.
const ModelInput* find_input(const std::vector<ModelInput>&, const std::string& name);

}  // namespace tare
