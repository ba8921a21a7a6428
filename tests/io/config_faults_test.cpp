#include "tare/config.h"

#include "support/files/files.h"
#include "support/files/folder.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

class ConfigFaults : public InFolder {
 protected:
  std::string message(const std::string& text, const std::vector<std::string>& overrides = {},
                      ErrorCode code = ErrorCode::kInvalidConfig) const {
    write_bytes(path("c.yaml"), text);
    return message_of(
        [&] {
          read_config(path("c.yaml"), overrides, {"max", "percentile"});
        },
        code);
  }
};

TEST_F(ConfigFaults, SayWhereAnUnknownKeyIsAndWhatWasMeant) {
  EXPECT_EQ(message("version: 1\nactivations:\n  calibrater: max\n"),
            "c.yaml:3:3: unknown key 'calibrater', expected storage, symmetric, narrow, bits, "
            "power_of_two, granularity, calibrator or dynamic\n"
            "  hint: did you mean 'calibrator'?");
}

TEST_F(ConfigFaults, SayWhichKeysDoNotGoTogether) {
  const std::string undefined =
      "c.yaml: 'requantize.rounding' is not defined in that 'requantize.arithmetic', expected "
      "float for half_even, fixed_point for tflite_double, tflite_single and shift";
  EXPECT_EQ(message("", {"requantize.arithmetic=fixed_point"}), undefined);
  EXPECT_EQ(message("requantize: {rounding: tflite_double, arithmetic: float}\n"), undefined);
  const std::string shift =
      "c.yaml: 'requantize.rounding' is shift between scales that may be anything, expected "
      "'power_of_two: true' for activations and weights";
  EXPECT_EQ(message("weights: {power_of_two: true}\nrequantize: {rounding: shift}\n"), shift);
  EXPECT_EQ(message("weights: {power_of_two: true}\nactivations: {power_of_two: true}\n"
                    "requantize: {rounding: shift}\n"
                    "layers: [{match: {op: Conv}, weights: {power_of_two: false}}]\n"),
            shift);
}

TEST_F(ConfigFaults, SayWhichAccumulatorsThereAre) {
  for (const std::string bits : {"7", "33", "-14", "14.5", "wide"}) {
    EXPECT_EQ(message("accumulator: {bits: " + bits + "}\n"),
              "c.yaml:1:21: 'bits' is '" + bits + "', expected auto, or an integer in [8,32]");
  }
  EXPECT_EQ(message("accumulator: {overflow: avoid}\n"),
            "c.yaml:1:25: 'overflow' is 'avoid', expected auto, saturate or wrap");
  EXPECT_EQ(message("", {"accumulator.avoid_overflow=7"}),
            "--set accumulator.avoid_overflow=7: 'avoid_overflow' is '7', expected true or "
            "false");
}

TEST_F(ConfigFaults, SayWhereAKeyBelongsThatStandsElsewhere) {
  const auto hint = [&](const std::string& text) {
    const std::string all = message(text);
    return all.substr(all.rfind('\n') + 1);
  };
  EXPECT_EQ(hint("equalization: none\n"), "  hint: did you mean accuracy.equalization?");
  EXPECT_EQ(hint("accuracy: {symmetric: true}\n"),
            "  hint: did you mean activations.symmetric or weights.symmetric?");
}

