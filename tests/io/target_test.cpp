#include "tare/config.h"
#include "tare/error.h"

#include "support/files/files.h"
#include "support/files/folder.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using TargetFiles = InFolder;

constexpr const char* kWhole =
    "summary: mine\n"
    "patterns: [conv]\n"
    "activation_storage: int8\n"
    "weight_storage: int8\n";

TEST_F(TargetFiles, ChangeWhatTheyExtend) {
  write_bytes(path("mine.yaml"),
              "extends: qnn\nsummary: mine\npatterns: [conv]\nunified: []\n"
              "fixed_ranges: [{op: Tanh, low: -1, high: 1}]\n");
  const Target mine = read_target(path("mine.yaml").string());
  const Target qnn = read_target("qnn");
  EXPECT_EQ(mine.name, "mine");
  EXPECT_EQ(mine.extends, "qnn");
  EXPECT_EQ(mine.summary, "mine");
  EXPECT_EQ(mine.objective, qnn.objective);
  EXPECT_EQ(mine.wide_activations, qnn.wide_activations);
  EXPECT_EQ(mine.merges_activations, qnn.merges_activations);
  // Lists stand in place of those that they change.
  EXPECT_EQ(mine.patterns, std::vector<std::string>{"conv"});
  EXPECT_TRUE(mine.unified.empty());
  ASSERT_EQ(mine.fixed_ranges.size(), 1U);
  EXPECT_EQ(mine.fixed_ranges[0].op, "Tanh");
}

TEST_F(TargetFiles, ExtendFilesBesideThem) {
  std::filesystem::create_directory(path("inner"));
  write_bytes(path("inner/base.yaml"), std::string(kWhole) + "float_bias: true\n");
  write_bytes(path("mine.yaml"), "extends: inner/base.yaml\nweight_pair_limit: 7\n");
  const Target mine = read_target(path("mine.yaml").string());
  EXPECT_TRUE(mine.float_bias);
  EXPECT_EQ(mine.weight_pair_limit, 7);
  EXPECT_EQ(target_files(path("mine.yaml").string()),
            (std::vector<std::filesystem::path>{path("mine.yaml"), path("inner/base.yaml")}));
  EXPECT_TRUE(target_files("qnn").empty());
}

TEST_F(TargetFiles, ThatSayAllThereIsAreTheBuiltInOnes) {
  for (const std::string& name : target_names()) {
    write_bytes(path("copy.yaml"), "extends: " + name + "\n");
    Target copy = read_target(path("copy.yaml").string());
    EXPECT_EQ(copy.patterns, read_target(name).patterns);
    EXPECT_EQ(copy.operators.size(), read_target(name).operators.size());
  }
}

TEST_F(TargetFiles, OfAConfigurationAreRelativeToIt) {
  std::filesystem::create_directory(path("inner"));
  write_bytes(path("inner/mine.yaml"), kWhole);
  write_bytes(path("inner/c.yaml"), "target: mine.yaml\n");
  EXPECT_EQ(read_config(path("inner/c.yaml"), {}, {"max", "mse"}).target,
            path("inner/mine.yaml").string());
  EXPECT_EQ(read_target_name(path("inner/c.yaml"), {}), path("inner/mine.yaml").string());
  EXPECT_EQ(read_target_name(path("inner/c.yaml"), {"target=qnn"}), "qnn");
  EXPECT_EQ(read_target_name({}, {}), Config().target);
}

