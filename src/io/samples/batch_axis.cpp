#include "io/samples/batch_axis.h"

#include "tare/error.h"

#include "io/samples/formats.h"
#include "io/samples/npy.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace tare {
namespace {

/// Whether a sample is what the input takes beside that axis.
bool fits_beside(const Shape& sample, const Shape& input, std::size_t axis) {
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const std::int64_t extent = input[i < axis ? i : i + 1];
    if (extent >= 0 && extent != sample[i]) {
      return false;
    }
  }
  return true;
}

/// 0 is left to whoever reads rows.
std::size_t batch_axis_of(const DatasetInput& given, const ModelInput& input,
                          const InputPreparation& said,
                          const std::function<void(const std::string&)>& notice) {
  const Shape& shape = *input.shape;
  if (said.batch_axis) {
    const std::int64_t axis = *said.batch_axis;
    if (axis >= static_cast<std::int64_t>(shape.size())) {
      throw Error(ErrorCode::kInvalidConfig, "input '" + input.name + "'",
                  "has no axis " + std::to_string(axis) + " for a batch")
          .expected("'batch_axis' below " + std::to_string(shape.size()));
    }
    return axis < 0 ? 0 : static_cast<std::size_t>(axis);
  }
  if (fits_beside(given.shape, shape, 0)) {
    return 0;
  }
  for (std::size_t axis = 1; axis < shape.size(); ++axis) {
    if ((shape[axis] == 1 || shape[axis] < 0) && fits_beside(given.shape, shape, axis)) {
      if (notice) {
        notice("input '" + input.name + "': the batch is on axis " + std::to_string(axis) +
               ", as samples have shape " + to_string(given.shape));
      }
      return axis;
    }
  }
  return 0;
}

class OtherBatchAxis final : public Dataset {
 public:
  OtherBatchAxis(std::unique_ptr<Dataset> data, std::map<std::string, std::size_t> axes)
      : data_(std::move(data)), axes_(std::move(axes)), inputs_(data_->inputs()) {
    for (DatasetInput& input : inputs_) {
      if (const auto axis = axes_.find(input.name); axis != axes_.end()) {
        const auto place = static_cast<std::ptrdiff_t>(axis->second);
        input.shape.insert(input.shape.begin() + place, 1);
      }
    }
  }

  std::size_t size() const override { return data_->size(); }
  const std::vector<DatasetInput>& inputs() const override { return inputs_; }
  bool has_several_shapes() const override { return data_->has_several_shapes(); }
  Tensor read(const std::string& input, std::size_t first, std::size_t count) const override {
    const Tensor rows = data_->read(input, first, count);
    const auto axis = axes_.find(input);
    if (axis == axes_.end()) {
      return rows;
    }
    Shape shape = rows.shape();
    shape.insert(shape.begin() + 1 + static_cast<std::ptrdiff_t>(axis->second), 1);
    return rows.reshaped(std::move(shape));
  }
  std::optional<std::vector<std::int64_t>> labels() const override { return data_->labels(); }

 private:
  std::unique_ptr<Dataset> data_;
  std::map<std::string, std::size_t> axes_;
  std::vector<DatasetInput> inputs_;
};

}  // namespace

std::unique_ptr<Dataset> with_batch_axes(std::unique_ptr<Dataset> data,
                                         const SampleOptions& options) {
  std::map<std::string, std::size_t> axes;
  for (const DatasetInput& given : data->inputs()) {
    const ModelInput* input = find_input(options.inputs, given.name);
    if (input == nullptr || !input->shape || input->shape->size() != given.shape.size() + 1) {
      continue;
    }
    const std::size_t axis =
        batch_axis_of(given, *input, preparation_of(options, input->name), options.notice);
    if (axis > 0) {
      axes.emplace(given.name, axis);
    }
  }
  return axes.empty() ? std::move(data)
                      : std::make_unique<OtherBatchAxis>(std::move(data), std::move(axes));
}

std::vector<ModelInput> inputs_of_arrays(const SampleOptions& options) {
  std::vector<ModelInput> inputs = options.inputs;
  for (ModelInput& input : inputs) {
    if (input.shape && preparation_of(options, input.name).batch_axis == -1) {
      input.shape->insert(input.shape->begin(), -1);
    }
  }
  return inputs;
}

}  // namespace tare
