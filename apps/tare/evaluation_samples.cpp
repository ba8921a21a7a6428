#include "evaluation_samples.h"

#include "tare/error.h"

#include "text.h"
#include "user_files.h"

#include <algorithm>

namespace tare::cli {
namespace {

void check(const Options& options) {
  if (options.has("eval") && options.has("holdout")) {
    throw Error(ErrorCode::kInvalidConfig, "option '--holdout'", "contradicts '--eval'")
        .hint("--holdout takes its samples out of --data, --eval reads others");
  }
  if (options.has("holdout") && !options.has("data")) {
    throw Error(ErrorCode::kInvalidConfig, "quantize", "option '--holdout' needs '--data'")
        .hint("'--eval FILE' evaluates on the samples of another file");
  }
}

}  // namespace

std::vector<Flag> evaluation_flags() {
  return {{.name = "eval", .value = "FILE", .summary = "evaluate the result on these samples"},
          {.name = "holdout",
           .value = "N",
           .summary = "evaluate the result on N of the samples, evenly spaced, and calibrate "
                      "on the others",
           .is_count = true}};
}

EvaluationSamples::EvaluationSamples(const Options& options, const std::string& model,
                                     const Config& config, const Console& console) {
  check(options);
  const auto limit = static_cast<std::size_t>(config.samples.value_or(0));
  std::vector<std::string> notes;
  if (options.has("data")) {
    file_ = options.text("data");
    data_ = open_samples(file_, model, config, &console, notes);
    const std::size_t used = limit == 0 ? data_->size() : std::min(limit, data_->size());
    used_ = part_of(*data_, 0, used);
    const std::size_t held = options.count("holdout");
    if (held >= used) {
      throw Error(ErrorCode::kInvalidConfig, "option '--holdout'",
                  "leaves nothing to calibrate on: there are " + counted(used, "sample"));
    }
    calibrating_ = without_evenly_spaced(*used_, held);
    if (held > 0) {
      held_ = evenly_spaced(*used_, held);
      kind_ = EvaluatedOn::kHeldOut;
    }
  }
  if (options.has("eval")) {
    file_ = options.text("eval");
    // What was guessed for both has been said.
    held_ = open_samples(file_, model, config, options.has("data") ? nullptr : &console, notes);
    kind_ = EvaluatedOn::kGiven;
  }
}

}  // namespace tare::cli
