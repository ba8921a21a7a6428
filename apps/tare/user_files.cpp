#include "user_files.h"

#include "tare/error.h"
#include "tare/quantize.h"

#include "printing/layout.h"
#include "text.h"

#include <algorithm>
#include <system_error>

namespace tare::cli {
namespace {

/// HDF5 files say all themselves, so that nobody reads a model for their sake.
bool says_all(const std::filesystem::path& path) {
  std::error_code missing;
  const std::filesystem::path suffix = path.extension();
  return (suffix == ".h5" || suffix == ".hdf5") &&
         !std::filesystem::is_directory(path, missing);
}

/// What samples have to say: state comes from the model.
std::vector<ModelInput> inputs_of_samples(const std::string& model, const Config& config) {
  std::vector<ModelInput> inputs = model_inputs(model, config.dims);
  std::erase_if(inputs,
                [&](const ModelInput& input) { return config.state.contains(input.name); });
  return inputs;
}

std::unique_ptr<Dataset> open_stateless(const std::filesystem::path& path,
                                        const std::string& model, const Config& config,
                                        const Console* console,
                                        std::vector<std::string>& notes) {
  std::error_code missing;
  if ((says_all(path) && config.inputs.empty()) || !std::filesystem::exists(path, missing)) {
    return open_dataset(path, kUserFile);
  }
  const auto note = [&](const std::string& text) {
    notes.push_back(text);
    if (console != nullptr) {
      console->say(wrapped("note: " + printable(text), 2, console->err().columns) + "\n");
    }
  };
  return tare::open_samples(path, SampleOptions{.inputs = inputs_of_samples(model, config),
                                                .preparations = config.inputs,
                                                .hdf5 = kUserFile,
                                                .notice = note});
}

}  // namespace

std::unique_ptr<Dataset> open_samples(const std::filesystem::path& path,
                                      const std::string& model, const Config& config,
                                      const Console* console, std::vector<std::string>& notes) {
  auto data = open_stateless(path, model, config, console, notes);
  if (config.state.empty()) {
    return data;
  }
  const Graph graph =
      ready_to_run(load_model(model, config.dims, data.get()), config, Toolkit::builtin());
  return with_states(graph, std::move(data), config);
}

std::unique_ptr<Dataset> open_samples(const std::filesystem::path& path,
                                      const std::string& model, const Config& config,
                                      const Console& console) {
  std::vector<std::string> notes;
  return open_samples(path, model, config, &console, notes);
}

}  // namespace tare::cli
