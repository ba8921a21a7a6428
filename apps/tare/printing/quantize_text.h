#pragma once

#include "tare/execute.h"
#include "tare/integer_graph.h"
#include "tare/quant_table.h"
#include "tare/report.h"

#include "printing/terminal.h"
#include "text.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tare::cli {

/// What `tare quantize` did, for those who read it.
struct QuantizeSummary {
  std::string model;
  std::string output;
  std::string target;
  std::string processor;    ///< whose costs decided; empty: those of no particular one
  std::string recipe;       ///< as QuantizeResult::recipe
  std::string effort;       ///< with --time: which one that left, and why; empty otherwise
  bool covers_all = false;  ///< the objective was coverage
  std::size_t samples = 0;  ///< calibrated on; 0: none
  int ranks = 1;            ///< processes that shared the work
  /// Bytes that they sent, by what they were about.
  std::map<std::string, std::uint64_t> sent;
  std::size_t points = 0;       ///< that are enabled
  std::size_t wide_points = 0;  ///< of these, activations of 16 bits
  std::vector<Verdict> verdicts;
  std::map<std::string, std::string> patterns;  ///< by operator that a pattern covers
  struct Sums {
    std::string node;
    int bits = 0;  ///< that hold any of them
  };
  std::vector<Sums> sums;
  CalibrationAudit audit;
  /// How good it is; absent where there were no samples to evaluate on.
  std::optional<Report> quality;
  std::size_t evaluation_samples = 0;  ///< samples that `quality` was chosen from
  std::optional<PredictedTime> predicted;
  bool has_engine = false;  ///< --engine was given
  std::optional<SpeedComparison> speed;
  std::string engine_failure;
  std::size_t timed = 0;  ///< files that the engine ran to find a fast one
  bool is_known = false;  ///< the plan was found before
  std::set<std::string> kept_float;
  std::uintmax_t model_bytes = 0;
  std::uintmax_t output_bytes = 0;
  double seconds = 0;
};

std::string as_text(const QuantizeSummary&, const Terminal&);
Json as_json(const QuantizeSummary&);

}  // namespace tare::cli
