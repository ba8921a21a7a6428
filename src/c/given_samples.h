#pragma once

#include "tare/dataset.h"
#include "tare/error.h"

#include "c/array.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tare::c {

constexpr const char* kLabels = "labels";

/// What all samples from the caller share: what is asked of their arrays, and of what is read.
class GivenSamples : public Dataset {
 public:
  std::size_t size() const override { return count_; }
  const std::vector<DatasetInput>& inputs() const override { return inputs_; }
  bool has_several_shapes() const override { return several_shapes_; }
  Tensor read(const std::string& input, std::size_t first, std::size_t count) const override;
  std::optional<std::vector<std::int64_t>> labels() const override;

 protected:
  GivenSamples(std::size_t count, std::vector<DatasetInput> inputs)
      : count_(count), inputs_(std::move(inputs)) {}
  /// Of that sample, without the first dimension.
  virtual const Shape& shape_of(std::size_t input, std::size_t) const {
    return inputs_[input].shape;
  }
  /// Writes those samples of the input of that index in row-major order.
  virtual void fetch(std::size_t input, std::size_t first, std::size_t count,
                     std::byte* out) const = 0;

  std::size_t count_;
  std::vector<DatasetInput> inputs_;  ///< with the shapes of the largest sample
  bool several_shapes_ = false;
  std::optional<std::vector<std::int64_t>> labels_;
  std::optional<Error> labels_fault_;
};

/// The arrays of some samples, sorted by name and looked at: every input has as many.
struct Piece {
  std::size_t samples = 0;
  std::vector<Array> inputs;
  std::optional<std::vector<std::int64_t>> labels;
  /// What is wrong with the labels, for those who need them.
  std::optional<Error> labels_fault;

  /// Throws Error(kInvalidData) with all that is wrong.
  explicit Piece(std::vector<Array> arrays);
  std::vector<DatasetInput> described() const;
};

}  // namespace tare::c
