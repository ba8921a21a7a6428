#include "printing/quantize_text.h"

#include "engine_flags.h"
#include "printing/layout.h"
#include "printing/operators_text.h"
#include "printing/report_text.h"
#include "printing/warnings.h"

#include <algorithm>

namespace tare::cli {
namespace {

struct Row {
  const char* name;
  std::string value;
};

std::string as_text(const std::vector<Row>& rows, const Terminal& terminal) {
  constexpr std::size_t kIndent = 14;
  std::string text;
  for (const auto& [name, value] : rows) {
    text += wrapped(fmt::format("  {:<11} {}", name, value), kIndent, terminal.columns) + "\n";
  }
  return text;
}

/// Where nothing or nearly nothing became integers: that, and what would change it.
std::string headline(const QuantizeSummary& summary, const Terminal& terminal) {
  const OperatorCount count = count_operators(summary.verdicts);
  std::string text = terminal.styled(
      Style::kHeading, printable(summary.model) + " -> " + printable(summary.output));
  constexpr std::size_t kFew = 10;  // one operator in so many
  if ((kFew * count.on_integers >= count.all && count.on_integers > 0) ||
      !summary.recipe.empty()) {
    return text + "\n";
  }
  text += count.on_integers == 0 ? ": nothing runs on integers"
                                 : fmt::format(": only {} of {} operators run on integers",
                                               count.on_integers, count.all);
  text += summary.covers_all ? ", as below" : "; --set objective=coverage quantizes all it can";
  return wrapped(text, 2, terminal.columns) + "\n";
}

std::string evaluated_on(const QuantizeSummary& summary) {
  const Report& quality = *summary.quality;
  const std::string some =
      quality.samples < summary.evaluation_samples
          ? fmt::format("{} of {}", quality.samples, summary.evaluation_samples)
          : std::to_string(quality.samples);
  switch (quality.evaluated_on) {
    case EvaluatedOn::kGiven:
      return fmt::format("{} samples of {}", some, printable(quality.data));
    case EvaluatedOn::kHeldOut:
      return fmt::format("{} samples that were not calibrated on", some);
    case EvaluatedOn::kCalibration:
      break;
  }
  return fmt::format("{} calibration samples; --eval FILE or --holdout N measures on others",
                     some);
}

std::vector<Row> quality_rows(const QuantizeSummary& summary, const Terminal& terminal) {
  if (!summary.quality) {
    return {{"verdict", "not measured; --eval FILE measures it on samples"}};
  }
  const Report& quality = *summary.quality;
  std::vector<Row> rows{{"verdict", verdict_text(quality, terminal)},
                        {"evaluation", evaluated_on(summary)}};
  if (const auto perplexity = perplexity_text(quality)) {
    rows.insert(rows.begin() + 1, {"perplexity", *perplexity});
  }
  if (const LayerReport* worst = worst_layer(quality)) {
    rows.push_back({"worst layer", fmt::format("{} ({}), local SQNR {:.1f} dB",
                                               shortened(worst->name, terminal.name_columns()),
                                               worst->op, *worst->local->sqnr)});
  }
  return rows;
}

std::string target_text(const QuantizeSummary& summary) {
  const std::string target =
      summary.target + (summary.processor.empty() ? "" : " on " + summary.processor);
  if (!summary.predicted) {
    return target;
  }
  const auto& [floats, quantized, fastest] = *summary.predicted;
  const std::string text =
      fmt::format("{}, predicted {:.1f}x as fast as float", target, floats / quantized);
  constexpr double kNothing = 1.005;
  return quantized < kNothing * fastest
             ? text
             : fmt::format("{}, {:.1f}x if nothing stayed float for accuracy", text,
                           floats / fastest);
}

std::string measured_text(const QuantizeSummary& summary) {
  if (summary.speed) {
    return fmt::format("{}, in {}{}", speed_text(summary.speed->ratio),
                       engine_text(summary.speed->engine),
                       summary.is_known ? "; by the plan that was found there before" : "");
  }
  return "not measured: " + printable(summary.engine_failure);
}

Json measured_json(const QuantizeSummary& summary) {
  Json json{{"engine", nullptr},
            {"speed", nullptr},
            {"float_ns", nullptr},
            {"quantized_ns", nullptr},
            {"rounds", 0},
            {"failure", nullptr},
            {"files", summary.timed},
            {"known", summary.is_known},
            {"kept_float", summary.kept_float}};
  if (!summary.engine_failure.empty()) {
    json["failure"] = summary.engine_failure;
  }
  if (summary.speed) {
    json["engine"] = engine_json(summary.speed->engine);
    json["speed"] = interval_json(summary.speed->ratio);
    json["float_ns"] = summary.speed->first.median;
    json["quantized_ns"] = summary.speed->second.median;
    json["rounds"] = summary.speed->rounds;
  }
  return json;
}

std::string samples_text(const QuantizeSummary& summary) {
  return fmt::format(
      "{}, {}{}", summary.samples == 0 ? "none" : std::to_string(summary.samples),
      counted(summary.points, "point"),
      summary.wide_points == 0 ? "" : fmt::format(", {} of 16 bits", summary.wide_points));
}

std::string quantized_text(const QuantizeSummary& summary) {
  const OperatorCount count = count_operators(summary.verdicts);
  const std::string operators = integer_operators_text(summary.verdicts);
  return fmt::format("{} of {} operators{}{}", count.on_integers, count.all,
                     operators.empty() ? "" : ": ", operators);
}

std::string widest_sums(const QuantizeSummary& summary, std::size_t name_columns) {
  const auto widest =
      std::max_element(summary.sums.begin(), summary.sums.end(),
                       [](const QuantizeSummary::Sums& a, const QuantizeSummary::Sums& b) {
                         return a.bits < b.bits;
                       });
  return widest == summary.sums.end() ? "none"
                                      : fmt::format("widest {} bits ({})", widest->bits,
                                                    shortened(widest->node, name_columns));
}

std::string reconstruction_text(const ReconstructionResult& result) {
  return fmt::format(
      "{} of {} blocks, error of the results on the holdout {:.2f} of what it was",
      result.improved, result.blocks, result.error);
}

Json error_json(const Deviation& error) {
  return {{"sqnr", error.sqnr ? Json(*error.sqnr) : Json()}, {"exact", error.exact}};
}

Json agreement_json(const std::optional<Proportion>& part) {
  return part ? Json{{"count", part->count}, {"of", part->of}, {"percent", 100 * part->share()}}
              : Json();
}

Json quality_json(const QuantizeSummary& summary) {
  Json json{{"verdict", nullptr},      {"text", nullptr},      {"samples", 0},
            {"evaluated_on", nullptr}, {"file", nullptr},      {"sqnr", nullptr},
            {"exact", false},          {"agreement", nullptr}, {"worst_layer", nullptr},
            {"outputs", Json::array()}};
  if (summary.quality) {
    const Report& quality = *summary.quality;
    json["verdict"] = name_of(quality.level);
    json["text"] = quality.verdict;
    json["samples"] = quality.samples;
    json["evaluated_on"] = name_of(quality.evaluated_on);
    json["file"] = quality.data;
    if (const OutputReport* output = worst_output(quality)) {
      json.update(error_json(output->error));
      json["agreement"] = agreement_json(output->agreement);
    }
    if (const LayerReport* worst = worst_layer(quality)) {
      json["worst_layer"] = {
          {"node", worst->name}, {"op", worst->op}, {"sqnr", *worst->local->sqnr}};
    }
    for (const OutputReport& output : quality.outputs) {
      Json entry{{"name", output.name}};
      entry.update(error_json(output.error));
      entry["agreement"] = agreement_json(output.agreement);
      json["outputs"].push_back(std::move(entry));
    }
  }
  json["predicted_speed"] = summary.predicted
                                ? Json(summary.predicted->floats / summary.predicted->quantized)
                                : Json();
  json["fastest_predicted_speed"] =
      summary.predicted ? Json(summary.predicted->floats / summary.predicted->fastest) : Json();
  json["seconds"] = summary.seconds;
  return json;
}

}  // namespace

std::string as_text(const QuantizeSummary& summary, const Terminal& terminal) {
  const OperatorCount count = count_operators(summary.verdicts);
  std::vector<Row> above = quality_rows(summary, terminal);
  if (summary.has_engine) {
    above.push_back({"speed", measured_text(summary)});
  }
  if (!summary.recipe.empty()) {
    above.push_back({"recipe", summary.recipe});
  }
  if (!summary.effort.empty()) {
    above.push_back({"effort", summary.effort});
  }
  above.insert(above.end(),
               {{"target", target_text(summary)}, {"samples", samples_text(summary)}});
  if (summary.ranks > 1) {
    above.push_back({"ranks", std::to_string(summary.ranks)});
  }
  if (summary.audit.reconstruction) {
    above.push_back({"learned", reconstruction_text(*summary.audit.reconstruction)});
  }
  above.insert(above.end(), {{"quantized", quantized_text(summary)},
                             {"kept float", std::to_string(count.all - count.on_integers)}});
  const std::vector<Row> below{{"accumulator", widest_sums(summary, terminal.name_columns())},
                               {"size", fmt::format("{} -> {}", bytes_text(summary.model_bytes),
                                                    bytes_text(summary.output_bytes))},
                               {"time", fmt::format("{:.1f} s", summary.seconds)}};
  return headline(summary, terminal) + as_text(above, terminal) +
         float_groups_text(summary.verdicts, terminal) + as_text(below, terminal);
}

Json as_json(const QuantizeSummary& summary) {
  const OperatorCount count = count_operators(summary.verdicts);
  Json json{{"model", summary.model},
            {"output", summary.output},
            {"target", summary.target},
            {"processor", summary.processor.empty() ? "any" : summary.processor},
            {"recipe", summary.recipe.empty() ? Json() : Json(summary.recipe)},
            {"effort", summary.effort.empty() ? Json() : Json(summary.effort)},
            {"samples", summary.samples},
            {"ranks", summary.ranks},
            {"points", summary.points},
            {"wide_points", summary.wide_points},
            {"operators", {{"on_integers", count.on_integers}, {"all", count.all}}},
            {"quality", quality_json(summary)},
            {"quantized", Json::array()},
            {"kept_float", Json::array()},
            {"accumulators", Json::array()},
            {"calibration",
             {{"samples", summary.audit.samples},
              {"data", fmt::format("{:x}", summary.audit.data)},
              {"warnings", warnings_json(summary.audit.warnings)}}},
            {"bytes", {{"model", summary.model_bytes}, {"output", summary.output_bytes}}}};
  for (const Verdict& verdict : summary.verdicts) {
    if (verdict.in_float()) {
      json["kept_float"].push_back(
          {{"node", verdict.node}, {"op", verdict.op}, {"reason", reason_text(verdict)}});
    } else if (!verdict.is_part) {
      const auto pattern = summary.patterns.find(verdict.node);
      json["quantized"].push_back(
          {{"node", verdict.node},
           {"op", verdict.op},
           {"pattern", pattern != summary.patterns.end() ? Json(pattern->second) : Json()},
           {"runs_as", verdict.runs_as}});
    }
  }
  if (summary.ranks > 1) {
    json["sent_bytes"] = summary.sent;
  }
  if (const auto& learned = summary.audit.reconstruction) {
    json["reconstruction"] = {{"blocks", learned->blocks},
                              {"improved", learned->improved},
                              {"error", learned->error}};
  }
  if (summary.has_engine) {
    json["measured"] = measured_json(summary);
  }
  for (const QuantizeSummary::Sums& sums : summary.sums) {
    json["accumulators"].push_back({{"node", sums.node}, {"bits", sums.bits}});
  }
  return json;
}

}  // namespace tare::cli
