#include "tare/execute.h"
#include "tare/graph.h"
#include "tare/pattern.h"

#include "prepare/rule_registry.h"
#include "support/files/files.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(TARE_SOURCE_DIR) / "tests/prepare/golden";

struct Case {
  std::string before;
  std::string after;   // empty when refused
  std::string reason;  // why it is unchanged
};

/// Reads "before:", then "after:" or "unchanged: reason", all separated by lines of "---".
std::vector<Case> read_cases(const fs::path& path) {
  const std::string text = bytes_of(path);
  std::vector<Case> cases;
  constexpr std::string_view kLine = "\n---\n";
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find(kLine, start), text.size());
    const std::string section = text.substr(start, end - start);
    const std::size_t colon = section.find(':');
    const std::string title = section.substr(0, colon);
    const std::string body = section.substr(colon + 1);
    if (title == "before") {
      cases.push_back({body, {}, {}});
    } else if (title == "after" && !cases.empty()) {
      cases.back().after = body;
    } else if (title == "unchanged" && !cases.empty()) {
      const std::size_t first = body.find_first_not_of(' ');
      cases.back().reason = body.substr(first, body.find_last_not_of('\n') + 1 - first);
    } else {
      ADD_FAILURE() << path << ": section '" << title << "'";
    }
    start = end + kLine.size();
  }
  return cases;
}

