#include "tare/config.h"
#include "tare/error.h"
#include "tare/graph.h"
#include "tare/model_files.h"

#include "base/input_file.h"
#include "engine/model_inputs.h"
#include "engine/timing.h"

#include <array>

namespace tare {
namespace {

/// What to run the file on. The engine may know operators that we do not, and then makes up its
/// inputs itself.
ModelInputs inputs_of(const std::filesystem::path& path, const Config& config,
                      const Dataset* data) {
  try {
    return model_inputs(load_model(path, config.dims, data), data);
  } catch (const Error& error) {
    if (data != nullptr || error.code() == ErrorCode::kIo ||
        error.code() == ErrorCode::kInternal) {
      throw;
    }
    return {};
  }
}

}  // namespace

SpeedComparison measure_speed(const std::filesystem::path& first,
                              const std::filesystem::path& second, const EngineOptions& options,
                              const Config& config, const Dataset* data,
                              const MeasureOptions& measure) {
  std::array<ModelInputs, 2> inputs{inputs_of(first, config, data),
                                    inputs_of(second, config, data)};
  const auto engine = open_engine(options);
  const auto load = [&](const std::filesystem::path& path, const ModelInputs& values) {
    try {
      return engine->load(path, values);
    } catch (Error& error) {
      error.at(path.string());
      throw;
    }
  };
  const std::array models{load(first, inputs[0]), load(second, inputs[1])};
  const Timing timing = time_in_turn(*engine, models, measure);
  return {.engine = engine->facts(),
          .first = timing.of(0),
          .second = timing.of(1),
          .ratio = timing.ratio(0, 1),
          .rounds = timing.rounds()};
}

}  // namespace tare
