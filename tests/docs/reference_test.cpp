// docs/reference says what the program's own lists say.
#include "tare/calibrator.h"
#include "tare/config.h"
#include "tare/execute.h"
#include "tare/pattern.h"
#include "tare/quantize.h"
#include "tare/report.h"
#include "tare/simulate.h"

#include "docs/reference_page.h"
#include "graph/operators/affine_ops.h"
#include "onnx/infer.h"
#include "onnx/normalize/normalize.h"
#include "onnx/normalize/runtime_operators.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

std::string code(std::string_view text) {
  return "`" + std::string(text) + "`";
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : ", ") + code(word);
  }
  return text;
}

std::string page(const std::string& title, const std::string& introduction) {
  return reference_page("tests/docs/reference_test.cpp", title, introduction);
}

std::string configuration() {
  std::vector<Row> rows;
  for (const ConfigKey& key : config_keys(Toolkit::builtin().calibrator_names())) {
    const bool has_default = !key.value.empty() && !key.path.starts_with("layers[]") &&
                             !key.path.starts_with("inputs.");
    rows.push_back(
        {code(key.path), key.values, has_default ? code(key.value) : "", key.summary});
  }
  return page("Configuration",
              "Everything that can be decided about quantizing a network: the keys of the YAML "
              "file that `--config` reads.\n`--set KEY=VALUE` sets one from the command line, "
              "except those of `layers[]`. `tare help config` prints all as such a file.\nThe "
              "[cookbook](../cookbook.md) has examples.") +
         table({"key", "takes", "default", "meaning"}, rows);
}

/// As in a configuration.
std::string written(const CalibratorChoice& choice) {
  if (choice.options.empty()) {
    return choice.name;
  }
  std::ostringstream text;
  text << "{name: " << choice.name;
  for (const auto& [option, value] : choice.options) {
    text << ", " << option << ": " << value;
  }
  text << '}';
  return text.str();
}

std::string calibrators() {
  std::vector<Row> rows;
  for (const CalibratorInfo& info : Toolkit::builtin().calibrators) {
    std::vector<std::string> candidates;
    for (const CalibratorChoice& choice : info.candidates) {
      candidates.push_back(written(choice));
    }
    rows.push_back(
        {code(info.name), std::string(info.summary), joined(info.options), joined(candidates)});
  }
  return page("Calibrators",
              "A calibrator chooses the range of a value: `activations.calibrator` and "
              "`weights.calibrator` name one. Options go beside\nthe name, as in "
              "`{name: percentile, percentile: 99.99}`. How each chooses, and for what it is "
              "good, is in\n[the arithmetic](../quantization_math.md#calibrators).") +
         table({"name", "chooses", "options", "tries"}, rows);
}

std::string metrics() {
  std::vector<Row> rows;
  for (const MetricInfo& info : Toolkit::builtin().metrics) {
    rows.push_back({code(info.name), std::string(info.summary)});
  }
  return page("Metrics",
              "What can be required of a quantized network beside the figures of a "
              "[report](../report.md), as in\n`--require 'output.kl<=0.01'`. [Those of your "
              "own](../adding.md#a-metric-srcmetricsnamecpp) come from `plugins`.") +
         table({"name", "is"}, rows);
}

std::vector<Target> targets_known() {
  std::vector<Target> targets;
  for (const std::string& name : target_names()) {
    targets.push_back(read_target(name));
  }
  return targets;
}

std::string patterns() {
  std::vector<Row> rows;
  for (const QuantPattern& pattern : Toolkit::builtin().patterns) {
    std::vector<std::string> users;
    for (const Target& target : targets_known()) {
      const auto& names = target.patterns;
      if (std::find(names.begin(), names.end(), pattern.name) != names.end()) {
        users.push_back(target.name);
      }
    }
    // As QuantPattern::targets says of those that no target lists.
    const bool is_for_all = users.empty() && pattern.targets.empty();
    users.insert(users.end(), pattern.targets.begin(), pattern.targets.end());
    rows.push_back({code(pattern.name), std::string(pattern.summary),
                    is_for_all ? "every target" : joined(users)});
  }
  std::vector<Row> rules;
  for (const RewriteRule& rule : Toolkit::builtin().rules) {
    rules.push_back({code(rule.name), std::string(rule.summary)});
  }
  return page("Patterns and rules",
              "Which operators become integers together: shapes of the float graph that are "
              "quantized as one.") +
         table({"pattern", "quantizes", "targets"}, rows) +
         "\nRules that clean the float graph up before that; `tare explain MODEL NODE` says "
         "which "
         "applied.\n\n" +
         table({"rule", "what it does"}, rules);
}