TEST_F(ConfigFaults, AreReportedTogether) {
  EXPECT_EQ(
      message("version: 2\n"
              "target: ortcpu\n"
              "activations: {storage: int4, symmetric: maybe}\n"
              "weights: [int8]\n"
              "calibration: {samples: 0, schedule: sequentially}\n"
              "dims: {batch: many}\n"
              "layers:\n"
              "  - keep_float: \"true\"\n"
              "  - {match: {op: Conv}, activations: {calibrator: {name: percentil, percentile: "
              "a}}}\n"
              "  - Conv\n"
              "plugin: []\n"),
      "c.yaml:1:10: 'version' is '2', expected 1\n"
      "c.yaml:2:9: unknown target 'ortcpu', expected openvino, ort-cpu, qnn or tensorrt, or "
      "the "
      "path of a target file\n"
      "  hint: did you mean 'ort-cpu'?\n"
      "c.yaml:3:24: 'storage' is 'int4', expected auto, int8, uint8, int16 or uint16\n"
      "  hint: did you mean 'int8'?\n"
      "c.yaml:3:41: 'symmetric' is 'maybe', expected true or false\n"
      "c.yaml:4:10: 'weights' is a list, expected a map\n"
      "c.yaml:5:37: 'schedule' is 'sequentially', expected auto, sequential or independent\n"
      "  hint: did you mean 'sequential'?\n"
      "c.yaml:5:24: 'samples' is '0', expected all, or an integer of at least 1\n"
      "c.yaml:6:15: 'batch' is 'many', expected an integer of at least 1\n"
      "c.yaml:8:5: an entry of 'layers' matches nothing, expected 'match' with 'op', 'name', "
      "'pattern' or a shape\n"
      "c.yaml:8:17: 'keep_float' is 'true', expected true or false\n"
      "c.yaml:9:58: unknown calibrator 'percentil', expected max or percentile\n"
      "  hint: did you mean 'percentile'?\n"
      "c.yaml:9:81: 'percentile' is 'a', expected a number\n"
      "c.yaml:10:5: an entry of 'layers' is 'Conv', expected a map\n"
      "c.yaml:11:1: unknown key 'plugin', expected version, target, recipe, processor, "
      "objective, "
      "fuse_silu, "
      "fallback, "
      "activations, "
      "weights, embeddings, cache, "
      "calibration, accuracy, requantize, accumulator, dims, inputs, state, steps, "
      "plugins or layers\n"
      "  hint: did you mean 'plugins'?");
}

TEST_F(ConfigFaults, SayWhichOverrideIsWrong) {
  EXPECT_EQ(
      message("", {"activations.calibrater=max", "target", "weights..storage=int8", "=1",
                   "layers=[]", "weights=int8", "activations.symmetric={"}),
      "--set activations.calibrater=max: unknown key 'calibrater', expected storage, "
      "symmetric, narrow, bits, power_of_two, granularity, calibrator or dynamic\n"
      "  hint: did you mean 'calibrator'?\n"
      "--set target: is not a setting, expected KEY.SUBKEY=VALUE\n"
      "--set weights..storage=int8: is not a setting, expected KEY.SUBKEY=VALUE\n"
      "--set =1: is not a setting, expected KEY.SUBKEY=VALUE\n"
      "--set layers=[]: 'layers' cannot be set here, expected 'layers' in a configuration "
      "file\n"
      "--set weights=int8: 'weights' is 'int8', expected a map\n"
      "--set activations.symmetric={: end of map flow not found");
}

TEST_F(ConfigFaults, AreSaidOfTextThatIsNotYaml) {
  EXPECT_EQ(message("weights: {storage: int8\n"), "c.yaml:2:1: end of map flow not found");
  EXPECT_EQ(message("a: b: c\n"), "c.yaml:1:5: illegal map value");
  EXPECT_EQ(message("just words\n"),
            "c.yaml:1:1: the document is 'just words', expected a map of keys");
  EXPECT_EQ(message("version: 1\n\x01\n"), "c.yaml:2:1: is not text");
  EXPECT_EQ(message("version: 1\n---\nversion: 1\n"),
            "c.yaml:3:1: a second document, expected one");
  EXPECT_EQ(message("target: ort-cpu\ntarget: ort-cpu\n"),
            "c.yaml:2:1: duplicate key 'target'");
  EXPECT_EQ(message("[a, b]: 1\n"), "c.yaml:1:1: a key is a list, expected a name");
  EXPECT_EQ(message("weights: &w {narrow: true}\nlayers: [*w]\n"),
            "c.yaml:1:10: anchors and aliases are not supported");
}

TEST_F(ConfigFaults, AreSaidOfAFileThatIsNotThereOrTooLarge) {
  EXPECT_EQ(message_of([&] { read_config(path("no.yaml"), {}, {}); }, ErrorCode::kIo),
            "no.yaml: no such file");
  EXPECT_EQ(message(std::string((1 << 20) + 1, '#'), {}, ErrorCode::kIo),
            "c.yaml: is larger than 1 MiB");
}

TEST(Targets, ThatAreUnknownAreErrorsWithTheKnownOnes) {
  try {
    read_target("ort_cpu");
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidConfig);
    EXPECT_STREQ(
        error.what(),
        "unknown target 'ort_cpu', expected openvino, ort-cpu, qnn or tensorrt, or the "
        "path of a target file\n  hint: did you mean 'ort-cpu'?");
  }
}

}  // namespace
}  // namespace tare::test
