
#include "tare/calibrator.h"
#include "tare/metric.h"
#include "tare/quantize.h"
#include "tare/simulate.h"

#include "prepare/rule_registry.h"

#define TARE_X(stem) TARE_PATTERN(stem);
#include "pattern_list.inc"
#undef TARE_X
#define TARE_X(stem) TARE_CALIBRATOR(stem);
#include "calibrator_list.inc"
#undef TARE_X
#define TARE_X(stem) TARE_METRIC(stem);
#include "metric_list.inc"
#undef TARE_X

namespace tare {

const Toolkit& Toolkit::builtin() {
  static const Toolkit toolkit{
      .rules = prepare_rules(),
      .patterns =
          {
#define TARE_X(stem) tare_pattern_##stem(),
#include "pattern_list.inc"
#undef TARE_X
          },
      .calibrators =
          {
#define TARE_X(stem) tare_calibrator_##stem(),
#include "calibrator_list.inc"
#undef TARE_X
          },
      .metrics =
          {
#define TARE_X(stem) tare_metric_##stem(),
#include "metric_list.inc"
#undef TARE_X
          },
  };
  return toolkit;
}

std::vector<std::string> Toolkit::calibrator_names() const {
  std::vector<std::string> names;
  for (const CalibratorInfo& info : calibrators) {
    names.emplace_back(info.name);
  }
  return names;
}

}  // namespace tare
