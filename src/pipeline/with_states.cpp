// Runs a model step by step and keeps the states that flow back. Afterwards each step is a call
// like any other: calibration, comparison and whoever else reads samples need not know of
// sequences, and may take steps in any order.
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
  std::size_t output = 0;  ///< of the graph, which it is one step later
  std::size_t begin = 0;   ///< of the first step; the others follow
  std::size_t bytes = 0;   ///< of a step
};

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
      inputs_.push_back(
          {.name = state.name, .dtype = state.type.dtype, .shape = state.type.shape});
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
  bool has_several_shapes() const override { return data_->has_several_shapes(); }
  std::optional<std::vector<std::int64_t>> labels() const override { return data_->labels(); }

  Tensor read(const std::string& input, std::size_t first, std::size_t count) const override {
    const StateOfModel* state = find(input);
    if (state == nullptr) {
      return data_->read(input, first, count);
    }
    Shape shape = state->type.shape;
    shape.insert(shape.begin(), static_cast<std::int64_t>(count));
    Tensor result(state->type.dtype, std::move(shape));
    kept_.read(state->begin + first * state->bytes,
               {result.mutable_data(), result.byte_size()});
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
      if (type.dtype != result.dtype || type.shape != result.shape) {
        faults.add("'state'",
                   "output '" + output + "' is " + std::string(name_of(result.dtype)) + " " +
                       to_string(result.shape),
                   std::string(name_of(type.dtype)) + " " + to_string(type.shape) +
                       " as input '" + input + "'");
        continue;
      }
      const std::size_t bytes =
          static_cast<std::size_t>(element_count(type.shape)) * size_of(type.dtype);
      states_.push_back({.name = input,
                         .type = type,
                         .output = static_cast<std::size_t>(found - outputs.begin()),
                         .begin = begin,
                         .bytes = bytes});
      begin += bytes * data_->size();
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

  /// Of a sequence: what the data says, else zeros.
  Tensor first_value(const StateOfModel& state, std::size_t sample) const {
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
    check(value.byte_size() == state.bytes, "a state of another size than its input");
    kept_.write(state.begin + step * state.bytes, {value.data(), value.byte_size()});
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
