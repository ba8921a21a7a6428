// Runs a model step by step and keeps the states that flow back. Afterwards each step is a call
// like any other: calibration, comparison and whoever else reads samples need not know of
// sequences, and may take steps in any order.
//
// A cache of a language model is a state that grows: what comes back has more rows than what
// went in, along an axis that the model leaves open. It is empty when a sequence begins.
#include "tare/error.h"
#include "tare/execute.h"
#include "tare/quantize.h"

#include "base/check.h"
#include "base/parallel.h"
#include "base/scratch_file.h"
#include "execute/run/feed.h"

#include <algorithm>
#include <utility>

namespace tare {
namespace {

/// One input of state, and where it is in the temporary file.
struct StateOfModel {
  std::string name;
  TensorType type;
  std::size_t output = 0;             ///< of the graph, which it is one step later
  std::size_t begin = 0;              ///< of the first sequence; the others follow
  std::size_t bytes = 0;              ///< of a step, or of what a step adds to it
  std::optional<std::size_t> axis{};  ///< that it grows along
  std::int64_t growth = 0;            ///< in each step

  /// Of so many steps after the beginning.
  Shape shape(std::size_t steps) const {
    Shape result = type.shape;
    if (axis) {
      result[*axis] = growth * static_cast<std::int64_t>(steps);
    }
    return result;
  }
  std::size_t size(std::size_t steps) const { return axis ? bytes * steps : bytes; }
  /// Where a step of a sequence of that length is, counted from the beginning of it.
  std::size_t offset(std::size_t steps) const {
    return axis ? bytes * (steps * (steps - std::min<std::size_t>(steps, 1)) / 2)
                : bytes * steps;
  }
};

/// The axis along which a result has more rows than the input that it becomes, and how many;
/// nothing where they differ in another way, or where the model does not leave that open.
std::optional<std::pair<std::size_t, std::int64_t>> growth_of(const Graph& model, ValueId input,
                                                              const Shape& result) {
  const Shape& shape = model.type(input).shape;
  const auto names = model.dimension_names.find(model.name(input));
  if (result.size() != shape.size() || names == model.dimension_names.end()) {
    return std::nullopt;
  }
  std::optional<std::pair<std::size_t, std::int64_t>> found;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == result[axis]) {
      continue;
    }
    const bool is_open = axis < names->second.size() && !names->second[axis].empty();
    if (found || !is_open || result[axis] < shape[axis]) {
      return std::nullopt;
    }
    found = {axis, result[axis] - shape[axis]};
  }
  return found;
}

class StatefulSamples final : public Dataset {
 public:
  StatefulSamples(const Graph& model, std::unique_ptr<Dataset> data, const Config& config)
      : data_(std::move(data)),
        steps_(static_cast<std::size_t>(
            config.steps.value_or(static_cast<std::int64_t>(data_->size())))) {
    find_states(model, config);
    for (const DatasetInput& input : data_->inputs()) {
      if (find(input.name) == nullptr) {
        inputs_.push_back(input);
      }
    }
    for (const StateOfModel& state : states_) {
      // Those of the largest step, which is the last one.
      inputs_.push_back({.name = state.name,
                         .dtype = state.type.dtype,
                         .shape = state.axis ? state.shape(std::max<std::size_t>(
                                                   std::min(steps_, data_->size()) - 1, 1))
                                             : state.type.shape});
    }
  }

  /// Every sequence on one thread, as its steps need each other.
  void run(const Graph& model, int threads) {
    const Feed feed(model, *this, 0);
    if (feed.batch() != 1) {
      throw Error(ErrorCode::kInvalidConfig, "'state'",
                  "the model takes " + std::to_string(feed.batch()) + " samples at a time")
          .expected("one, as steps follow each other");
    }
    const Executable executable(model);
    const std::size_t sequences = (size() + steps_ - 1) / steps_;
    parallel_for(sequences, thread_count(threads), [&](std::size_t, std::size_t sequence) {
      const std::size_t first = sequence * steps_;
      const std::size_t end = std::min(first + steps_, size());
      for (const StateOfModel& state : states_) {
        keep(state, first, first_value(state, first));
      }
      Executable::Workspace workspace(executable);
      for (std::size_t step = first; step + 1 < end; ++step) {
        const std::vector<Tensor> results = executable.run(workspace, feed.read(step));
        for (const StateOfModel& state : states_) {
          keep(state, step + 1, results[state.output]);
        }
      }
    });
  }

  std::size_t size() const override { return data_->size(); }
  const std::vector<DatasetInput>& inputs() const override { return inputs_; }
  bool has_several_shapes() const override {
    return data_->has_several_shapes() ||
           std::any_of(states_.begin(), states_.end(),
                       [](const StateOfModel& state) { return state.axis.has_value(); });
  }
  std::optional<std::vector<std::int64_t>> labels() const override { return data_->labels(); }

