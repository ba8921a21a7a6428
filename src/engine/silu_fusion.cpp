#include "engine/silu_fusion.h"

#include "tare/error.h"
#include "tare/model_files.h"
#include "tare/process.h"

#include "engine/temporary_files.h"
#include "engine/timing.h"
#include "lower/forms/unfused_silus.h"

#include <array>
#include <optional>

namespace tare {
namespace {

MeasureOptions of_a_network() {
  return {.seconds = 3, .precision = 0.01, .progress = {}};
}

/// How many times as fast the network is with unfused ones; nothing where the engine refuses
/// it.
std::optional<ConfidenceInterval> gain(Engine& engine, const Graph& model,
                                       const ModelInputs& inputs) {
  TemporaryFiles files;
  const std::filesystem::path fused = files.next(".onnx");
  const std::filesystem::path unfused = files.next(".onnx");
  write_onnx(model, fused);
  write_onnx(with_unfused_silus(model), unfused);
  try {
    const std::array models{engine.load(fused, inputs), engine.load(unfused, inputs)};
    const Timing timing = time_in_turn(engine, models, of_a_network());
    for (const LoadedModel one : models) {
      engine.unload(one);
    }
    return timing.ratio(0, 1);
  } catch (const Error& error) {
    if (engine.is_broken() || error.code() != ErrorCode::kUnsupported) {
      throw;
    }
    return std::nullopt;
  }
}

}  // namespace

Config with_faster_silu(Engine& engine, const Graph& model, const ModelInputs& inputs,
                        Config config, const Toolkit& toolkit) {
  const Target target = target_of(config, toolkit);
  if (config.fuse_silu || !target.quick_spelling || !has_silus(model)) {
    return config;
  }
  const auto ratio = gain(engine, model, inputs);
  const bool is_known = ratio && (ratio->low > 1 || ratio->high < 1);
  config.fuse_silu = is_known ? ratio->low < 1 : target.fuse_silu;
  return config;
}

}  // namespace tare
