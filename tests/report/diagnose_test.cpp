

#include "tare/config.h"
#include "tare/quantize.h"
#include "tare/report.h"

#include "support/files/files.h"
#include "support/files/samples_in_memory.h"
#include "support/files/temporary_folder.h"
#include "support/graphs.h"
#include "support/random/random.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Three branches of about the same size, each with a fault that costs it most of its bits:
///   wide    a convolution with one channel 100 times as large as the others; what reads it
///           divides by 100 again
///   uneven  one whose weights have such a channel, and whose results are clipped
///   mask    scores with -10000 added to some, before a Softmax
class Faulty {
 public:
  Faulty() {
    const ValueId x = graph_.add_input("x", f32({1, 8, 8, 8}));
    const ValueId wide =
        conv("wide", x, scaled(8, 8, [](auto out, auto) { return out == 3 ? 100.F : 1.F; }));
    const ValueId narrow = conv(
        "narrow", wide, scaled(4, 8, [](auto, auto in) { return in == 3 ? 0.001F : 0.1F; }));
    const ValueId uneven =
        conv("uneven", x, scaled(4, 8, [](auto out, auto) { return out == 1 ? 100.F : 1.F; }));
    const ValueId clipped = node(
        "Clip", "clip", {uneven, constant(Tensor::scalar(-4.F)), constant(Tensor::scalar(4.F))},
        {1, 4, 8, 8});
    const ValueId scores = conv("scores", x, scaled(4, 8, [](auto, auto) { return 1.F; }));
    Tensor mask(DType::kFloat32, {1, 4, 8, 8});
    for (std::size_t i = 0; i < 256; ++i) {
      mask.mutable_view<float>()[i] = i % 8 < 3 ? -10000.F : 0.F;
    }
    const ValueId masked = node("Add", "mask", {scores, constant(mask)}, {1, 4, 8, 8});
    const ValueId shares =
        node("Softmax", "softmax", {masked}, {1, 4, 8, 8}, {{"axis", std::int64_t{3}}});
    const ValueId spread =
        node("Mul", "spread", {shares, constant(Tensor::scalar(8.F))}, {1, 4, 8, 8});
    const ValueId y = node("Concat", "join", {narrow, clipped, spread}, {1, 12, 8, 8},
                           {{"axis", std::int64_t{1}}});
    graph_.set_outputs({y});
  }

  const Graph& graph() const { return graph_; }

 private:
  template <class Factor>
  Tensor scaled(std::int64_t outputs, std::int64_t inputs, Factor factor) {
    Tensor weights = random_.tensor({outputs, inputs, 1, 1});
    for (std::int64_t i = 0; i < weights.size(); ++i) {
      weights.mutable_view<float>()[static_cast<std::size_t>(i)] *=
          factor(i / inputs, i % inputs);
    }
    return weights;
  }

  ValueId constant(const Tensor& tensor) {
    return graph_.add_constant(graph_.unique_name("c"), tensor);
  }

  ValueId conv(const std::string& name, ValueId x, const Tensor& weights) {
    return node("Conv", name, {x, graph_.add_constant(name + ".weight", weights)},
                {1, weights.shape()[0], 8, 8});
  }

  ValueId node(const std::string& op, const std::string& name, std::vector<ValueId> inputs,
               const Shape& shape, Attributes attributes = {}) {
    const NodeId id = graph_.add_node(name, op, std::move(inputs),
                                      {{name + "_out", f32(shape)}}, std::move(attributes));
    return graph_.node(id).outputs[0];
  }

  Random random_{5};
  Graph graph_;
};

/// Everything on integers, and one scale for the weights of `uneven`, as of a tool that gives
/// each layer one.
constexpr const char* kSettings =
    "objective: coverage\n"
    "activations: {calibrator: max}\n"
    "weights: {granularity: per_tensor}\n";

class Diagnose : public ::testing::Test {
 protected:
  Report report(const std::string& settings) const {
    const TemporaryFolder folder;
    const std::filesystem::path path = folder / "c.yaml";
    write_bytes(path, settings);
    const Config config = read_config(path, {}, Toolkit::builtin().calibrator_names());
    const QuantizeResult result = quantize(faulty_.graph(), data_, config, Toolkit::builtin());
    return compare_result(result, data_, Toolkit::builtin());
  }

