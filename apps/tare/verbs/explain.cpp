// Says of every operator what it runs as on a target, or why it stays in float.
#include "tare/dataset.h"
#include "tare/error.h"
#include "tare/integer_graph.h"
#include "tare/quantize.h"

#include "activity.h"
#include "configuration.h"
#include "printing/layout.h"
#include "printing/operators_text.h"
#include "printing/rule_listing.h"
#include "printing/warnings.h"
#include "text.h"
#include "user_files.h"
#include "verb.h"

#include <algorithm>
#include <memory>

namespace tare::cli {
namespace {

struct Explanation {
  std::string target;
  bool is_quantized = false;  ///< already
  std::vector<Verdict> verdicts;
  std::vector<LintFinding> findings;  ///< of a quantized model
  std::vector<RewriteEvent> events;   ///< of a float one: what preparing it did
  AppliedRules rules;                 ///< the same: what `layers:` decides
};

Explanation explain(const Options& options, const Console& console) {
  const auto [config, toolkit] = read_configuration(options);
  const Target target = target_of(config, toolkit);
  std::unique_ptr<Dataset> data;
  if (options.has("data")) {
    data = open_samples(options.text("data"), options.text("MODEL"), config, console);
  }
  const Graph model = load_model(options.text("MODEL"), config.dims, data.get());
  say_warnings(audit_tail(model), console);
  Explanation result;
  result.target = target.name;
  if (is_quantized(model)) {
    result.is_quantized = true;
    result.findings = lint(model, target);
    if (!toolkit.lint_rules.empty()) {
      const auto own =
          lint(lower_quantized(model, config, toolkit), target, toolkit.lint_rules);
      result.findings.insert(result.findings.end(), own.begin(), own.end());
    }
    result.verdicts = verdicts_of_file(std::move(model), target, toolkit);
    return result;
  }
  const Graph prepared = prepare(model, toolkit, &result.events);
  check_rules(model, prepared, config);
  const SimulatedGraph simulated = simulate(prepared, config, target, toolkit.patterns);
  result.rules = applied_rules(simulated, config);
  result.verdicts = verdicts(simulated);
  return result;
}

/// Leaves what is about the nodes that the user named.
void select(const std::string& glob, Explanation& explanation) {
  const auto other = [&](const auto& about) { return !glob_match(glob, about.node); };
  const bool known =
      !std::all_of(explanation.verdicts.begin(), explanation.verdicts.end(), other) ||
      !std::all_of(explanation.events.begin(), explanation.events.end(), other);
  if (!known) {
    std::vector<std::string> names;
    for (const Verdict& verdict : explanation.verdicts) {
      names.push_back(verdict.node);
    }
    throw Error(ErrorCode::kInvalidConfig, "argument NAME",
                "no operator is called '" + glob + "'")
        .hint(suggestion(glob, names));
  }
  std::erase_if(explanation.verdicts, other);
  std::erase_if(explanation.findings, other);
  std::erase_if(explanation.events, other);
  std::erase_if(explanation.rules.nodes, other);
}

/// "11 of 14 operators run on integers on ort-cpu, 8 more are fused into their neighbours", and
/// of a quantized model what was done.
std::string headline(const Explanation& explanation, const Terminal& terminal) {
  const OperatorCount count = count_operators(explanation.verdicts);
  std::string text = fmt::format("{} of {} operators run on integers on {}", count.on_integers,
                                 count.all, explanation.target);
  if (const std::size_t parts = explanation.verdicts.size() - count.all; parts > 0) {
    text += fmt::format(", {} more {} into {}", parts, parts == 1 ? "is fused" : "are fused",
                        parts == 1 ? "its neighbour" : "their neighbours");
  }
  text = wrapped(terminal.styled(Style::kHeading, text), 2, terminal.columns) + "\n";
  if (explanation.is_quantized) {
    const std::string operators = integer_operators_text(explanation.verdicts);
    text += wrapped("  the model is quantized already: " +
                        (operators.empty() ? "nothing that this target runs on integers"
                                           : operators),
                    4, terminal.columns) +
            "\n";
  }
  return text;
}

std::string float_text(const Verdict& verdict, const Terminal& terminal) {
  const std::string text = terminal.styled(Style::kFair, "float:") + " " + verdict.because;
  return verdict.detail.empty()
             ? text
             : text + ": " + shortened(verdict.detail, terminal.name_columns());
}

/// Without a name what preparing refused is left out: most of it is about nodes that need it
/// not.
std::string as_text(const Explanation& explanation, bool is_selected,
                    const Terminal& terminal) {
  const std::string& target = explanation.target;
  const auto& all = explanation.verdicts;
  std::string text = headline(explanation, terminal);
  const std::size_t names = terminal.name_columns();
  std::size_t name_width = 0;
  std::size_t op_width = 0;
  for (const Verdict& verdict : all) {
    name_width = std::max(name_width, shortened(verdict.node, names).size());
    op_width = std::max(op_width, verdict.op.size());
  }
  // What goes on below a line has room for some words.
  constexpr std::size_t kRoom = 30;
  const std::size_t indent = std::min(name_width + op_width + 6, terminal.columns - kRoom);
  for (const Verdict& verdict : all) {
    text += wrapped(fmt::format(
                        "  {:<{}}  {:<{}}  {}", shortened(verdict.node, names), name_width,
                        verdict.op, op_width,
                        verdict.in_float() ? float_text(verdict, terminal) : verdict.runs_as),
                    indent, terminal.columns) +
            "\n";
  }
  for (const LintFinding& finding : explanation.findings) {
    text += wrapped(fmt::format("{} wants: {}; {}: {}", target, finding.rule,
                                shortened(finding.node, names), printable(finding.what)),
                    2, terminal.columns) +
            "\n";
  }
  text += rules_text(explanation.rules, is_selected, terminal);
  for (const RewriteEvent& event : explanation.events) {
    if (event.reason.empty() || is_selected) {
      text += wrapped(fmt::format("rule {} at {}: {}", event.rule, shortened(event.node, names),
                                  event.reason.empty() ? "applied" : event.reason),
                      2, terminal.columns) +
              "\n";
    }
  }
  return text;
}

Json as_json(const std::string& model, const Explanation& explanation) {
  const OperatorCount count = count_operators(explanation.verdicts);
  Json json{{"model", model},
            {"target", explanation.target},
            {"is_quantized", explanation.is_quantized},
            {"count", {{"on_integers", count.on_integers}, {"all", count.all}}},
            {"operators", Json::array()},
            {"findings", Json::array()},
            {"rules", Json::array()},
            {"layers", rules_json(explanation.rules.nodes)}};
  for (const Verdict& verdict : explanation.verdicts) {
    Json& entry =
        json["operators"].emplace_back(Json{{"node", verdict.node}, {"op", verdict.op}});
    if (verdict.in_float()) {
      entry["float_because"] = reason_text(verdict);
    } else {
      entry["runs_as"] = verdict.runs_as;
      entry["is_part"] = verdict.is_part;
    }
  }
  for (const LintFinding& finding : explanation.findings) {
    json["findings"].push_back(
        {{"node", finding.node}, {"wanted", finding.rule}, {"found", finding.what}});
  }
  for (const RewriteEvent& event : explanation.events) {
    Json& entry = json["rules"].emplace_back(Json{{"rule", event.rule}, {"node", event.node}});
    if (!event.reason.empty()) {
      entry["refused"] = event.reason;
    }
  }
  return json;
}

int run_explain(const Options& options, const Console& console) {
  const std::string model = options.text("MODEL");
  Explanation explanation =
      during("explaining '" + model + "'", [&] { return explain(options, console); });
  if (options.has("NAME")) {
    select(options.text("NAME"), explanation);
  }
  console.print(options.has("json") ? to_text(as_json(model, explanation))
                                    : as_text(explanation, options.has("NAME"), console.out()));
  return 0;
}

}  // namespace
}  // namespace tare::cli

TARE_VERB(explain) {
  using namespace tare::cli;
  std::vector<Flag> flags{data_flag(false)};
  append(flags, config_flags());
  return {
      .task = Task::kExplain,
      .summary = "show which kernel of a target runs each operator, or why it stays in float",
      .arguments = {{"MODEL", "float or quantized model: ONNX or TensorFlow Lite"},
                    {"NAME", "operators of that name only; * is any run of characters", false,
                     true}},
      .flags = std::move(flags),
      .examples = {"tare explain model.onnx --target tensorrt",
                   "tare explain model.onnx 'layer1/*'", "tare explain model.int8.onnx"},
      .run = run_explain};
}
