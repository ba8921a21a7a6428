#include "printing/report_text.h"

#include "printing/layout.h"
#include "text.h"

#include <algorithm>
#include <limits>

namespace tare::cli {
namespace {

constexpr std::size_t kLayersShown = 10;
constexpr std::size_t kAdviceShown = 5;

std::string row(const char* name, const std::string& value, const Terminal& terminal) {
  constexpr std::size_t kIndent = 13;
  return wrapped(fmt::format("  {:<11}{}", name, value), kIndent, terminal.columns) + "\n";
}

std::string decibels(const std::optional<Deviation>& error) {
  if (!error || (!error->exact && !error->sqnr)) {
    return "-";
  }
  return error->exact ? "exact" : fmt::format("{:.1f}", *error->sqnr);
}

std::string proportion(const Proportion& part) {
  const Range interval = part.interval();
  return fmt::format("{:.2f} % ({:.2f} to {:.2f})", 100 * part.share(), 100 * interval.low,
                     100 * interval.high);
}

std::string output_text(const OutputReport& output, std::size_t name_columns) {
  const Deviation& error = output.error;
  std::string text = shortened(output.name, name_columns) + ": ";
  text += error.exact  ? "exact"
          : error.sqnr ? fmt::format("SQNR {:.1f} dB", *error.sqnr)
                       : "error not defined";
  if (error.cosine) {
    text += fmt::format(", cosine {:.5f}", *error.cosine);
  }
  if (output.agreement) {
    text += ", same top class " + proportion(*output.agreement);
  }
  return text;
}

/// By their own error; exact ones lose nothing.
std::vector<const LayerReport*> worst_layers(const Report& report) {
  std::vector<const LayerReport*> layers;
  for (const LayerReport& layer : report.layers) {
    if (layer.local && layer.local->sqnr) {
      layers.push_back(&layer);
    }
  }
  std::stable_sort(layers.begin(), layers.end(), [](const auto* a, const auto* b) {
    return *a->local->sqnr < *b->local->sqnr;
  });
  layers.resize(std::min(layers.size(), kLayersShown));
  return layers;
}

std::string layers_text(const Report& report, const Terminal& terminal) {
  const auto layers = worst_layers(report);
  if (layers.empty()) {
    return {};
  }
  std::string text =
      "  " + terminal.styled(Style::kHeading, "worst layers, SQNR in dB") + "\n" +
      terminal.styled(Style::kQuiet,
                      fmt::format("    {:>6} {:>10}  {}", "local", "cumulative", "layer")) +
      "\n";
  constexpr std::size_t kBeforeNames = 23;
  for (const LayerReport* layer : layers) {
    text += wrapped(fmt::format("    {:>6} {:>10}  {} ({})", decibels(layer->local),
                                decibels(layer->cumulative),
                                shortened(layer->name, terminal.name_columns()), layer->op),
                    kBeforeNames, terminal.columns) +
            "\n";
  }
  return text;
}

std::string trial_text(const Diagnosis& found) {
  if (!found.tried) {
    return found.yaml.empty() ? "" : " (not tried)";
  }
  return fmt::format(" (tried on {} samples: {:+.1f} dB alone, {:+.1f} dB with the others)",
                     found.tried->samples, found.tried->alone, found.tried->with_others);
}

std::string advice_text(const Report& report, const Terminal& terminal) {
  std::string text;
  for (std::size_t i = 0; i < std::min(report.diagnoses.size(), kAdviceShown); ++i) {
    const Diagnosis& found = report.diagnoses[i];
    text +=
        wrapped(
            fmt::format("  {} at {}: {}", terminal.styled(Style::kHeading, found.kind),
                        shortened(found.layer, terminal.name_columns()), printable(found.text)),
            6, terminal.columns) +
        "\n" + wrapped("    " + found.advice + trial_text(found), 6, terminal.columns) + "\n";
    for (std::size_t begin = 0; begin < found.yaml.size();) {
      const std::size_t end = found.yaml.find('\n', begin);
      text += "      " + found.yaml.substr(begin, end - begin) + "\n";
      begin = end + 1;
    }
  }
  if (report.diagnoses.size() > kAdviceShown) {
    text += fmt::format("  ... and {} more\n", report.diagnoses.size() - kAdviceShown);
  }
  return text;
}

}  // namespace

std::string verdict_text(const Report& report, const Terminal& terminal) {
  const Style style = report.level == Level::kGood   ? Style::kGood
                      : report.level == Level::kFair ? Style::kFair
                                                     : Style::kPoor;
  return terminal.styled(style, std::string(name_of(report.level)) + ".") + " " +
         report.verdict;
}

const LayerReport* worst_layer(const Report& report) {
  const auto layers = worst_layers(report);
  return layers.empty() ? nullptr : layers.front();
}

const OutputReport* worst_output(const Report& report) {
  const auto sqnr = [](const OutputReport& output) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return output.error.exact ? kInfinity : output.error.sqnr.value_or(-kInfinity);
  };
  const auto worst = std::min_element(
      report.outputs.begin(), report.outputs.end(),
      [&](const OutputReport& a, const OutputReport& b) { return sqnr(a) < sqnr(b); });
  return worst == report.outputs.end() ? nullptr : &*worst;
}

namespace {

std::optional<double> metric_of(const Report& report, std::string_view name) {
  const auto found =
      std::find_if(report.metrics.begin(), report.metrics.end(),
                   [name](const MetricReport& metric) { return metric.name == name; });
  return found == report.metrics.end() ? std::nullopt : found->value;
}

}  // namespace

std::optional<std::string> perplexity_text(const Report& report) {
  const auto perplexity = metric_of(report, "perplexity");
  const auto before = metric_of(report, "perplexity.float");
  const auto increase = metric_of(report, "perplexity.increase");
  const auto agreement = metric_of(report, "tokens.agreement");
  if (!perplexity || !before || !increase || !agreement) {
    return std::nullopt;
  }
  return fmt::format(
      "{:.4f}, float {:.4f}: {:+.2f} %; the likeliest token is the same for {:.2f} %",
      *perplexity, *before, *increase, *agreement);
}

std::string report_text(const Report& report, const Terminal& terminal) {
  std::string text =
      terminal.styled(Style::kHeading, printable(report.quantized.file) + " against " +
                                           printable(report.real.file)) +
      "\n" + row("verdict", verdict_text(report, terminal), terminal) +
      row("operators",
          fmt::format("{} of {} on integers", report.quantized.integer_operators,
                      report.quantized.operators),
          terminal);
  for (const OutputReport& output : report.outputs) {
    text += row("output", output_text(output, terminal.name_columns()), terminal);
  }
  if (report.accuracy) {
    text += row(
        "top-1",
        proportion(report.accuracy->quantized) + ", float " + proportion(report.accuracy->real),
        terminal);
  }
  if (const auto perplexity = perplexity_text(report)) {
    text += row("perplexity", *perplexity, terminal);
  }
  if (!report.worst_samples.empty()) {
    const SampleReport& worst = report.worst_samples.front();
    text += row("sample", fmt::format("{} is worst, SQNR {:.1f} dB", worst.index, worst.sqnr),
                terminal);
  }
  return text + layers_text(report, terminal) + advice_text(report, terminal);
}

}  // namespace tare::cli
