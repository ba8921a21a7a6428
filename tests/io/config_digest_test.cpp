#include "io/config_digest.h"

#include <map>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

std::uint64_t digest(const std::vector<std::string>& overrides) {
  return config_digest(read_config({}, overrides, {"max", "percentile", "mse"}));
}

TEST(ConfigDigest, ChangesWithEveryKey) {
  std::map<std::uint64_t, std::string> found{{digest({}), "nothing"}};
  for (const std::string setting :
       {"target=qnn",
        "objective=size",
        "fuse_silu=true",
        "fuse_silu=false",
        "fallback=forbid",
        "activations.storage=int8",
        "activations.storage=uint8",
        "activations.symmetric=true",
        "activations.power_of_two=true",
        "activations.calibrator=percentile",
        "activations.calibrator={name: percentile, percentile: 99.9}",
        "activations.calibrator={name: percentile, percentile: 99.8}",
        "activations=dynamic",
        "weights.storage=uint8",
        "weights.storage=int8",
        "weights.symmetric=false",
        "weights.narrow=false",
        "weights.bits=4",
        "weights.power_of_two=true",
        "weights.granularity=per_tensor",
        "weights.calibrator=percentile",
        "calibration.schedule=independent",
        "calibration.schedule=sequential",
        "calibration.memory=3MiB",
        "calibration.samples=64",
        "accuracy.effort=fast",
        "accuracy.slowdown=0",
        "accuracy.slowdown=0.01",
        "accuracy.equalization=none",
        "accuracy.bias_correction=false",
        "accuracy.rounding=nearest",
        "requantize.rounding=to_nearest",
        "requantize={rounding: to_nearest, arithmetic: float}",
        "accumulator.bits=14",
        "accumulator.overflow=wrap",
        "accumulator.avoid_overflow=true",
        "dims={a: 1}",
        "dims={a: 2}",
        "dims={b: 1}",
        "plugins=[a.so]",
        "plugins=[b.so]",
        "plugins=[a.so, b.so]"}) {
    const auto [other, is_new] = found.emplace(digest({setting}), setting);
    EXPECT_TRUE(is_new) << setting << " is like " << other->second;
  }
}

TEST(ConfigDigest, ChangesWithTheRulesOfLayersAndTheirOrder) {
  LayerRule first;
  first.name = "a";
  first.keep_float = true;
  LayerRule second;
  second.op = "a";
  second.activations.dynamic = false;
  std::map<std::uint64_t, int> found;
  int number = 0;
  for (const std::vector<LayerRule>& layers :
       {std::vector<LayerRule>{}, {first}, {second}, {first, second}, {second, first}}) {
    Config config;
    config.layers = layers;
    const auto [other, is_new] = found.emplace(config_digest(config), number++);
    EXPECT_TRUE(is_new) << number << " is like " << other->second;
  }
}

TEST(ConfigDigest, IsOfValuesAndNotOfHowTheyWereSet) {
  EXPECT_EQ(digest({"activations.calibrator=mse", "weights.bits=auto"}), digest({}));
  EXPECT_EQ(digest({"weights.bits=4", "dims.a=2"}), digest({"dims={a: 2}", "weights.bits=4"}));
}

}  // namespace
}  // namespace tare::test
