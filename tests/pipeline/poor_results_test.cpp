// How much time accuracy gets where the fastest plan gives results of no use.
#include "tare/execute.h"
#include "tare/graph.h"
#include "tare/quantize.h"

#include "support/config.h"
#include "support/files/samples_in_memory.h"
#include "support/random/random.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// The logarithm of a spectrum, as in networks for speech: steps of 8 bits that suit loud
/// samples leave nothing of quiet ones. The convolution that computes the spectrum takes a
/// fifth of the time.
class LogSpectrum : public ::testing::Test {
 protected:
  LogSpectrum()
      : graph_(
            parse("graph \"g\" opset 17 (%x : f32[1, 32, 12, 12]) -> (%y) {\n"
                  "const %a : f32[32, 32, 5, 5] = [0" +
                  zeros(32 * 32 * 25 - 1) +
                  "]\n"
                  "const %b : f32[64, 32, 5, 5] = [0" +
                  zeros(64 * 32 * 25 - 1) +
                  "]\n"
                  "const %e : f32[] = [0.000001]\n"
                  "\"spectrum\": %s = Conv(%x, %a) {pads=[2, 2, 2, 2]} : f32[1, 32, 12, 12]\n"
                  "%p = Mul(%s, %s) : f32[1, 32, 12, 12]\n"
                  "%q = Add(%p, %e) : f32[1, 32, 12, 12]\n"
                  "%l = Log(%q) : f32[1, 32, 12, 12]\n"
                  "%y = Conv(%l, %b) {pads=[2, 2, 2, 2]} : f32[1, 64, 12, 12]\n}")),
        data_({{"x", quieter_and_quieter()}}) {
    set("a", random_.tensor({32, 32, 5, 5}));
    set("b", random_.tensor({64, 32, 5, 5}));
  }

  QuantizeResult quantized(const Config& config) const {
    return quantize(graph_, data_, config, Toolkit::builtin(), {});
  }

  /// Of all samples, in decibels.
  double sqnr(const QuantizeResult& result) const {
    const Executable real(graph_);
    const Executable integer(result.integer);
    double power = 0;
    double error = 0;
    for (std::size_t i = 0; i < data_.size(); ++i) {
      const std::vector<Tensor> x{data_.read("x", i, 1)};
      const std::vector<float> exact = real.run(x)[0].to_float();
      const std::vector<float> rounded = integer.run(x)[0].to_float();
      for (std::size_t k = 0; k < exact.size(); ++k) {
        power += exact[k] * exact[k];
        error += (exact[k] - rounded[k]) * (exact[k] - rounded[k]);
      }
    }
    return 10 * std::log10(power / error);
  }

 private:
  static std::string zeros(int count) {
    std::string result;
    for (int i = 0; i < count; ++i) {
      result += ", 0";
    }
    return result;
  }

  Tensor quieter_and_quieter() {
    Tensor x = random_.tensor({8, 32, 12, 12});
    const auto values = x.mutable_view<float>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] *= std::pow(0.25F, static_cast<float>(i / (values.size() / 8)));
    }
    return x;
  }

  void set(const std::string& name, Tensor values) {
    const ValueId constant = *graph_.find_value(name);
    graph_.replace_uses(constant, graph_.add_constant(name + "_random", std::move(values)));
    graph_.erase_unused();
  }

  Random random_{1};
  Graph graph_;
  SamplesInMemory data_;
};

TEST_F(LogSpectrum, IsComputedInFloatAlthoughIntegersAreFaster) {
  const QuantizeResult result = quantized({});
  EXPECT_EQ(result.float_nodes, std::set<std::string>{"spectrum"});
  EXPECT_GE(sqnr(result), 15);  // what more time is taken for
}

TEST_F(LogSpectrum, TakesNoMoreTimeThanTheConfigurationAllows) {
  const QuantizeResult result = quantized(config_with({"accuracy.slowdown=0.01"}));
  EXPECT_EQ(result.float_nodes, std::set<std::string>{});
  EXPECT_LT(sqnr(result), 10);
}

TEST_F(LogSpectrum, TakesNoMoreTimeWhereThatDoesNotHelp) {
  Config config;
  LayerRule on_integers;
  on_integers.name = "spectrum";
  on_integers.keep_float = false;
  config.layers.push_back(on_integers);
  const QuantizeResult result = quantized(config);
  EXPECT_EQ(result.float_nodes, std::set<std::string>{});
}

}  // namespace
}  // namespace tare::test
