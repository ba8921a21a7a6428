
#include "equalize/random_factors.h"
#include "equalize/random_layers.h"
#include "support/files/files.h"
#include "support/files/folder.h"
#include "support/unlike_channels.h"

#include <limits>

namespace tare::test {
namespace {

class FactorsInTables : public InFolder {
 protected:
  FactorsInTables() : quantized_(network_.quantized(UnlikeChannels::config())) {
    write_table(path("t.yaml"), quantized_);
  }
  QuantizeResult again() const {
    return quantize(network_.graph, TableFile(path("t.yaml")), UnlikeChannels::config(),
                    Toolkit::builtin());
  }
  /// What is wrong with the table once all from `equalization:` to `points:` is that text.
  std::string faults_of(const std::string& text) const {
    std::string bytes = bytes_of(path("t.yaml"));
    const std::size_t first = bytes.find("equalization:");
    bytes.replace(first, bytes.find("points:") - first, text);
    write_bytes(path("t.yaml"), bytes);
    return message_of([&] { (void)again(); }, ErrorCode::kInvalidConfig);
  }

  const UnlikeChannels network_{0x1p-4F, 0x1p4F};
  const QuantizeResult quantized_;
};

TEST_F(FactorsInTables, GiveTheSameIntegerGraph) {
  ASSERT_FALSE(quantized_.factors.empty());
  const QuantizeResult second = again();
  EXPECT_EQ(second.factors, quantized_.factors);
  EXPECT_EQ(second.integer, quantized_.integer);
}

TEST_F(FactorsInTables, AreReadBackBitForBit) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    const Graph graph = RandomLayers(seed).network(12);
    ChannelFactors factors = random_factors(graph, random);
    for (auto& [name, values] : factors) {
      for (float& value : values) {
        value = std::nextafter(value / 3, std::numeric_limits<float>::max());
      }
    }
    QuantizeResult result = quantized_;
    result.factors = factors;
    write_table(path("u.yaml"), result);
    EXPECT_EQ(TableFile(path("u.yaml")).factors(graph), factors) << seed;
  }
}

TEST_F(FactorsInTables, ThatAreWrongAreAllNamedAtOnce) {
  EXPECT_EQ(faults_of("equalization:\n"
                      "  Comv: [1, 1]\n"
                      "  Conv: [1, 2, 3]\n"
                      "  Conv_1: [1, -1, x, 1]\n"
                      "  Relu: 0.5\n"),
            "t.yaml:11:9: the model has no value 'Comv'\n"
            "  hint: did you mean 'Conv'?\n"
            "t.yaml:12:9: 'Conv' holds 3 numbers, expected 8\n"
            "t.yaml:13:15: an entry of 'Conv_1' is '-1', expected a number above 0\n"
            "t.yaml:13:19: an entry of 'Conv_1' is 'x', expected a number above 0\n"
            "t.yaml:14:9: 'Relu' holds 1 number, expected 8\n"
            "  while reading the table");
  EXPECT_EQ(faults_of("equalization: 3\n"),
            "t.yaml:10:15: 'equalization' is '3', expected a map\n"
            "  while reading the table");
}

TEST_F(FactorsInTables, BelongToThoseParameters) {
  const std::string ones = "equalization:\n  Conv: [1, 1, 1, 1, 1, 1, 1, 1]\n";
  const std::string changed = faults_of(ones);
  EXPECT_NE(changed.find("as tables belong to one model and its equalization"),
            std::string::npos)
      << changed;
}

TEST_F(FactorsInTables, AreMissedWhereTheyWereTakenOut) {
  const std::string removed = faults_of("");
  EXPECT_NE(removed.find("'model' is "), std::string::npos) << removed;
}

}  // namespace
}  // namespace tare::test