  Tensor read(const std::string& input, std::size_t first, std::size_t count) const override {
    const StateOfModel* state = find(input);
    if (state == nullptr) {
      return data_->read(input, first, count);
    }
    Shape shape = state->shape(first % steps_);
    shape.insert(shape.begin(), static_cast<std::int64_t>(count));
    Tensor result(state->type.dtype, std::move(shape));
    if (result.byte_size() > 0) {
      kept_.read(place_of(*state, first), {result.mutable_data(), result.byte_size()});
    }
    return result;
  }

 private:
  void find_states(const Graph& model, const Config& config) {
    Faults faults;
    std::size_t begin = 0;
    for (const auto& [input, output] : config.state) {
      const auto value = model.find_value(input);
      if (!value || !model.is_input(*value)) {
        faults.add("'state'", "the model has no input '" + input + "'", {},
                   suggestion(input, names_of(model, model.inputs())));
        continue;
      }
      const auto& outputs = model.outputs();
      const auto found =
          std::find_if(outputs.begin(), outputs.end(),
                       [&, &name = output](ValueId id) { return model.name(id) == name; });
      if (found == outputs.end()) {
        faults.add("'state'", "the model has no output '" + output + "'", {},
                   suggestion(output, names_of(model, outputs)));
        continue;
      }
      const TensorType& type = model.type(*value);
      const TensorType& result = model.type(*found);
      const auto growth = growth_of(model, *value, result.shape);
      if (type.dtype != result.dtype || (type.shape != result.shape && !growth)) {
        faults.add("'state'",
                   "output '" + output + "' is " + std::string(name_of(result.dtype)) + " " +
                       to_string(result.shape),
                   std::string(name_of(type.dtype)) + " " + to_string(type.shape) +
                       " as input '" + input + "'");
        continue;
      }
      StateOfModel state{.name = input,
                         .type = type,
                         .output = static_cast<std::size_t>(found - outputs.begin()),
                         .begin = begin};
      Shape of_step = type.shape;
      if (growth) {
        state.axis = growth->first;
        state.growth = growth->second;
        of_step[*state.axis] = state.growth;
      }
      state.bytes = static_cast<std::size_t>(element_count(of_step)) * size_of(type.dtype);
      const std::size_t sequences = (data_->size() + steps_ - 1) / steps_;
      begin += sequences * state.offset(steps_);
      states_.push_back(std::move(state));
    }
    faults.raise(ErrorCode::kInvalidConfig);
  }

  static std::vector<std::string> names_of(const Graph& model,
                                           std::span<const ValueId> values) {
    std::vector<std::string> names;
    for (const ValueId value : values) {
      names.push_back(model.name(value));
    }
    return names;
  }

  const StateOfModel* find(const std::string& input) const {
    const auto found =
        std::find_if(states_.begin(), states_.end(),
                     [&](const StateOfModel& state) { return state.name == input; });
    return found == states_.end() ? nullptr : &*found;
  }

  std::size_t place_of(const StateOfModel& state, std::size_t step) const {
    return state.begin + step / steps_ * state.offset(steps_) + state.offset(step % steps_);
  }

  /// Of a sequence: what the data says, else zeros. What grows begins with nothing.
  Tensor first_value(const StateOfModel& state, std::size_t sample) const {
    if (state.axis) {
      return Tensor(state.type.dtype, state.shape(0));
    }
    const auto& given = data_->inputs();
    const bool is_given =
        std::any_of(given.begin(), given.end(), [&](const DatasetInput& input) {
          return input.name == state.name && input.dtype == state.type.dtype &&
                 element_count(input.shape) == element_count(state.type.shape);
        });
    return is_given ? data_->read(state.name, sample, 1)
                    : Tensor(state.type.dtype, state.type.shape);
  }

  void keep(const StateOfModel& state, std::size_t step, const Tensor& value) {
    check(value.byte_size() == state.size(step % steps_),
          "a state of another size than its input");
    if (value.byte_size() > 0) {
      kept_.write(place_of(state, step), {value.data(), value.byte_size()});
    }
  }

  std::unique_ptr<Dataset> data_;
  std::size_t steps_;
  std::vector<StateOfModel> states_;
  std::vector<DatasetInput> inputs_;
  ScratchFile kept_;
};

}  // namespace

std::unique_ptr<Dataset> with_states(const Graph& model, std::unique_ptr<Dataset> data,
                                     const Config& config, int threads) {
  auto samples = std::make_unique<StatefulSamples>(model, std::move(data), config);
  samples->run(model, threads);
  return samples;
}

}  // namespace tare
