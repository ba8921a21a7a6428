#include "tare/config.h"

#include "support/files/files.h"
#include "support/files/folder.h"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

const std::vector<std::string> kCalibrators{"max", "mse", "percentile"};

class Configuration : public InFolder {
 protected:
  Config read(const std::string& text, const std::vector<std::string>& overrides = {}) const {
    write_bytes(path("c.yaml"), text);
    return read_config(path("c.yaml"), overrides, kCalibrators);
  }
};

TEST_F(Configuration, DefaultFileSaysWhatHoldsWithoutAFile) {
  const auto file = std::filesystem::path(TARE_SOURCE_DIR) / "configs/default.yaml";
  EXPECT_EQ(read_config(file, {}, kCalibrators), Config{});
  EXPECT_EQ(read_config({}, {}, kCalibrators), Config{});
  EXPECT_EQ(read(""), Config{});
}

TEST_F(Configuration, DefaultFileSpellsEveryKeyOut) {
  const std::string text =
      bytes_of(std::filesystem::path(TARE_SOURCE_DIR) / "configs/default.yaml");
  for (const ConfigKey& key : config_keys(kCalibrators)) {
    if (!key.path.starts_with("layers[].") && key.path.find(".NAME") == std::string::npos) {
      const std::string name = key.path.substr(key.path.rfind('.') + 1);
      EXPECT_NE(text.find(name.substr(0, name.find('[')) + ":"), std::string::npos) << key.path;
    }
  }
}

TEST_F(Configuration, ReadsHowInputsArePrepared) {
  const Config config = read(R"(
inputs:
  "*": {preset: yolo, fill: 7}
  image:
    fit: letterbox
    resize: 256
    crop: [224, 192]
    layout: nhwc
    color: bgr
    scale: 1/255
    mean: [0.5, 0.25, 1]
    std: 2
    batch_axis: none
  sound: {rate: 16000, length: 512, shape: [2, 3], dtype: int16, batch_axis: 1}
state: {h: hn}
steps: 100
)",
                             {"inputs.image.mean=4", "inputs.image.scale=3"});
  EXPECT_EQ(config.inputs.at("*").preset, "yolo");
  EXPECT_EQ(config.inputs.at("*").fill, 7);
  const InputPreparation& image = config.inputs.at("image");
  EXPECT_EQ(image.fit, Fit::kLetterbox);
  EXPECT_EQ(image.resize, (std::vector<std::int64_t>{256}));
  EXPECT_EQ(image.crop, (std::vector<std::int64_t>{224, 192}));
  EXPECT_EQ(image.channels_last, true);
  EXPECT_EQ(image.color, Color::kBgr);
  EXPECT_EQ(image.scale, 3);
  EXPECT_EQ(image.mean, (std::vector<float>{4}));
  EXPECT_EQ(image.std, (std::vector<float>{2}));
  EXPECT_EQ(image.batch_axis, -1);
  const InputPreparation& sound = config.inputs.at("sound");
  EXPECT_EQ(sound.rate, 16000);
  EXPECT_EQ(sound.length, 512);
  EXPECT_EQ(sound.shape, (Shape{2, 3}));
  EXPECT_EQ(sound.dtype, DType::kInt16);
  EXPECT_EQ(sound.batch_axis, 1);
  EXPECT_EQ(config.state.at("h"), "hn");
  EXPECT_EQ(config.steps, 100);
  EXPECT_EQ(read("inputs: {x: {scale: 1/4}}").inputs.at("x").scale, 0.25F);
}

