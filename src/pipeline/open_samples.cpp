// Samples of whatever format, for the model and the configuration that they are opened for.
#include "tare/config.h"
#include "tare/dataset.h"
#include "tare/error.h"
#include "tare/quantize.h"

#include "io/open_hdf5.h"
#include "pipeline/load.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <utility>

namespace tare {
namespace {

/// Most HDF5 files say all themselves, so that nobody reads a model for their sake.
bool says_all(const std::filesystem::path& path) {
  std::error_code missing;
  const std::filesystem::path suffix = path.extension();
  return (suffix == ".h5" || suffix == ".hdf5") &&
         !std::filesystem::is_directory(path, missing);
}

/// What samples have to say: state comes from the model.
std::vector<ModelInput> inputs_of_samples(const std::filesystem::path& model,
                                          const Config& config) {
  std::vector<ModelInput> inputs = model_inputs(model, config.dims);
  std::erase_if(inputs,
                [&](const ModelInput& input) { return config.state.contains(input.name); });
  return inputs;
}

/// With the extents that only caches have: as many rows as there are steps before the last one.
std::map<std::string, std::int64_t> with_extents_of_caches(const std::filesystem::path& model,
                                                           const Config& config,
                                                           const Dataset& data) {
  const std::vector<ModelInput> inputs = model_inputs(model, config.dims);
  std::set<std::string> of_samples;
  for (const ModelInput& input : inputs) {
    if (!config.state.contains(input.name)) {
      of_samples.insert(input.symbols.begin(), input.symbols.end());
    }
  }
  const auto samples = static_cast<std::int64_t>(data.size());
  const std::int64_t before =
      std::max<std::int64_t>(std::min(config.steps.value_or(samples), samples) - 1, 1);
  std::map<std::string, std::int64_t> dims = config.dims;
  for (const ModelInput& input : inputs) {
    for (std::size_t axis = 0; input.shape && axis < input.symbols.size(); ++axis) {
      const std::string& symbol = input.symbols[axis];
      if (config.state.contains(input.name) && (*input.shape)[axis] < 0 && !symbol.empty() &&
          !of_samples.contains(symbol)) {
        dims.emplace(symbol, before);
      }
    }
  }
  return dims;
}

/// Of any format, without states of the model.
std::unique_ptr<Dataset> open_alone(const std::filesystem::path& path,
                                    const std::filesystem::path& model, const Config& config,
                                    const Hdf5Options& hdf5,
                                    const std::function<void(const std::string&)>& notice) {
  std::error_code missing;
  const bool is_missing = !std::filesystem::exists(path, missing);
  try {
    return is_missing || (says_all(path) && config.inputs.empty())
               ? open_hdf5(path, hdf5, [&] { return inputs_of_samples(model, config); })
               : open_samples(path, SampleOptions{.inputs = inputs_of_samples(model, config),
                                                  .preparations = config.inputs,
                                                  .hdf5 = hdf5,
                                                  .notice = notice});
  } catch (Error& error) {
    if (!is_missing && error.code() != ErrorCode::kInvalidModel &&
        (path.extension() == ".onnx" || is_tflite(path))) {
      error.hint("its name is that of a model; the model comes first, samples with '--data'");
    }
    throw;
  }
}

}  // namespace

std::unique_ptr<Dataset> open_samples(const std::filesystem::path& path,
                                      const std::filesystem::path& model, const Config& config,
                                      const Toolkit& toolkit, const Hdf5Options& hdf5,
                                      const std::function<void(const std::string&)>& notice) {
  std::unique_ptr<Dataset> data = open_alone(path, model, config, hdf5, notice);
  if (config.state.empty()) {
    return data;
  }
  const Graph graph =
      ready_to_run(load_model(model, with_extents_of_caches(model, config, *data), data.get()),
                   config, toolkit);
  return with_states(graph, std::move(data), config);
}

}  // namespace tare
