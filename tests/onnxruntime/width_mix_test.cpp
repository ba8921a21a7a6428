// A mix of 8 and 4 bits, in ONNX Runtime.
#include "tare/execute.h"
#include "tare/model_files.h"
#include "tare/quantize.h"
#include "tare/search.h"

#include "raw_samples.h"
#include "support/files/digits.h"
#include "with_onnxruntime.h"

#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

class WidthMixThere : public WithOnnxRuntime {
 protected:
  static constexpr std::size_t kSamples = 32;

  std::vector<float> ours(const Graph& graph) const {
    std::vector<float> all;
    run_dataset(graph, *digits_.data, 1, kSamples,
                [&](std::size_t, std::vector<Tensor> outputs) {
                  const std::vector<float> scores = outputs[0].to_float();
                  all.insert(all.end(), scores.begin(), scores.end());
                });
    return all;
  }

  const Digits digits_;
};

TEST_F(WidthMixThere, LosesWhatItLosesHere) {
  Config config;
  config.samples = 48;
  const std::vector<float> exact = ours(prepare(digits_.model, Toolkit::builtin()));
  for (const char* budget : {"size=75%", "size=85%"}) {
    const SearchResult found = search(digits_.model, *digits_.data, config, Toolkit::builtin(),
                                      {.budget = read_budget({budget})});
    const auto file = folder_ / "mix.onnx";
    write_model(*found.quantized, file);
    EXPECT_EQ(static_cast<double>(std::filesystem::file_size(file)), found.mix->taken.bytes);
    const auto theirs =
        runtime_->run(file, write_raw_samples(digits_.model, *digits_.data, kSamples, folder_),
                      folder_ / "outputs")[0];
    const std::vector<float> own = ours(found.quantized->integer);
    // Layers of 4 bits run in float there, so a few values are rounded to the next step: less
    // than what quantization loses, by a tenth of which results may differ in sum.
    EXPECT_LT(relative_error(own, theirs), 0.2 * relative_error(exact, own)) << budget;
    EXPECT_NEAR(relative_error(exact, theirs), relative_error(exact, own),
                0.1 * relative_error(exact, own))
        << budget;
  }
}

}  // namespace
}  // namespace tare::test