TEST_F(TargetFiles, NameWhatIsMissing) {
  write_bytes(path("mine.yaml"), "summary: mine\npatterns: []\n");
  const std::string message = message_of([&] { (void)read_target(path("mine.yaml").string()); },
                                         ErrorCode::kInvalidConfig);
  EXPECT_NE(message.find("'activation_storage' is missing, expected it, or 'extends' with a "
                         "target that has it"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("'weight_storage' is missing"), std::string::npos) << message;
  EXPECT_EQ(message.find("'patterns' is missing"), std::string::npos) << message;
}

TEST_F(TargetFiles, ThatExtendEachOtherEndInAMessage) {
  write_bytes(path("a.yaml"), "extends: b.yaml\n");
  write_bytes(path("b.yaml"), "extends: a.yaml\n");
  const std::string message = message_of([&] { (void)read_target(path("a.yaml").string()); },
                                         ErrorCode::kInvalidConfig);
  EXPECT_NE(message.find("more than 16 target files extend each other"), std::string::npos);
  EXPECT_EQ(target_files(path("a.yaml").string()).size(), 16U);
}

TEST_F(TargetFiles, ThatAreNotThereSaySo) {
  EXPECT_NE(message_of([&] { (void)read_target(path("no.yaml").string()); }, ErrorCode::kIo)
                .find("no.yaml: no such file"),
            std::string::npos);
  write_bytes(path("mine.yaml"), "extends: no.yaml\n");
  EXPECT_NE(message_of([&] { (void)read_target(path("mine.yaml").string()); }, ErrorCode::kIo)
                .find("no.yaml: no such file\n  while reading what 'mine.yaml' extends"),
            std::string::npos);
}

/// Each key with what it does not take.
class WrongKey : public InFolder, public testing::WithParamInterface<std::string> {};

TEST_P(WrongKey, IsSaidByNameAndPlace) {
  write_bytes(path("mine.yaml"), "extends: qnn\n" + GetParam() + "\n");
  const std::string message = message_of([&] { (void)read_target(path("mine.yaml").string()); },
                                         ErrorCode::kInvalidConfig);
  EXPECT_NE(message.find("mine.yaml:2:"), std::string::npos) << message;
  EXPECT_NE(message.find(", expected "), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(
    Of, WrongKey,
    testing::Values(
        "summary: [a]", "patterns: conv", "patterns: [{a: b}]", "activation_storage: int4",
        "activation_symmetric: 1", "wide_activations: int32", "weight_storage: float",
        "packs_weights: no", "packs_blocks: 0", "weight_pair_limit: -1", "objective: speed",
        "operators: {op: Conv}", "operators: [{only: depthwise}]",
        "operators: [{op: Conv, only: wide}]", "operators: [{op: Conv, wide: 2}]",
        "operators: [{op: Conv, quantized_result: x}]", "operators: [{op: Conv, float: -1}]",
        "operators: [{op: Conv, integer: a}]", "operators: [{op: Conv, window: .inf}]",
        "operators: [{op: Conv, runs_as: [a]}]", "merges_activations: x", "float_bias: x",
        "channels_last: x", "pads_storage: x", "rounds_float_weights: x",
        "averages_in_float: x", "unified: Concat",
        "fixed_ranges: [{op: Tanh, low: 1, high: 2}]", "fixed_ranges: [{low: 0, high: 2}]",
        "keep_float: [{pattern: Conv}]", "keep_float: [{pattern: 'Conv(', because: x}]",
        "conversion: 3", "conversion: {call: -1}", "conversion: {element: x}",
        "conversion: {layout: x}", "conversion: {lay: 1}", "least_gain: -1", "slowdown: -0.1",
        "costs: [{op: Conv, runs_as: x}]", "costs: [{float: 1}]",
        "costs: [{op: Conv, integer: x}]", "units: [{name: x}]",
        "units: [{name: x, pattern: 'Conv('}]", "colour: red"));

TEST(TargetKeys, AreThoseOfTheFiles) {
  std::vector<std::string> paths;
  for (const ConfigKey& key : target_keys()) {
    paths.push_back(key.path);
    EXPECT_FALSE(key.summary.empty()) << key.path;
  }
  EXPECT_EQ(paths.front(), "extends");
  EXPECT_NE(std::find(paths.begin(), paths.end(), "operators[].runs_as"), paths.end());
}

}  // namespace
}  // namespace tare::test
