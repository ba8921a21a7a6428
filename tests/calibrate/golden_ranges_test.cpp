#include "calibrate/calibrator_support.h"

#include <cstdio>
#include <sstream>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// What calibrators make of tensors that quantizers stumble over: ranges for asymmetric uint8
/// and symmetric int8. Ranges of tensors with few values, and those of max, average_max and
/// percent_of_max, can be worked out by hand; the rest shows changes.
constexpr const char* kGolden = R"(
zeros aciq [0, 0] [0, 0]
zeros average_max [0, 0] [0, 0]
zeros kl [0, 0] [0, 0]
zeros max [0, 0] [0, 0]
zeros mse [0, 0] [0, 0]
zeros percent_of_max [0, 0] [0, 0]
zeros percentile [0, 0] [0, 0]
single aciq [-2, -2] [-2, -2]
single average_max [-2, -2] [-2, -2]
single kl [-2, 0] [-2, 0]
single max [-2, -2] [-2, -2]
single mse [-2, 0] [-2, 0]
single percent_of_max [-1.98, -1.98] [-1.98, -1.98]
single percentile [-2, 0] [-2, 0]
constant aciq [3, 3] [3, 3]
constant average_max [3, 3] [3, 3]
constant kl [0, 3] [0, 3]
constant max [3, 3] [3, 3]
constant mse [0, 3] [0, 3]
constant percent_of_max [2.97, 2.97] [2.97, 2.97]
constant percentile [0, 3] [0, 3]
pair aciq [-0.1, 0.7] [-0.1, 0.7]
pair average_max [-0.1, 0.7] [-0.1, 0.7]
pair kl [-0.1, 0.7] [-0.1, 0.7]
pair max [-0.1, 0.7] [-0.1, 0.7]
pair mse [-0.1, 0.7] [-0.1, 0.7]
pair percent_of_max [-0.099, 0.693] [-0.099, 0.693]
pair percentile [-0.1, 0.7] [-0.1, 0.7]
even aciq [-1, 3] [-1, 3]
even average_max [-1, 3] [-1, 3]
even kl [-1, 3] [-1, 3]
even max [-1, 3] [-1, 3]
even mse [-1, 2.99] [-1, 2.99]
even percent_of_max [-0.99, 2.97] [-0.99, 2.97]
even percentile [-1, 3] [-1, 3]
laplace aciq [-9.21, 9.21] [-9.21, 9.21]
laplace average_max [-9.21, 9.21] [-9.21, 9.21]
laplace kl [-9.21, 9.21] [-9.21, 9.21]
laplace max [-9.21, 9.21] [-9.21, 9.21]
laplace mse [-8.96, 9.01] [-8.96, 8.96]
laplace percent_of_max [-9.12, 9.12] [-9.12, 9.12]
laplace percentile [-9.21, 9.21] [-9.21, 9.21]
rectified aciq [0, 9.21] [0, 9.21]
rectified average_max [0, 9.21] [0, 9.21]
rectified kl [0, 9.21] [0, 9.21]
rectified max [0, 9.21] [0, 9.21]
rectified mse [0, 9.15] [0, 8.96]
rectified percent_of_max [0, 9.12] [0, 9.12]
rectified percentile [0, 9.21] [0, 8.12]
far_from_0 aciq [10, 11] [10, 11]
far_from_0 average_max [10, 11] [10, 11]
far_from_0 kl [0, 11] [0, 11]
far_from_0 max [10, 11] [10, 11]
far_from_0 mse [0, 11] [0, 11]
far_from_0 percent_of_max [9.9, 10.9] [9.9, 10.9]
far_from_0 percentile [0, 11] [0, 11]
one_outlier aciq [-9.21, 50.5] [-9.21, 49.5]
one_outlier average_max [-9.21, 1e+04] [-9.21, 1e+04]
one_outlier kl [-9.21, 4.06e+03] [-9.21, 2.03e+03]
one_outlier max [-9.21, 1e+04] [-9.21, 1e+04]
one_outlier mse [-9.21, 9.99e+03] [-9.21, 1e+04]
one_outlier percent_of_max [-9.12, 9.9e+03] [-9.12, 9.9e+03]
one_outlier percentile [-9.21, 1e+04] [-9.21, 16]
no_numbers aciq [-9.21, 9.21] [-9.21, 9.21]
no_numbers average_max [-9.21, 9.21] [-9.21, 9.21]
no_numbers kl [-9.21, 9.21] [-9.21, 9.21]
no_numbers max [-9.21, 9.21] [-9.21, 9.21]
no_numbers mse [-8.96, 9.01] [-8.96, 8.96]
no_numbers percent_of_max [-9.12, 9.12] [-9.12, 9.12]
no_numbers percentile [-9.21, 9.21] [-9.21, 9.21]
tiny aciq [-1e-30, 3e-30] [-1e-30, 3e-30]
tiny average_max [-1e-30, 3e-30] [-1e-30, 3e-30]
tiny kl [-1e-30, 3e-30] [-1e-30, 3e-30]
tiny max [-1e-30, 3e-30] [-1e-30, 3e-30]
tiny mse [-9.95e-31, 3e-30] [-1e-30, 3e-30]
tiny percent_of_max [-9.9e-31, 2.97e-30] [-9.9e-31, 2.97e-30]
tiny percentile [-1e-30, 3e-30] [-1e-30, 3e-30]
huge aciq [-1e+30, 3e+30] [-1e+30, 3e+30]
huge average_max [-1e+30, 3e+30] [-1e+30, 3e+30]
huge kl [-1e+30, 3e+30] [-1e+30, 3e+30]
huge max [-1e+30, 3e+30] [-1e+30, 3e+30]
huge mse [-9.95e+29, 3e+30] [-1e+30, 3e+30]
huge percent_of_max [-9.9e+29, 2.97e+30] [-9.9e+29, 2.97e+30]
huge percentile [-1e+30, 3e+30] [-1e+30, 3e+30]
both aciq [-1e+30, 1e+30] [-1e+30, 1e+30]
both average_max [-1e+30, 1e+30] [-1e+30, 1e+30]
both kl [-1e+30, 1e+30] [-1e+30, 1e+30]
both max [-1e+30, 1e+30] [-1e+30, 1e+30]
both mse [-1e+30, 1e+30] [-1e+30, 1e+30]
both percent_of_max [-9.9e+29, 9.9e+29] [-9.9e+29, 9.9e+29]
both percentile [-1e+30, 1e+30] [-1e+30, 1e+30]
)";

std::string text(const Range& range) {
  char buffer[64];
  // Adding 0 makes -0 what it is.
  (void)std::snprintf(buffer, sizeof buffer, "[%.3g, %.3g]", range.low + 0, range.high + 0);
  return buffer;
}

TEST(Golden, EveryCalibratorChoosesTheRangesOfTheTable) {
  std::ostringstream result;
  result << '\n';
  for (const NamedValues& tensor : tensors()) {
    const TensorStatistics observed = statistics_of(tensor.values);
    for (const std::string& name : Toolkit::builtin().calibrator_names()) {
      // `fixed` says in its options what comes out, `auto` tries the others.
      if (name != "fixed" && name != "auto") {
        const auto calibrator = make_calibrator(name);
        result << tensor.name << ' ' << name << ' '
               << text(calibrator->choose(observed, kAsymmetric)) << ' '
               << text(calibrator->choose(observed, kSymmetric)) << '\n';
      }
    }
  }
  EXPECT_EQ(result.str(), kGolden);
}

}  // namespace
}  // namespace tare::test