std::vector<fs::path> golden_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(kFolder)) {
    if (entry.path().extension() == ".tir") {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<RewriteRule> rule_of(const fs::path& file) {
  const std::string name = file.parent_path().filename().string();
  std::vector<RewriteRule> found;
  std::copy_if(prepare_rules().begin(), prepare_rules().end(), std::back_inserter(found),
               [&](const RewriteRule& rule) { return rule.name == name; });
  return found;
}

/// Everything that kept the rule from changing the graph.
std::string reasons(const Graph& graph, const RewriteRule& rule,
                    const std::vector<RewriteEvent>& log) {
  std::string all;
  for (const RewriteEvent& event : log) {
    all += event.reason + "\n";
  }
  for (const NodeId node : graph.nodes()) {
    std::string why;
    (void)rule.pattern().match(graph, node, &why);
    all += why + "\n";
  }
  return all;
}

std::vector<Tensor> random_inputs(const Graph& graph, std::mt19937& random) {
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs()) {
    Tensor tensor(graph.type(id).dtype, graph.type(id).shape);
    if (tensor.dtype() == DType::kFloat32) {
      // Both sides of every bend that the rules know.
      std::uniform_real_distribution<float> numbers(-8, 8);
      std::ranges::generate(tensor.mutable_view<float>(), [&] { return numbers(random); });
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

/// Rounding: a rule replaces a few dozen float operations by as many others, each with an error
/// of half a step of its result; results that cancel keep the error of their larger terms,
/// which in these graphs are at most 64 times the largest output. Constants of a formula in a
/// file of 16 bits are off by up to a step of that type.
float largest_error(const Graph& before) {
  float error = 64 * std::numeric_limits<float>::epsilon();
  for (const auto& [name, dtype] : before.file_types) {
    error = std::max(error, dtype == DType::kFloat16    ? 0x1p-10F
                            : dtype == DType::kBfloat16 ? 0x1p-7F
                                                        : error);
  }
  return error;
}

void expect_equal_results(const Graph& before, const Graph& after) {
  const float error = largest_error(before);
  const Executable original(before);
  const Executable changed(after);
  std::mt19937 random(7);
  for (int repeat = 0; repeat < 8; ++repeat) {
    const std::vector<Tensor> inputs = random_inputs(before, random);
    const std::vector<Tensor> wanted = original.run(inputs);
    const std::vector<Tensor> got = changed.run(inputs);
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const std::vector<float> a = wanted[i].to_float();
      const std::vector<float> b = got[i].to_float();
      float largest = 0;
      for (const float x : a) {
        largest = std::max(largest, std::abs(x));
      }
      for (std::size_t k = 0; k < a.size(); ++k) {
        ASSERT_NEAR(a[k], b[k], error * largest);
      }
    }
  }
}

class Golden : public testing::TestWithParam<fs::path> {};

TEST_P(Golden, RuleGivesTheWrittenGraphOrReason) {
  const std::vector<RewriteRule> rule = rule_of(GetParam());
  ASSERT_EQ(rule.size(), 1U) << "no rule has the name of the folder";
  for (const Case& c : read_cases(GetParam())) {
    const Graph before = parse(c.before);
    std::vector<RewriteEvent> log;
    const Graph after = rewrite(before, rule, &log);
    if (c.after.empty()) {
      EXPECT_TRUE(after == before) << print(after);
      ASSERT_FALSE(c.reason.empty());
      EXPECT_NE(reasons(before, rule[0], log).find(c.reason), std::string::npos)
          << "wanted: " << c.reason << "\ngot: " << reasons(before, rule[0], log);
    } else {
      EXPECT_EQ(print(after), print(parse(c.after)));
      EXPECT_FALSE(after == before);
    }
  }
}

TEST_P(Golden, RuleKeepsResults) {
  const std::vector<RewriteRule> rule = rule_of(GetParam());
  for (const Case& c : read_cases(GetParam())) {
    if (!c.after.empty()) {
      const Graph before = parse(c.before);
      SCOPED_TRACE(c.before);
      expect_equal_results(before, rewrite(before, rule));
    }
  }
}

TEST_P(Golden, AllRulesTogetherKeepResultsAndReachAFixedPoint) {
  for (const Case& c : read_cases(GetParam())) {
    const Graph before = parse(c.before);
    const Graph once = rewrite(before, prepare_rules());
    std::vector<RewriteEvent> log;
    EXPECT_TRUE(rewrite(once, prepare_rules(), &log) == once);
    EXPECT_TRUE(std::none_of(log.begin(), log.end(),
                             [](const RewriteEvent& event) { return event.reason.empty(); }));
    if (!c.after.empty()) {
      SCOPED_TRACE(c.before);
      expect_equal_results(before, once);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, Golden, testing::ValuesIn(golden_files()),
                         [](const auto& info) {
                           return info.param.parent_path().filename().string() + "_" +
                                  info.param.stem().string();
                         });

TEST(Rules, EachHasAChangeAndARefusalOnFile) {
  for (const RewriteRule& rule : prepare_rules()) {
    bool changes = false;
    bool refuses = false;
    for (const fs::path& file : golden_files()) {
      if (file.parent_path().filename() == rule.name) {
        for (const Case& c : read_cases(file)) {
          (c.after.empty() ? refuses : changes) = true;
        }
      }
    }
    EXPECT_TRUE(changes) << rule.name;
    EXPECT_TRUE(refuses) << rule.name;
  }
}

TEST(Rules, CompleteEachOther) {
  // Relu6 and hard swish as the oldest exporters write them, after a convolution with a bias of
  // its own: the Add of 3 belongs to the activation, not to the convolution.
  const Graph graph = rewrite(parse(R"(graph "g" opset 9 (%x : f32[1,1,2,2]) -> (%y) {
    const %w : f32[1,1,1,1] = [2]
    const %bias : f32[1,1,1] = [0.5]
    const %three : f32[] = [3]
    const %six : f32[] = [6]
    %conv = Conv(%x, %w) : f32[1,1,2,2]
    %sum = Add(%conv, %bias) : f32[1,1,2,2]
    %shifted = Add(%sum, %three) : f32[1,1,2,2]
    %positive = Relu(%shifted) : f32[1,1,2,2]
    %bounded = Min(%positive, %six) : f32[1,1,2,2]
    %scaled = Div(%bounded, %six) : f32[1,1,2,2]
    %y = Mul(%sum, %scaled) : f32[1,1,2,2]
  })"),
                              prepare_rules());
  EXPECT_EQ(print(graph), print(parse(R"(graph "g" opset 9 (%x : f32[1,1,2,2]) -> (%y) {
    const %w : f32[1,1,1,1] = [2]
    const %conv/bias : f32[1] = [0.5]
    conv: %sum = Conv(%x, %w, %conv/bias) : f32[1,1,2,2]
    %y = HardSwish(%sum) : f32[1,1,2,2]
  })")));
}

TEST(Rules, RemoveADropoutWhoseMaskNobodyReads) {
  const Graph graph = rewrite(parse(R"(graph "g" opset 12 (%x : f32[2]) -> (%y) {
    const %ratio : f32[] = [0.5]
    const %training : bool[] = [false]
    %a, %mask = Dropout(%x, %ratio, %training) : f32[2], bool[2]
    %y = Exp(%a) : f32[2]
  })"),
                              prepare_rules());
  EXPECT_EQ(print(graph), print(parse(R"(graph "g" opset 12 (%x : f32[2]) -> (%y) {
    %y = Exp(%x) : f32[2]
  })")));
}

}  // namespace
}  // namespace tare::test
