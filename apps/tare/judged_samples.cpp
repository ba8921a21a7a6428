#include "judged_samples.h"

#include "tare/error.h"

#include "text.h"

#include <algorithm>

namespace tare::cli {
namespace {

void check(const Options& options) {
  if (options.has("eval") && options.has("holdout")) {
    throw Error(ErrorCode::kInvalidConfig, "option '--holdout'", "contradicts '--eval'")
        .hint("--holdout takes samples out of --data to judge by, --eval has others");
  }
  if (options.has("holdout") && !options.has("data")) {
    throw Error(ErrorCode::kInvalidConfig, "quantize", "option '--holdout' needs '--data'")
        .hint("'--eval FILE' judges by samples of their own");
  }
}

}  // namespace

std::vector<Flag> judging_flags() {
  return {{.name = "eval", .value = "FILE", .summary = "judge the result by these samples"},
          {.name = "holdout",
           .value = "N",
           .summary = "judge the result by N of the samples, spread evenly, and calibrate on "
                      "the others",
           .is_count = true}};
}

JudgedSamples::JudgedSamples(const Options& options, std::size_t limit) {
  check(options);
  if (options.has("data")) {
    file_ = options.text("data");
    data_ = open_dataset(file_);
    const std::size_t used = limit == 0 ? data_->size() : std::min(limit, data_->size());
    used_ = part_of(*data_, 0, used);
    const std::size_t held = options.count("holdout");
    if (held >= used) {
      throw Error(ErrorCode::kInvalidConfig, "option '--holdout'",
                  "leaves nothing to calibrate on: there are " + counted(used, "sample"));
    }
    calibrating_ = without_spread(*used_, held);
    if (held > 0) {
      held_ = spread_over(*used_, held);
      kind_ = Judged::kHeldOut;
    }
  }
  if (options.has("eval")) {
    file_ = options.text("eval");
    held_ = open_dataset(file_);
    kind_ = Judged::kGiven;
  }
}

std::size_t JudgedSamples::available() const {
  return held_ ? held_->size() : calibrating_ ? calibrating_->size() : 0;
}

std::unique_ptr<Dataset> JudgedSamples::judging(std::size_t most) const {
  const Dataset* from = held_ ? held_.get() : calibrating_.get();
  return from == nullptr ? nullptr : spread_over(*from, std::min(most, from->size()));
}

}  // namespace tare::cli
