// Time that each calibrator takes for one point.

#include "tare/arithmetic.h"
#include "tare/calibrator.h"
#include "tare/quantize.h"
#include "tare/tensor.h"

#include "calibrate/calibrate.h"
#include "random_values.h"

#include <benchmark/benchmark.h>

namespace tare::bench {
namespace {

/// Options that a calibrator cannot do without.
std::map<std::string, double> options_of(const CalibratorInfo& info) {
  return info.name == "fixed" ? std::map<std::string, double>{{"low", -1.0}, {"high", 1.0}}
                              : std::map<std::string, double>{};
}

void choose(benchmark::State& state, const CalibratorInfo& info, const QuantSpec& spec) {
  TensorStatistics observed;
  observed.observe(random_values(1U << 20U));
  const std::map<std::string, double> options = options_of(info);
  const auto calibrator = info.make(CalibratorOptions(options));
  for (auto _ : state) {
    benchmark::DoNotOptimize(calibrator->choose(observed, spec));
  }
}

[[maybe_unused]] const bool registered = [] {
  for (const CalibratorInfo& info : Toolkit::builtin().calibrators) {
    const std::string name(info.name);
    benchmark::RegisterBenchmark((name + "/u8").c_str(), [&info](benchmark::State& state) {
      choose(state, info, {.storage = DType::kUint8});
    });
    benchmark::RegisterBenchmark(
        (name + "/i8 symmetric").c_str(), [&info](benchmark::State& state) {
          choose(state, info, {.storage = DType::kInt8, .symmetric = true});
        });
  }
  return true;
}();

}  // namespace
}  // namespace tare::bench
