#include "tare/pipeline.h"

#include "models.h"

#include <gtest/gtest.h>

namespace tare {
namespace {

class Objectives : public ::testing::TestWithParam<TestModel> {
 protected:
  QuantizeResult quantized(const std::string& objective) const {
    const auto data = open_dataset(GetParam().calibration);
    const Toolkit& toolkit = Toolkit::builtin();
    const Config config = read_config({}, {"objective=" + objective, "accuracy.effort=fast"},
                                      toolkit.calibrator_names());
    return quantize(load_model(GetParam().model, {}, data.get()), *data, config, toolkit,
                    {.samples = 2});
  }

  static std::size_t products(const QuantizeResult& result) {
    std::size_t count = 0;
    for (const Region& region : result.simulated.regions) {
      count += region.pattern->follows_neighbours ? 0 : 1;
    }
    return count;
  }
};

/// Networks of which every operator is on the affine allow-list or a sum of products.
class Covered : public Objectives {};

TEST_P(Covered, LeaveNoFloatOperatorBetweenTheirInputsAndOutputs) {
  EXPECT_EQ(float_operators(quantized("coverage").integer), std::vector<std::string>{});
}

TEST_P(Objectives, CoverAtLeastAsMuchAsTheyShrinkAndShrinkAtLeastAsMuchAsTheySpeedUp) {
  const std::size_t coverage = products(quantized("coverage"));
  const std::size_t size = products(quantized("size"));
  const std::size_t latency = products(quantized("latency"));
  EXPECT_GE(coverage, size);
  EXPECT_GE(size, latency);
  EXPECT_GT(latency, 0U);
}

std::vector<TestModel> covered_models() {
  std::vector<TestModel> models = test_models();
  std::erase_if(models, [](const TestModel& model) {
    return model.name.starts_with("sst2") || model.name.starts_with("yolox");
  });
  return models;
}

INSTANTIATE_TEST_SUITE_P(Models, Covered, ::testing::ValuesIn(covered_models()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Models, Objectives, ::testing::ValuesIn(test_models()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tare
