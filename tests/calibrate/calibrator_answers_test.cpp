// Calibrators that are told of the point, and that choose parameters themselves.
#include "tare/quantize.h"

#include "support/files/digits.h"
#include "support/message.h"

#include <functional>
#include <limits>
#include <mutex>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using Answer = std::function<CalibratorAnswer(const TensorStatistics&, const QuantSpec&,
                                              const CalibrationPoint&)>;

/// Answers as the test says.
class Answering final : public Calibrator {
 public:
  explicit Answering(Answer answer) : answer_(std::move(answer)) {}
  Range choose(const TensorStatistics& observed, const QuantSpec&) const override {
    return {observed.low(), observed.high()};
  }
  CalibratorAnswer answer(const TensorStatistics& observed, const QuantSpec& spec,
                          const CalibrationPoint& point) const override {
    return answer_(observed, spec, point);
  }

 private:
  Answer answer_;
};

QuantizeResult quantized(const Answer& answer, Config config = {}) {
  const Digits digits;
  Toolkit toolkit = Toolkit::builtin();
  toolkit.calibrators.push_back({.name = "answering",
                                 .summary = "as the test says",
                                 .options = {},
                                 .make = [answer](const CalibratorOptions&) {
                                   return std::make_unique<Answering>(answer);
                                 }});
  config.activations.calibrator.name = "answering";
  return quantize(digits.model, *digits.data, config, toolkit, {.samples = 10});
}

Range all_of(const TensorStatistics& observed) {
  return {observed.low(), observed.high()};
}

TEST(CalibratorAnswers, KnowPointLayerOperatorAndTarget) {
  std::mutex mutex;
  std::set<std::string> told;
  Config config;
  config.target = "qnn";
  config.weights.calibrator.name = "answering";
  const QuantizeResult result = quantized(
      [&](const TensorStatistics& observed, const QuantSpec&, const CalibrationPoint& point) {
        const std::scoped_lock lock(mutex);
        EXPECT_EQ(point.target.name, "qnn");
        told.insert(std::string(point.is_weight ? "weight " : "") + std::string(point.op) +
                    " " + std::string(point.name));
        return all_of(observed);
      },
      config);
  EXPECT_TRUE(told.contains(" image")) << "an input has no operator";
  EXPECT_TRUE(told.contains("Relu /stem/act/Relu_output_0"));
  EXPECT_TRUE(told.contains("weight Gemm classifier.weight"));
  for (const auto& [name, point] : result.table) {
    const QuantPoint* known = result.simulated.find(name);
    if (known->role == Role::kActivation) {
      EXPECT_TRUE(std::any_of(told.begin(), told.end(), [&, of = " " + name](const auto& each) {
        return each.ends_with(of);
      })) << name;
    }
  }
}

TEST(CalibratorAnswers, MayBeParametersWhichAreUsedToTheLastBit) {
  for (const Schedule schedule : {Schedule::kSequential, Schedule::kIndependent}) {
    Config config;
    config.schedule = schedule;
    const QuantizeResult result = quantized(
        [](const TensorStatistics& observed, const QuantSpec&,
           const CalibrationPoint& point) -> CalibratorAnswer {
          if (point.op == "Add") {
            return ScaleAndZeroPoint{0.0371F, 17};
          }
          return all_of(observed);
        },
        config);
    std::size_t sums = 0;
    for (const QuantPoint& point : result.simulated.points) {
      if (point.role != Role::kActivation) {
        continue;
      }
      const auto node = result.simulated.source.producer(point.value);
      if (!node || result.simulated.source.node(*node).op != "Add") {
        continue;
      }
      ++sums;
      const PointResult& chosen = result.table.at(point.name);
      EXPECT_EQ(chosen.params.scale[0], 0.0371F);
      EXPECT_EQ(chosen.params.zero_point[0], 17);
      EXPECT_DOUBLE_EQ(chosen.calibrated[0].low, -17 * static_cast<double>(0.0371F));
      EXPECT_DOUBLE_EQ(chosen.calibrated[0].high, 238 * static_cast<double>(0.0371F));
    }
    EXPECT_GT(sums, 0U);
  }
}

TEST(CalibratorAnswers, ThatCannotBeParametersSayWhatWouldHaveBeen) {
  const auto message = [](ScaleAndZeroPoint answer, const Config& config) {
    return message_of(
        [&] {
          (void)quantized([&](const TensorStatistics&, const QuantSpec&,
                              const CalibrationPoint&) -> CalibratorAnswer { return answer; },
                          config);
        },
        ErrorCode::kInvalidConfig);
  };
  const auto says = [&](ScaleAndZeroPoint answer, const std::string& expected,
                        const Config& config = {}) {
    const std::string text = message(answer, config);
    EXPECT_NE(text.find("calibrator 'answering': gives '"), std::string::npos) << text;
    EXPECT_NE(text.find("expected " + expected), std::string::npos) << text;
  };
  says({0, 0}, "a scale that is finite and above 0");
  says({std::numeric_limits<float>::quiet_NaN(), 0}, "a scale that is finite and above 0");
  says({1, 256}, "a zero point within [0,255]");
  Config symmetric;
  symmetric.target = "tensorrt";
  says({1, 3}, "the zero point 0, as it is symmetric", symmetric);
  Config power_of_two;
  power_of_two.activations.power_of_two = true;
  says({0.3F, 3}, "a scale that is a power of two", power_of_two);
}

}  // namespace
}  // namespace tare::test