TEST_F(Configuration, ReadsEveryKey) {
  const Config config = read(R"(
version: 1
target: ort-cpu
objective: size
fallback: forbid
activations:
  storage: int8
  symmetric: true
  power_of_two: true
  granularity: per_tensor
  calibrator: {name: percentile, percentile: 99.9}
  dynamic: true
weights: {storage: uint8, symmetric: false, narrow: false, bits: 4, block: 32, power_of_two: true, granularity: per_tensor, calibrator: percentile, packed: true}
calibration:
  schedule: independent
  samples: 64
  memory: 3MiB
accuracy: {effort: fast, equalization: none, bias_correction: false}
requantize: {rounding: to_nearest, arithmetic: float}
accumulator: {bits: 14, overflow: wrap, avoid_overflow: true}
dims: {batch: 1, "sequence.length": 48}
layers:
  - {match: {op: Conv, name: "features.0.*"}, activations: {storage: uint16, power_of_two: false, calibrator: {name: percentile, percentile: 99.99}}}
  - match: {name: "*/attention/*"}
    keep_float: true
    weights: {narrow: false, bits: 3, block: 0, power_of_two: true, storage: int8, granularity: per_axis}
    accuracy: {equalization: none, bias_correction: true, rounding: nearest}
  - {match: {op: MatMul}, if_present: true, activations: {dynamic: false}, inputs: {storage: int8}}
)");
  Config expected;
  expected.activations = {.storage = DType::kInt8,
                          .symmetric = true,
                          .narrow = false,
                          .power_of_two = true,
                          .granularity = Granularity::kPerTensor,
                          .calibrator = {"percentile", {{"percentile", 99.9}}},
                          .dynamic = true};
  expected.weights = {.storage = DType::kUint8,
                      .symmetric = false,
                      .narrow = false,
                      .power_of_two = true,
                      .bits = 4,
                      .block = 32,
                      .granularity = Granularity::kPerTensor,
                      .calibrator = {"percentile", {}},
                      .dynamic = false};
  expected.packs_weights = true;
  expected.objective = Objective::kSize;
  expected.may_fall_back = false;
  expected.schedule = Schedule::kIndependent;
  expected.samples = 64;
  expected.memory = 3U << 20U;
  expected.effort = Effort::kFast;
  expected.equalization = false;
  expected.bias_correction = false;
  expected.requantize = {RequantizeRounding::kToNearest, RequantizeArithmetic::kFloat, {}};
  expected.accumulator = {14, Overflow::kWrap};
  expected.avoid_overflow = true;
  expected.dims = {{"batch", 1}, {"sequence.length", 48}};
  expected.layers.resize(3);
  expected.layers[0].op = "Conv";
  expected.layers[0].name = "features.0.*";
  expected.layers[0].activations.calibrator = {"percentile", {{"percentile", 99.99}}};
  expected.layers[0].activations.storage = DType::kUint16;
  expected.layers[0].activations.power_of_two = false;
  expected.layers[1].name = "*/attention/*";
  expected.layers[1].keep_float = true;
  expected.layers[1].weights.bits = 3;
  expected.layers[1].weights.block = 0;
  expected.layers[1].equalization = false;
  expected.layers[1].bias_correction = true;
  expected.layers[1].rounding = Rounding::kNearest;
  expected.layers[1].weights.narrow = false;
  expected.layers[1].weights.power_of_two = true;
  expected.layers[1].weights.storage = DType::kInt8;
  expected.layers[1].weights.granularity = Granularity::kPerAxis;
  expected.layers[2].op = "MatMul";
  expected.layers[2].activations.dynamic = false;
  expected.layers[2].if_present = true;
  expected.layers[2].inputs.storage = DType::kInt8;
  ASSERT_EQ(config.layers.size(), expected.layers.size());
  const std::array<std::string, 3> places{"23:5", "24:5", "28:5"};
  for (std::size_t i = 0; i < places.size(); ++i) {
    expected.layers[i].where = path("c.yaml").string() + ":" + places[i];
  }
  EXPECT_EQ(config, expected);
}

TEST_F(Configuration, SaysDynamicInOneWord) {
  const Config config = read(
      "activations: dynamic\nlayers:\n"
      "  - {match: {op: Conv}, activations: dynamic}\n");
  EXPECT_TRUE(config.activations.dynamic);
  EXPECT_EQ(config.layers.at(0).activations.dynamic, true);
  EXPECT_THROW(read("activations: static\n"), Error);
  EXPECT_THROW(read("weights: dynamic\n"), Error);
}

