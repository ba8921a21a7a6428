#include "fuzz/settings.h"

namespace tare::fuzz {
namespace {

struct Key {
  const char* name;
  std::vector<std::string> values;
};

const std::vector<Key>& keys() {
  static const std::vector<Key> all{
      {"target", {"ort-cpu", "tensorrt", "openvino", "qnn", "none"}},
      {"objective", {"latency", "coverage", "size"}},
      {"objective", {"coverage"}},
      {"fallback", {"allow", "forbid"}},
      {"activations.storage", {"int8", "uint8", "auto", "int16", "float32"}},
      {"activations.symmetric", {"true", "false"}},
      {"activations.power_of_two", {"true", "false"}},
      {"activations.granularity", {"per_tensor", "per_axis"}},
      {"activations.calibrator",
       {"max", "mse", "kl", "percentile", "aciq", "auto", "average_max",
        "{name: percentile, percentile: 99}", "{name: percent_of_max, percent: 40}",
        "{name: fixed, low: -1, high: 3}", "{name: percentile, percentile: 1000}",
        "{name: fixed, low: 3, high: -1}"}},
      {"weights.storage", {"int8", "uint8", "auto", "int32"}},
      {"weights.symmetric", {"true", "false"}},
      {"weights.narrow", {"true", "false"}},
      {"weights.bits", {"8", "4", "2", "3", "1", "9"}},
      {"weights.power_of_two", {"true", "false"}},
      {"weights.granularity", {"per_axis", "per_tensor"}},
      {"weights.calibrator", {"max", "mse", "kl", "percentile"}},
      {"calibration.schedule", {"sequential", "independent", "auto"}},
      {"calibration.samples", {"1", "2", "all", "0", "-1"}},
      {"accuracy.effort", {"fast", "default", "fast", "fast"}},
      {"accuracy.slowdown", {"0", "0.1", "1", "auto", "-1"}},
      {"accuracy.equalization", {"auto", "none"}},
      {"accuracy.bias_correction", {"true", "false"}},
      {"accuracy.rounding", {"auto", "nearest"}},
      {"requantize.rounding",
       {"half_even", "upward", "to_nearest", "tflite_double", "tflite_single", "shift"}},
      {"requantize.arithmetic", {"auto", "float", "fixed_point"}},
      {"accumulator.bits", {"32", "16", "20", "8", "7"}},
      {"accumulator.overflow", {"saturate", "wrap"}},
      {"accumulator.avoid_overflow", {"true", "false"}},
      {"layers",
       {"[{match: {op: Conv}, if_present: true, weights: {bits: 4, granularity: per_tensor}}]",
        "[{match: {op: Add}, if_present: true, keep_float: true}]",
        "[{match: {op: MatMul}, if_present: true, activations: {storage: int8, calibrator: "
        "max}}]",
        "[{match: {name: '*_1'}, if_present: true, keep_float: true}]", "[{match: {}}]",
        "[{match: {op: MatMul}, if_present: true, weights: {block: 2, bits: 4}}]",
        "[{match: {op: Gemm}, if_present: true, weights: {block: 3}}]"}},
  };
  return all;
}

}  // namespace

std::vector<std::string> any_settings(Choices& choices) {
  std::vector<std::string> result;
  for (std::int64_t i = choices.below(7); i > 0; --i) {
    const Key& key = choices.of(keys());
    result.push_back(std::string(key.name) + "=" + choices.of(key.values));
  }
  return result;
}

}  // namespace tare::fuzz
