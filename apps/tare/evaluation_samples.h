#pragma once

#include "tare/config.h"
#include "tare/dataset.h"
#include "tare/report.h"

#include "flags.h"
#include "printing/console.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace tare::cli {

/// --eval FILE and --holdout N.
std::vector<Flag> evaluation_flags();

/// The samples that quantize calibrates on, and those that it evaluates its result on.
class EvaluationSamples {
 public:
  /// As many samples of --data as the configuration says are used. Throws Error where options
  /// contradict each other, or leave nothing to calibrate on.
  EvaluationSamples(const Options&, const std::string& model, const Config&, const Console&);

  /// Null without --data.
  const Dataset* calibrating() const { return calibrating_.get(); }
  /// Null where there are none.
  const Dataset* evaluating() const { return held_ ? held_.get() : calibrating_.get(); }
  EvaluatedOn kind() const { return kind_; }
  std::string file() const { return file_; }

 private:
  std::unique_ptr<Dataset> data_;
  std::unique_ptr<Dataset> used_;
  std::unique_ptr<Dataset> calibrating_;
  std::unique_ptr<Dataset> held_;  ///< --eval, or what --holdout took
  EvaluatedOn kind_ = EvaluatedOn::kCalibration;
  std::string file_;
};

}  // namespace tare::cli