TEST_F(Configuration, ChoosesTheScheduleOfTheEffortUnlessOneIsNamed) {
  EXPECT_EQ(schedule_of(read("")), Schedule::kSequential);
  EXPECT_EQ(schedule_of(read("accuracy: {effort: fast}")), Schedule::kIndependent);
  EXPECT_EQ(schedule_of(read("calibration: {schedule: independent}")), Schedule::kIndependent);
  EXPECT_EQ(schedule_of(read("accuracy: {effort: fast}\ncalibration: {schedule: sequential}")),
            Schedule::kSequential);
  EXPECT_EQ(schedule_of(read("calibration: {schedule: auto}")), Schedule::kSequential);
}

TEST_F(Configuration, TakesOverridesInOrderOnTopOfTheFile) {
  const Config config =
      read("activations: {symmetric: true, calibrator: percentile}\ndims: {a: 1}\n",
           {"activations.symmetric=false", "calibration.samples=5", "calibration.samples=7",
            "dims.b=3", "weights.calibrator={name: percentile, percentile: 99}"});
  EXPECT_EQ(config.activations.symmetric, false);
  EXPECT_EQ(config.activations.calibrator.name, "percentile");
  EXPECT_EQ(config.samples, 7);
  EXPECT_EQ(config.dims, (std::map<std::string, std::int64_t>{{"a", 1}, {"b", 3}}));
  EXPECT_EQ(config.weights.calibrator, (CalibratorChoice{"percentile", {{"percentile", 99}}}));
}

TEST_F(Configuration, LooksAtKeysThatGoTogetherOnceAllAreRead) {
  const Config config = read("requantize: {arithmetic: fixed_point}\n",
                             {"requantize.rounding=shift", "weights.power_of_two=true",
                              "activations.power_of_two=true"});
  EXPECT_EQ(
      config.requantize,
      (RequantizeConfig{RequantizeRounding::kShift, RequantizeArithmetic::kFixedPoint, {}}));
}

TEST_F(Configuration, GoesBackToAutomaticByOverride) {
  const Config config = read("activations: {storage: int8}\ncalibration: {samples: 3}\n",
                             {"activations.storage=auto", "calibration.samples=all"});
  EXPECT_EQ(config, Config{});
}

TEST(ParseBytes, CountsUnits) {
  EXPECT_EQ(parse_bytes("0"), 0U);
  EXPECT_EQ(parse_bytes("17B"), 17U);
  EXPECT_EQ(parse_bytes("3KiB"), 3U * 1024);
  EXPECT_EQ(parse_bytes("2MiB"), 2U << 20U);
  EXPECT_EQ(parse_bytes("1GiB"), 1U << 30U);
  EXPECT_EQ(parse_bytes("5KB"), 5000U);
  EXPECT_EQ(parse_bytes("5kB"), 5000U);
  EXPECT_EQ(parse_bytes("5GB"), 5000000000U);
}

TEST(ParseBytes, TakesFractionsOfAUnit) {
  EXPECT_EQ(parse_bytes("0.5MB"), 500000U);
  EXPECT_EQ(parse_bytes("1.5GiB"), 3U << 29U);
  EXPECT_EQ(parse_bytes("0.25KiB"), 256U);
  EXPECT_EQ(parse_bytes("2.0001kB"), 2000U);
}

TEST(ParseBytes, RefusesWhatIsNoSize) {
  for (const char* text : {"", "12", "GiB", "-1B", "1.5B", "0.5", "1.GiB", ".5GiB", "1..5MB",
                           "1.5.5MB", "0.", "1 GiB", "1TiB", "1gib", "1Gi", "0x1B",
                           "99999999999GiB", "999999999999999999999999B"}) {
    EXPECT_FALSE(parse_bytes(text)) << text;
  }
}

