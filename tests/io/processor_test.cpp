#include "tare/config.h"
#include "tare/error.h"

#include "support/files/files.h"
#include "support/files/folder.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using Processors = InFolder;

constexpr const char* kTwoProcessors =
    "summary: mine\n"
    "patterns: [conv]\n"
    "activation_storage: uint8\n"
    "weight_storage: int8\n"
    "conversion: {call: 1}\n"
    "operators: [{op: Conv, float: 1, integer: 1}]\n"
    "processors:\n"
    "  - {name: avx2, conversion: {call: 2}, slowdown: 0.5, costs: [{op: Conv, float: 2}]}\n"
    "  - {name: neon, conversion: {call: 3}}\n";

TEST_F(Processors, HaveCostsInPlaceOfTheGeneralOnes) {
  write_bytes(path("mine.yaml"), kTwoProcessors);
  const std::string name = path("mine.yaml").string();
  const Target avx2 = read_target(name, "avx2");
  EXPECT_EQ(avx2.processor, "avx2");
  EXPECT_EQ(avx2.conversion.call, 2);
  EXPECT_EQ(avx2.slowdown, 0.5);
  EXPECT_EQ(read_target(name, "neon").conversion.call, 3);
  // Of others there are none.
  for (const char* other : {"any", "avx512"}) {
    EXPECT_EQ(read_target(name, other).processor, "");
    EXPECT_EQ(read_target(name, other).conversion.call, 1);
  }
}

/// With VNNI or without, by whomever it is made.
TEST_F(Processors, HaveCostsOfTheKindThatTheyAreOneOf) {
  write_bytes(path("mine.yaml"),
              "extends: qnn\nprocessors:\n"
              "  - {name: avx512_vnni, conversion: {call: 2}}\n"
              "  - {name: avx512, conversion: {call: 3}}\n");
  const auto kind = [&](const char* processor) {
    return read_target(path("mine.yaml").string(), processor).processor;
  };
  EXPECT_EQ(kind("avx512_vnni_intel"), "avx512_vnni");
  EXPECT_EQ(kind("avx512_vnni"), "avx512_vnni");
  EXPECT_EQ(kind("avx512"), "avx512");
  EXPECT_EQ(kind("avx2"), "");
  EXPECT_EQ(read_target(path("mine.yaml").string(), "avx512_vnni_intel").conversion.call, 2);
}

TEST_F(Processors, KeepTheirCostsWhereAFileSaysNoOthers) {
  write_bytes(path("base.yaml"), kTwoProcessors);
  write_bytes(path("mine.yaml"), "extends: base.yaml\nfloat_bias: true\n");
  EXPECT_EQ(read_target(path("mine.yaml").string(), "avx2").processor, "avx2");
  write_bytes(path("mine.yaml"), "extends: base.yaml\nconversion: {call: 9}\n");
  EXPECT_EQ(read_target(path("mine.yaml").string(), "avx2").conversion.call, 9);
  write_bytes(path("mine.yaml"), "extends: base.yaml\noperators: [{op: Conv, float: 7}]\n");
  EXPECT_EQ(read_target(path("mine.yaml").string(), "avx2").processor, "");
}

TEST_F(Processors, HaveKnownNames) {
  write_bytes(path("mine.yaml"),
              "extends: qnn\nprocessors: [{name: avx22, conversion: {call: 1}}]\n");
  try {
    read_target(path("mine.yaml").string());
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("avx2"), std::string::npos);
  }
}

TEST_F(Processors, OfThisMachineAreWhatTheEnvironmentSays) {
  const char* named = std::getenv("TARE_PROCESSOR");
  const std::string before = named == nullptr ? "" : named;
  setenv("TARE_PROCESSOR", "neon", 1);
  EXPECT_EQ(this_processor(), "neon");
  setenv("TARE_PROCESSOR", "abacus", 1);
  EXPECT_EQ(this_processor(), "any");
  unsetenv("TARE_PROCESSOR");
  EXPECT_NE(this_processor(), "");
  if (!before.empty()) {
    setenv("TARE_PROCESSOR", before.c_str(), 1);
  }
}

TEST_F(Processors, OfTheBuiltInTargetsAreAllKnownOnes) {
  for (const std::string& name : processor_names()) {
    EXPECT_EQ(read_target("ort-cpu", name).processor, name);
  }
}

}  // namespace
}  // namespace tare::test