std::string meaning(AffineRule rule) {
  switch (rule) {
    case AffineRule::kMoves:
      return "moves elements";
    case AffineRule::kRectifies:
      return "narrows the range";
    case AffineRule::kClamps:
      return "clamps";
    case AffineRule::kRounds:
      return "rounds once";
    case AffineRule::kTabulates:
      return "a table of 256 entries";
    case AffineRule::kCompares:
      return "gives positions or extents";
  }
  return "";
}

std::string operators() {
  std::vector<Row> rows;
  for (const AffineOp& row : affine_ops()) {
    rows.push_back({code(row.op), meaning(row.rule), std::string(row.reason),
                    row.applies == nullptr ? "" : "some"});
  }
  return page("Operators",
              "Whether a model can be read, and what of it can run on integers. Convolutions "
              "and "
              "products can; beside these,\nthe operators of the first table, with \"some\" "
              "where it is true of some nodes only. Which of them a target runs on\nintegers "
              "is in [targets](targets.md).") +
         table({"operator", "on integers", "because", "nodes"}, rows) +
         "\nOperators that may be in a model, at least in float:\n\n" +
         [] {
           std::string text;
           for (const std::string& op : executable_ops()) {
             // Those of Tare alone come from its own rewriting.
             constexpr int kNewestOpset = 25;
             if (is_onnx_op(op) || replaces_operator(op, kNewestOpset)) {
               text += "- " + code(op) + "\n";
             }
           }
           return text;
         }() +
         "\nThese become others when a model is read: " + joined(replaced_operators()) +
         ".\n\nSo do those of ONNX Runtime's domain, `com.microsoft`: " +
         joined(runtime_operators()) +
         ";\nbeside these its operators on integers are read, `QLinearAdd` and the like.\n\n"
         "Operators on sequences and optional values vanish where lengths are known. What else "
         "may be in a model, behind\nits last layer, is in [a page of its own](../tail.md).\n";
}

std::string storage(DType type, bool is_symmetric) {
  return std::string(name_of(type)) + (is_symmetric ? ", zero point 0" : "");
}

std::string only(NodeKind kind) {
  switch (kind) {
    case NodeKind::kAny:
      return "";
    case NodeKind::kDepthwise:
      return "depthwise";
    case NodeKind::kFewChannels:
      return "fewer than 8 input channels a group";
    case NodeKind::kActivations:
      return "of two activations";
  }
  return "";
}

std::vector<Row> target_key_rows() {
  std::vector<Row> rows;
  for (const ConfigKey& key : target_keys()) {
    rows.push_back(
        {code(key.path), key.values, key.summary, key.value.empty() ? "" : code(key.value)});
  }
  return rows;
}

std::string targets() {
  std::vector<Row> rows;
  std::string details;
  for (const Target& target : targets_known()) {
    rows.push_back({code(target.name), target.summary,
                    storage(target.activation_storage, target.activation_symmetric),
                    std::string(name_of(target.weight_storage)),
                    target.float_bias ? "real" : "i32", joined(target.patterns)});
    std::vector<Row> kernels;
    for (const TargetOperator& op : target.operators) {
      kernels.push_back({code(op.op), only(op.only), op.runs_as});
    }
    if (!kernels.empty()) {
      details += "\n## Kernels of " + target.name +
                 "\n\nWhat is not listed runs in float there.\n\n" +
                 table({"operator", "nodes", "runs as"}, kernels);
    }
  }
  return page(
             "Targets",
             "Engines that a file can be made for, named by `target` and `--target`. Each is a "
             "file of\n[configs/targets](../../configs/targets), and [yours](../adding.md"
             "#a-target-configstargetsnameyaml-or-a-file-of-your-own) can be one.") +
         table({"name", "for", "activations", "weights", "biases", "patterns"}, rows) +
         "\n## Keys of a target file\n\nWithout `extends`, a file has to have `summary`, "
         "`patterns`, `activation_storage` and\n`weight_storage`.\n\n" +
         table({"key", "what it takes", "what it says", "default"}, target_key_rows()) +
         details;
}

struct Page {
  const char* name;
  std::string (*text)();
};

constexpr Page kPages[] = {{"calibrators", calibrators}, {"configuration", configuration},
                           {"metrics", metrics},         {"operators", operators},
                           {"patterns", patterns},       {"targets", targets}};

class Reference : public ::testing::TestWithParam<Page> {};

TEST_P(Reference, IsWhatTheProgramKnows) {
  expect_reference_page(GetParam().name, GetParam().text());
}

INSTANTIATE_TEST_SUITE_P(Pages, Reference, ::testing::ValuesIn(kPages),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace tare::test