  /// Both lists of `layers:` in one.
  static std::string with(const std::string& settings, const std::string& yaml) {
    const std::string head = "layers:\n";
    EXPECT_EQ(yaml.substr(0, head.size()), head);
    return settings +
           (settings.find(head) == std::string::npos ? yaml : yaml.substr(head.size()));
  }

  static const Diagnosis* find(const Report& report, const std::string& kind) {
    const auto found = std::find_if(report.diagnoses.begin(), report.diagnoses.end(),
                                    [&](const Diagnosis& each) { return each.kind == kind; });
    return found == report.diagnoses.end() ? nullptr : &*found;
  }

  const Faulty faulty_;
  const SamplesInMemory data_{{{"x", Random(9).tensor({24, 8, 8, 8})}}};
};

const std::map<std::string, std::string> kFaults{
    {"outlier_channel", "wide"}, {"weight_range", "uneven"}, {"mask", "mask"}};

TEST_F(Diagnose, NamesEachPlantedFaultAtItsLayer) {
  const Report found = report(kSettings);
  for (const auto& [kind, layer] : kFaults) {
    const bool is_named =
        std::any_of(found.diagnoses.begin(), found.diagnoses.end(), [&](const Diagnosis& each) {
          return each.kind == kind && each.layer == layer && !each.text.empty();
        });
    EXPECT_TRUE(is_named) << kind;
  }
}

TEST_F(Diagnose, GivesLinesThatEachImproveTheOutputByThemselves) {
  const Report before = report(kSettings);
  for (const auto& [kind, layer] : kFaults) {
    for (const Diagnosis& each : before.diagnoses) {
      if (each.kind == kind) {
        const Report after = report(with(kSettings, each.yaml));
        EXPECT_GT(*after.outputs[0].error.sqnr, *before.outputs[0].error.sqnr)
            << kind << each.layer;
      }
    }
  }
}

TEST_F(Diagnose, SaysWhatEachProposalGainsBeforeItIsTaken) {
  const Report before = report(kSettings);
  for (const char* kind : {"outlier_channel", "mask"}) {
    const Diagnosis* found = find(before, kind);
    ASSERT_NE(found, nullptr) << kind;
    ASSERT_TRUE(found->tried) << kind;
    const Report after = report(with(kSettings, found->yaml));
    const double gain = *after.outputs[0].error.sqnr - *before.outputs[0].error.sqnr;
    // Layers behind it are calibrated and corrected anew, on 24 samples instead of 8.
    EXPECT_NEAR(found->tried->alone, gain, 0.5) << kind;
  }
}

TEST_F(Diagnose, SaysThatScalesOfChannelsWereNotTried) {
  const Report found = report(kSettings);
  const Diagnosis* weights = find(found, "weight_range");
  ASSERT_NE(weights, nullptr);
  EXPECT_FALSE(weights->tried);
  EXPECT_FALSE(weights->yaml.empty());
}

TEST_F(Diagnose, ProposesNoRangeThatIsSoAlready) {
  const Report found = report("objective: coverage\nactivations: {calibrator: mse}\n");
  for (const Diagnosis& each : found.diagnoses) {
    EXPECT_EQ(each.yaml.find("calibrator: mse"), std::string::npos) << each.yaml;
  }
}

TEST_F(Diagnose, FindsNothingOnceItsAdviceIsTaken) {
  std::string settings = kSettings;
  Report current = report(settings);
  const double first = *current.outputs[0].error.sqnr;
  for (int step = 0; step < 10 && !current.diagnoses.empty(); ++step) {
    settings = with(settings, current.diagnoses[0].yaml);
    const Report next = report(settings);
    EXPECT_GT(*next.outputs[0].error.sqnr, *current.outputs[0].error.sqnr)
        << current.diagnoses[0].kind << " at " << current.diagnoses[0].layer;
    current = next;
  }
  EXPECT_TRUE(current.diagnoses.empty());
  // Four of eight bits were lost in each branch.
  EXPECT_GT(*current.outputs[0].error.sqnr, first + 20);
}

}  // namespace
}  // namespace tare::test
