// Pieces of samples from the caller, which have to be alike but for their number of samples and
// the extents of these. Whether the model takes such extents is asked when it does.
#include "c/pieced_samples.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace tare::c {
namespace {

std::string input_text(const DatasetInput& input) {
  return std::string(name_of(input.dtype)) + to_string(input.shape);
}

std::int64_t elements_in(const std::vector<Shape>& shapes) {
  std::int64_t elements = 0;
  for (const Shape& shape : shapes) {
    elements += element_count(shape);
  }
  return elements;
}

std::vector<Shape> shapes_of(const std::vector<DatasetInput>& inputs) {
  std::vector<Shape> shapes;
  for (const DatasetInput& input : inputs) {
    shapes.push_back(input.shape);
  }
  return shapes;
}

}  // namespace

std::size_t sample_bytes(DType dtype, const Shape& shape) {
  return static_cast<std::size_t>(element_count(shape)) * size_of(dtype);
}

void PiecedSamples::take(const Piece& piece) {
  const std::vector<DatasetInput> inputs = piece.described();
  if (count_ == 0) {
    inputs_ = inputs;
    labels_ =
        piece.labels ? std::optional<std::vector<std::int64_t>>(std::in_place) : std::nullopt;
  }
  require_alike(inputs);
  if (piece.samples == 0) {
    return;
  }
  take_shapes(inputs);
  take_labels(piece);
  count_ += piece.samples;
}

void PiecedSamples::require_alike(const std::vector<DatasetInput>& inputs) const {
  const auto place = "samples from " + std::to_string(count_) + " on";
  Faults faults;
  for (const DatasetInput& known : inputs_) {
    const auto found =
        std::find_if(inputs.begin(), inputs.end(),
                     [&](const DatasetInput& input) { return input.name == known.name; });
    if (found == inputs.end()) {
      faults.add(place, "input '" + known.name + "' is missing");
    } else if (found->dtype != known.dtype || found->shape.size() != known.shape.size()) {
      faults.add(place, "input '" + known.name + "' is " + input_text(*found),
                 input_text(known) + " as in those before");
    }
  }
  for (const DatasetInput& input : inputs) {
    if (std::none_of(inputs_.begin(), inputs_.end(),
                     [&](const DatasetInput& known) { return known.name == input.name; })) {
      faults.add(place, "input '" + input.name + "' is not in those before");
    }
  }
  faults.raise(ErrorCode::kInvalidData);
}

void PiecedSamples::take_shapes(const std::vector<DatasetInput>& inputs) {
  std::vector<Shape> shapes = shapes_of(inputs);
  if (!runs_.empty() && runs_.back().shapes == shapes) {
    return;
  }
  std::vector<std::size_t> before(inputs.size(), 0);
  for (std::size_t i = 0; !runs_.empty() && i < inputs.size(); ++i) {
    before[i] = bytes_before(i, count_);
  }
  if (elements_in(shapes) > elements_in(shapes_of(inputs_))) {
    inputs_ = inputs;
  }
  runs_.push_back(
      {.first = count_, .shapes = std::move(shapes), .bytes_before = std::move(before)});
  several_shapes_ = runs_.size() > 1;
}

void PiecedSamples::take_labels(const Piece& piece) {
  if (piece.labels_fault && !labels_fault_) {
    labels_fault_ = piece.labels_fault;
  } else if (piece.labels.has_value() != labels_.has_value() && !labels_fault_) {
    labels_fault_ =
        Error(ErrorCode::kInvalidData, "samples from " + std::to_string(count_) + " on",
              piece.labels ? "have labels, those before have none"
                           : "have no labels, those before have some");
  } else if (piece.labels && labels_) {
    labels_->insert(labels_->end(), piece.labels->begin(), piece.labels->end());
  }
}

const PiecedSamples::Run& PiecedSamples::run_of(std::size_t sample) const {
  const auto next =
      std::upper_bound(runs_.begin(), runs_.end(), sample,
                       [](std::size_t wanted, const Run& run) { return wanted < run.first; });
  return *std::prev(next);
}

const Shape& PiecedSamples::shape_of(std::size_t input, std::size_t sample) const {
  return run_of(sample).shapes[input];
}

std::size_t PiecedSamples::bytes_before(std::size_t input, std::size_t sample) const {
  const Run& run = run_of(sample);
  return run.bytes_before[input] +
         (sample - run.first) * sample_bytes(inputs_[input].dtype, run.shapes[input]);
}

}  // namespace tare::c
