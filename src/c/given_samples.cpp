// What is asked of samples that the caller has in memory, as of those in files.
#include "c/given_samples.h"

#include "base/truth_values.h"
#include "io/normalize.h"

#include <algorithm>
#include <utility>

namespace tare::c {
namespace {

std::string input_name(const std::string& name) {
  return "input '" + name + "'";
}

/// One integer for each sample, of whatever integer type and as [n] or [n,1].
std::vector<std::int64_t> read_labels(const Array& array, std::size_t samples) {
  const auto fault = [](const std::string& what) {
    return Error(ErrorCode::kInvalidData, std::string("array '") + kLabels + "'", what);
  };
  const auto count = static_cast<std::int64_t>(samples);
  if (!is_integer(array.dtype) || array.shape.empty() ||
      element_count(array.shape) != array.shape[0]) {
    throw fault("is " + std::string(name_of(array.dtype)) + " of shape " +
                to_string(array.shape))
        .expected("one integer for each sample");
  }
  if (array.shape[0] != count) {
    throw fault("holds " + std::to_string(array.shape[0]) + " samples")
        .expected(std::to_string(samples));
  }
  Tensor labels(array.dtype, {count});
  copy_rows(array, 0, samples, labels.mutable_data());
  return labels.to_int64();
}

}  // namespace

Piece::Piece(std::vector<Array> arrays) : inputs(std::move(arrays)) {
  std::sort(inputs.begin(), inputs.end(),
            [](const Array& a, const Array& b) { return a.name < b.name; });
  Faults faults;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Array& array = inputs[i];
    if (array.name.empty()) {
      faults.add("samples", "an array has no name", "that of an input");
    } else if (i > 0 && inputs[i - 1].name == array.name) {
      faults.add(input_name(array.name), "is given twice");
    } else if (array.shape.empty()) {
      faults.add(input_name(array.name), "is a scalar",
                 "an array whose first dimension is the sample");
    }
  }
  faults.raise(ErrorCode::kInvalidData);
  std::optional<Array> given;
  const auto label = std::find_if(inputs.begin(), inputs.end(),
                                  [](const Array& array) { return array.name == kLabels; });
  if (label != inputs.end()) {
    given = *label;
    inputs.erase(label);
  }
  if (inputs.empty()) {
    throw Error(ErrorCode::kInvalidData, "samples", "hold no inputs")
        .expected("one array for each input of the model");
  }
  samples = static_cast<std::size_t>(inputs[0].shape[0]);
  for (const Array& array : inputs) {
    if (array.shape[0] != inputs[0].shape[0]) {
      faults.add(input_name(array.name), "holds " + std::to_string(array.shape[0]) + " samples",
                 std::to_string(samples) + " as in '" + inputs[0].name + "'");
    }
  }
  faults.raise(ErrorCode::kInvalidData);
  if (given) {
    try {
      labels = read_labels(*given, samples);
    } catch (Error& error) {
      labels_fault = error;
    }
  }
}

std::vector<DatasetInput> Piece::described() const {
  std::vector<DatasetInput> result;
  for (const Array& array : inputs) {
    result.push_back({.name = array.name,
                      .dtype = array.dtype,
                      .shape = {array.shape.begin() + 1, array.shape.end()}});
  }
  return result;
}

Tensor GivenSamples::read(const std::string& input, std::size_t first,
                          std::size_t count) const {
  const auto found =
      std::find_if(inputs_.begin(), inputs_.end(),
                   [&](const DatasetInput& known) { return known.name == input; });
  if (found == inputs_.end()) {
    throw Error(ErrorCode::kInvalidData, "samples", "no input '" + input + "'");
  }
  if (count > count_ || first > count_ - count) {
    throw Error(ErrorCode::kInternal, input_name(input), "samples beyond the end of the data");
  }
  if (several_shapes_ && count > 1) {
    throw Error(ErrorCode::kInternal, input_name(input), "shapes of several samples at once");
  }
  const auto index = static_cast<std::size_t>(found - inputs_.begin());
  Shape shape = count == 0 ? found->shape : shape_of(index, first);
  shape.insert(shape.begin(), static_cast<std::int64_t>(count));
  Tensor result(found->dtype, std::move(shape));
  fetch(index, first, count, result.mutable_data());
  if (result.dtype() == DType::kBool) {
    make_truth_values({result.mutable_data(), result.byte_size()});
  }
  if (result.dtype() == DType::kFloat32) {
    require_finite(result, input, first);
  }
  return result;
}

std::optional<std::vector<std::int64_t>> GivenSamples::labels() const {
  if (labels_fault_) {
    throw Error(*labels_fault_);
  }
  return labels_;
}

}  // namespace tare::c
