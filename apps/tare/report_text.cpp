#include "report_text.h"

#include "text.h"

#include <algorithm>

namespace tare::cli {
namespace {

constexpr std::size_t kLayersShown = 10;
constexpr std::size_t kAdviceShown = 5;

std::string row(const char* name, const std::string& value) {
  return fmt::format("  {:<11}{}\n", name, value);
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

std::string output_text(const OutputReport& output) {
  const Deviation& error = output.error;
  std::string text = printable(output.name) + ": ";
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

std::string layers_text(const Report& report) {
  const auto layers = worst_layers(report);
  if (layers.empty()) {
    return {};
  }
  std::string text = "  layers that lose most by themselves, SQNR in dB\n";
  text += fmt::format("    {:>6} {:>10}  {}\n", "alone", "in network", "layer");
  for (const LayerReport* layer : layers) {
    text +=
        fmt::format("    {:>6} {:>10}  {} ({})\n", decibels(layer->local),
                    decibels(layer->cumulative), printable(layer->name), printable(layer->op));
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

std::string advice_text(const Report& report) {
  std::string text;
  for (std::size_t i = 0; i < std::min(report.diagnoses.size(), kAdviceShown); ++i) {
    const Diagnosis& found = report.diagnoses[i];
    text += fmt::format("  {} at {}: {}\n    {}{}\n", found.kind, printable(found.layer),
                        printable(found.text), printable(found.advice), trial_text(found));
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

std::string report_text(const Report& report) {
  std::string text = fmt::format("{} against {}\n", printable(report.quantized.file),
                                 printable(report.real.file));
  text += row("verdict", std::string(name_of(report.level)) + ". " + printable(report.verdict));
  const auto on_integers = std::count_if(report.nodes.begin(), report.nodes.end(),
                                         [](const ReportNode& node) { return node.integer; });
  text +=
      row("operators", fmt::format("{} of {} on integers", on_integers, report.nodes.size()));
  for (const OutputReport& output : report.outputs) {
    text += row("output", output_text(output));
  }
  if (report.accuracy) {
    text += row("top-1", proportion(report.accuracy->quantized) + ", float " +
                             proportion(report.accuracy->real));
  }
  if (!report.worst_samples.empty()) {
    const SampleReport& worst = report.worst_samples.front();
    text += row("sample", fmt::format("{} is worst, SQNR {:.1f} dB", worst.index, worst.sqnr));
  }
  return text + layers_text(report) + advice_text(report);
}

}  // namespace tare::cli
