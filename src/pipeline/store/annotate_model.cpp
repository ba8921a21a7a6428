// A copy of a quantized model that shows what a report says of its layers.
#include "tare/quantize.h"
#include "tare/report.h"

#include "onnx/annotate.h"
#include "report/figures.h"

#include <algorithm>
#include <string>
#include <vector>

namespace tare {
namespace {

std::string shown(const Deviation& deviation) {
  return deviation.exact ? "exact" : deviation.sqnr ? decibels(*deviation.sqnr) : "not defined";
}

std::string shown(const Range& range) {
  return brief(range.low) + " to " + brief(range.high);
}

std::string shown(const QuantParams& params) {
  const std::string storage(name_of(params.storage));
  return params.per_axis() ? storage + ", a scale for each channel"
                           : storage + ", scale " + brief(params.scale[0]) + ", zero point " +
                                 std::to_string(params.zero_point[0]);
}

std::string shown(const WeightReport& weight) {
  const std::string scales = weight.block > 0 ? "blocks of " + std::to_string(weight.block)
                             : weight.axis    ? "a scale for each channel"
                                              : "one scale";
  return std::string(name_of(weight.storage)) + ", " + scales +
         (weight.sqnr ? ", " + decibels(*weight.sqnr) : "");
}

std::string shown(const AccumulatorReport& accumulator) {
  const std::string worst = std::to_string(accumulator.bits_worst_case);
  return accumulator.bits_observed ? std::to_string(*accumulator.bits_observed) +
                                         " bits observed, " + worst + " in the worst case"
                                   : worst + " bits in the worst case";
}

NodeTexts texts_of(const LayerReport& layer, const std::vector<PointReport>& points) {
  NodeTexts result{.node = layer.name, .result = layer.result, .texts = {}};
  const auto add = [&](const char* key, const std::string& text) {
    if (!text.empty()) {
      result.texts["tare." + std::string(key)] = text;
    }
  };
  add("sqnr.local", layer.local ? shown(*layer.local) : "");
  add("sqnr.cumulative", layer.cumulative ? shown(*layer.cumulative) : "");
  add("runs_as", layer.runs_as);
  add("float_because", layer.float_because);
  add("weight", layer.weight ? shown(*layer.weight) : "");
  add("accumulator", layer.accumulator ? shown(*layer.accumulator) : "");
  const auto point = std::find_if(points.begin(), points.end(), [&](const PointReport& known) {
    return known.name == layer.point;
  });
  if (!layer.point.empty() && point != points.end()) {
    add("result", shown(point->params));
    add("observed", shown(point->observed));
    add("calibrated", shown(point->calibrated));
  }
  return result;
}

}  // namespace

void annotate_model(const std::filesystem::path& quantized, const std::filesystem::path& copy,
                    const Report& report) {
  std::vector<NodeTexts> nodes;
  for (const LayerReport& layer : report.layers) {
    nodes.push_back(texts_of(layer, report.points));
  }
  annotate_onnx(quantized, copy, nodes);
}

}  // namespace tare