TEST(ConfigKeys, AreThoseOfTheSchemaWithTheirValues) {
  const std::vector<ConfigKey> keys = config_keys(kCalibrators);
  const auto find = [&](const std::string& path) {
    const auto found = std::find_if(keys.begin(), keys.end(),
                                    [&](const ConfigKey& key) { return key.path == path; });
    return found == keys.end() ? std::string("no such key") : found->values;
  };
  EXPECT_EQ(find("activations.storage"), "auto, int8, uint8, int16 or uint16");
  EXPECT_EQ(find("layers[].activations.storage"), "int8, uint8, int16 or uint16");
  EXPECT_EQ(find("weights.calibrator"), "auto, max, mse or percentile");
  EXPECT_EQ(find("calibration.samples"), "all, or an integer of at least 1");
  EXPECT_EQ(find("dims.NAME"), "an integer of at least 1");
}

TEST(ConfigKeys, SayWhatHoldsWithoutThem) {
  const auto value = [keys = config_keys(kCalibrators)](const std::string& path) {
    const auto found = std::find_if(keys.begin(), keys.end(),
                                    [&](const ConfigKey& key) { return key.path == path; });
    return found == keys.end() ? std::string("no such key") : found->value;
  };
  EXPECT_EQ(value("target"), "ort-cpu");
  EXPECT_EQ(value("objective"), "auto");
  EXPECT_EQ(value("activations.calibrator"), "mse");
  EXPECT_EQ(value("weights.symmetric"), "auto");
  EXPECT_EQ(value("weights.bits"), "auto");
  EXPECT_EQ(value("calibration.samples"), "all");
  EXPECT_EQ(value("calibration.memory"), "0");
  EXPECT_EQ(value("accuracy.slowdown"), "auto");
  EXPECT_EQ(value("plugins"), "[]");
}

TEST(ConfigKeys, OfEntriesOfLayersHaveExamplesLikeTheGeneralKeys) {
  const auto value = [keys = config_keys(kCalibrators)](const std::string& path) {
    const auto found = std::find_if(keys.begin(), keys.end(),
                                    [&](const ConfigKey& key) { return key.path == path; });
    return found == keys.end() ? std::string("no such key") : found->value;
  };
  EXPECT_EQ(value("layers[].match.op"), "MatMul");
  EXPECT_EQ(value("layers[].inputs.calibrator"), "mse");
  EXPECT_EQ(value("layers[].weights.symmetric"), "true");
  // The general one is auto, which an entry has no use for.
  EXPECT_EQ(value("layers[].activations.storage"), "int8");
}

TEST(Targets, AreReadByNameWithoutFiles) {
  for (const std::string& name : target_names()) {
    const Target target = read_target(name);
    EXPECT_EQ(target.name, name);
    EXPECT_FALSE(target.summary.empty());
    EXPECT_FALSE(target.patterns.empty());
  }
  const Target target = read_target("ort-cpu");
  EXPECT_EQ(target.activation_storage, DType::kUint8);
  EXPECT_EQ(target.weight_storage, DType::kInt8);
  EXPECT_FALSE(target.activation_symmetric);
  EXPECT_TRUE(target.operators.front().quantized_result);
}

TEST(Globs, MatchRunsAndSingleCharacters) {
  EXPECT_TRUE(glob_match("", ""));
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("features.0.*", "features.0.conv"));
  EXPECT_FALSE(glob_match("features.0.*", "features.10.conv"));
  EXPECT_TRUE(glob_match("*/attention/*", "/layer1/attention/MatMul"));
  EXPECT_TRUE(glob_match("conv?", "conv1"));
  EXPECT_FALSE(glob_match("conv?", "conv"));
  EXPECT_FALSE(glob_match("conv", "conv1"));
  EXPECT_TRUE(glob_match("a*b*c", "aXbbYc"));
  EXPECT_FALSE(glob_match("a*b*c", "aXcYb"));
  EXPECT_FALSE(glob_match(std::string(64, '*') + "b", std::string(100000, 'a')));
}

}  // namespace
}  // namespace tare::test
