#pragma once

#include "c/given_samples.h"

#include <cstddef>
#include <vector>

namespace tare::c {

/// The bytes of one sample.
std::size_t sample_bytes(DType, const Shape&);

/// Samples that come in pieces, each of as many samples of one shape as it likes. What is
/// remembered of a piece grows with the number of times that the shape changes.
class PiecedSamples : public GivenSamples {
 protected:
  PiecedSamples() : GivenSamples(0, {}) {}

  /// Counts the samples of another piece. Throws Error(kInvalidData) where its inputs, their
  /// types or their ranks are others than before.
  void take(const Piece&);

  const Shape& shape_of(std::size_t input, std::size_t sample) const override;
  /// Of an input, in all samples before that one.
  std::size_t bytes_before(std::size_t input, std::size_t sample) const;

 private:
  /// Samples of one shape that follow each other.
  struct Run {
    std::size_t first = 0;
    std::vector<Shape> shapes;              ///< of each input
    std::vector<std::size_t> bytes_before;  ///< of each input, in all samples before them
  };

  void require_alike(const std::vector<DatasetInput>&) const;
  void take_shapes(const std::vector<DatasetInput>&);
  void take_labels(const Piece&);
  const Run& run_of(std::size_t sample) const;

  std::vector<Run> runs_;
};

}  // namespace tare::c
