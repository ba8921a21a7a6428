// The flow up to one of its stages, for whoever wants to look at the model there. All stages up
// to it run: those behind calibration cost what quantize() does.
#include "tare/error.h"
#include "tare/integer_graph.h"
#include "tare/model_files.h"
#include "tare/quantize.h"
#include "tare/simulate.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tare {
namespace {

constexpr std::array<std::string_view, 7> kStages{"float",    "prepared", "simulated", "affine",
                                                  "expanded", "integer",  "exported"};

Error stage_error(std::string_view stage, const std::string& what) {
  return {ErrorCode::kInvalidConfig, "stage '" + std::string(stage) + "'", what};
}

/// After one of the stages behind calibration.
Graph graph_of(QuantizeResult result, std::string_view stage) {
  if (stage == "simulated") {
    return tare::bind(result.simulated, result.table);
  }
  if (stage == "affine" || stage == "expanded") {
    return lowered(result.simulated, result.table,
                   stage == "affine" ? LoweringStage::kAffine : LoweringStage::kExpanded);
  }
  return std::move(stage == "integer" ? result.integer : result.qdq);
}

}  // namespace

std::span<const std::string_view> stage_names() {
  return kStages;
}

Graph graph_at_stage(Graph model, std::string_view stage, const std::filesystem::path& file,
                     const Dataset* data, const Config& config, const Toolkit& toolkit,
                     const CalibrateOptions& options) {
  if (std::find(kStages.begin(), kStages.end(), stage) == kStages.end()) {
    throw stage_error(stage, "does not exist")
        .expected("float, prepared, simulated, affine, expanded, integer or exported");
  }
  if (stage == "float") {
    return model;
  }
  if (stage == "prepared" || (stage == "simulated" && data == nullptr)) {
    Graph prepared = prepare(model, toolkit);
    check_rules(model, prepared, config);
    return stage == "prepared"
               ? std::move(prepared)
               : simulate(prepared, config, target_of(config, toolkit), toolkit.patterns).graph;
  }
  if (is_quantized(model) && stage != "simulated") {
    if (stage == "exported") {
      return model;
    }
    if (stage != "integer") {
      throw stage_error(stage, "does not exist for a model that is quantized already")
          .expected("float, prepared, integer or exported");
    }
    return lower_quantized(std::move(model), read_file_metadata(file), config, toolkit);
  }
  if (data == nullptr) {
    throw stage_error(stage, "needs samples to calibrate on, as the model is float");
  }
  return graph_of(quantize(model, *data, config, toolkit, options), stage);
}

}  // namespace tare
