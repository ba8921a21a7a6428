#include "tare/quantize.h"

#include "support/files/digits.h"
#include "support/files/files.h"
#include "support/files/folder.h"

#include <filesystem>

namespace tare::test {
namespace {

class QuantizeCheckpoints : public InFolder {
 protected:
  static constexpr std::size_t kSamples = 64;  // enough to equalize

  QuantizeResult quantized(const std::string& checkpoint, const Config& config = {}) const {
    return quantize(digits_.model, *digits_.data, config, Toolkit::builtin(),
                    {.samples = kSamples, .checkpoint = checkpoint});
  }
  static void expect_same(const QuantizeResult& result, const QuantizeResult& expected) {
    EXPECT_EQ(result.table, expected.table);
    EXPECT_EQ(result.factors, expected.factors);
    EXPECT_EQ(result.float_nodes, expected.float_nodes);
    EXPECT_EQ(result.audit.samples, expected.audit.samples);
    EXPECT_EQ(result.audit.data, expected.audit.data);
    ASSERT_EQ(result.audit.warnings.size(), expected.audit.warnings.size());
    for (std::size_t i = 0; i < expected.audit.warnings.size(); ++i) {
      EXPECT_EQ(result.audit.warnings[i].where, expected.audit.warnings[i].where);
    }
  }

  const Digits digits_;
};

TEST_F(QuantizeCheckpoints, AreGoneOnFromWhereverTheyEnd) {
  const QuantizeResult expected = quantized("");
  const std::string file = path("m.checkpoint");
  expect_same(quantized(file), expected);
  const std::string whole = bytes_of(file);
  // Cut anywhere: in the head, within records, between them, and with nothing missing.
  constexpr std::size_t kCuts = 9;
  for (std::size_t cut = 0; cut <= kCuts; ++cut) {
    write_bytes(file, whole.substr(0, whole.size() * cut / kCuts));
    expect_same(quantized(file), expected);
    EXPECT_EQ(bytes_of(file), whole) << cut;
  }
}

TEST_F(QuantizeCheckpoints, AreGoneOnFromWithSeveralPrimaryCandidates) {
  Config config;
  config.activations.calibrator.name = "auto";
  const QuantizeResult expected = quantized("", config);
  const std::string file = path("m.checkpoint");
  expect_same(quantized(file, config), expected);
  const std::string whole = bytes_of(file);
  write_bytes(file, whole.substr(0, whole.size() / 2));
  expect_same(quantized(file, config), expected);
  EXPECT_EQ(bytes_of(file), whole);
}

TEST_F(QuantizeCheckpoints, OfOtherWorkOrOfDamagedBytesAreReplaced) {
  const QuantizeResult expected = quantized("");
  const std::string file = path("m.checkpoint");
  Config other;
  other.activations.calibrator.name = "max";
  (void)quantized(file, other);
  expect_same(quantized(file), expected);
  const std::string whole = bytes_of(file);
  for (const std::size_t place : {std::size_t{3}, whole.size() / 3, whole.size() - 1}) {
    std::string damaged = whole;
    damaged[place] = static_cast<char>(damaged[place] ^ 0x20);
    write_bytes(file, damaged);
    expect_same(quantized(file), expected);
    EXPECT_EQ(bytes_of(file), whole) << place;
  }
}

TEST_F(QuantizeCheckpoints, AreNotMadeForASinglePass) {
  Config config;
  config.effort = Effort::kFast;
  (void)quantized(path("m.checkpoint"), config);
  EXPECT_FALSE(std::filesystem::exists(path("m.checkpoint")));
}

}  // namespace
}  // namespace tare::test
