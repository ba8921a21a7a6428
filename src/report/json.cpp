
#include "base/version.h"
#include "report/figures.h"
#include "report/report_json.h"

#include <cmath>

namespace tare {
namespace {

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

Json number(const std::optional<double>& value) {
  return value ? number(*value) : Json();
}

template <class T>
Json optional(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

Json range(const Range& both) {
  return {number(both.low), number(both.high)};
}

Json largest_error(const LargestError& error) {
  return {{"value", number(error.value)},
          {"sample", error.sample},
          {"index", error.index},
          {"float", number(error.real)},
          {"quantized", number(error.quantized)}};
}

/// The members of an ERROR, added to those of `json`.
Json with_error(Json json, const Deviation& error) {
  json["sqnr"] = number(error.sqnr);
  json["exact"] = error.exact;
  json["cosine"] = number(error.cosine);
  json["mse"] = number(error.mse);
  json["relative_l2"] = number(error.relative_l2);
  json["max_error"] = error.largest ? largest_error(*error.largest) : Json();
  return json;
}

Json error_or_null(const std::optional<Deviation>& error) {
  return error ? with_error(Json::object(), *error) : Json();
}

Json proportion(const Proportion& part) {
  const Range interval = part.interval();
  return {{"percent", 100 * part.share()},
          {"low", 100 * interval.low},
          {"high", 100 * interval.high},
          {"count", part.count},
          {"of", part.of}};
}

Json model(const ModelFacts& facts) {
  return {{"file", facts.file}, {"bytes", facts.bytes}, {"operators", facts.operators}};
}

Json output(const OutputReport& report) {
  Json json = with_error({{"name", report.name}}, report.error);
  json["agreement"] = report.agreement ? proportion(*report.agreement) : Json();
  return json;
}

Json accuracy(const AccuracyReport& report) {
  return {{"float", proportion(report.real)},
          {"quantized", proportion(report.quantized)},
          {"drop", 100 * (report.real.share() - report.quantized.share())}};
}

Json metrics(const std::vector<MetricReport>& reports) {
  Json json = Json::object();
  for (const MetricReport& report : reports) {
    json[report.name] = number(report.value);
  }
  return json;
}

Json weight(const WeightReport& report) {
  Json json{{"name", report.name},           {"storage", name_of(report.storage)},
            {"axis", optional(report.axis)}, {"block", report.block},
            {"sqnr", number(report.sqnr)},   {"range_ratio", number(report.range_ratio)},
            {"channels", Json::array()}};
  for (const ChannelReport& channel : report.channels) {
    json["channels"].push_back({{"low", number(channel.low)},
                                {"high", number(channel.high)},
                                {"scale", number(channel.scale)},
                                {"zero_point", channel.zero_point},
                                {"sqnr", number(channel.sqnr)}});
  }
  return json;
}

Json accumulator(const AccumulatorReport& report) {
  return {{"bits_observed", optional(report.bits_observed)},
          {"bits_worst_case", report.bits_worst_case},
          {"bias_margin", number(report.bias_margin)},
          {"widened_channels", report.widened_channels}};
}

Json layer(const LayerReport& report) {
  return {{"name", report.name},
          {"op", report.op},
          {"result", report.result},
          {"depth", report.depth},
          {"inputs", report.inputs},
          {"runs_as", text_or_null(report.runs_as)},
          {"float_because", text_or_null(report.float_because)},
          {"macs", report.macs},
          {"local", error_or_null(report.local)},
          {"cumulative", error_or_null(report.cumulative)},
          {"point", text_or_null(report.point)},
          {"weight", report.weight ? weight(*report.weight) : Json()},
          {"accumulator", report.accumulator ? accumulator(*report.accumulator) : Json()}};
}

Json point(const PointReport& report) {
  Json alternatives = Json::array();
  for (const AlternativeCalibrator& other : report.alternatives) {
    alternatives.push_back({{"name", other.calibrator},
                            {"low", number(other.range.low)},
                            {"high", number(other.range.high)},
                            {"error", number(other.error)}});
  }
  const QuantParams& params = report.params;
  const bool per_axis = params.per_axis();
  return {{"name", report.name},
          {"value", report.value},
          {"layer", text_or_null(report.layer)},
          {"node", report.node},
          {"storage", name_of(params.storage)},
          {"scale", per_axis ? Json(params.scale) : Json(params.scale[0])},
          {"zero_point", per_axis ? Json(params.zero_point) : Json(params.zero_point[0])},
          {"axis", optional(params.axis)},
          {"granularity", per_axis ? "per_axis" : "per_tensor"},
          {"observed", range(report.observed)},
          {"calibrated", range(report.calibrated)},
          {"calibrator", text_or_null(report.calibrator)},
          {"alternatives", std::move(alternatives)},
          {"saturated", {{"low", report.saturated.low}, {"high", report.saturated.high}}},
          {"levels_used", report.levels_used},
          {"levels", report.levels},
          {"effective_bits", number(report.effective_bits)},
          {"zeros", report.zeros},
          {"lost", report.lost},
          {"bulk", number(report.bulk)},
          {"widest_channel", optional(report.widest_channel)},
          {"channel_ratio", number(report.channel_ratio)},
          {"histogram",
           {{"low", number(report.histogram.low)},
            {"high", number(report.histogram.high)},
            {"counts", report.histogram.counts}}},
          {"error", with_error(Json::object(), report.error)},
          {"error_behind", number(report.error_behind)},
          {"sqnr_behind", number(report.sqnr_behind)}};
}

Json node(const ReportNode& report, std::size_t id) {
  return {{"id", id},
          {"name", report.name},
          {"op", report.op},
          {"integer", report.integer},
          {"layer", optional(report.layer)},
          {"inputs", report.inputs}};
}

Json sample(const SampleReport& report) {
  return {{"index", report.index},
          {"sqnr", number(report.sqnr)},
          {"agrees", optional(report.agrees)}};
}

Json tried(const std::optional<TriedChange>& change) {
  return change ? Json{{"alone", number(change->alone)},
                       {"with_others", number(change->with_others)},
                       {"samples", change->samples}}
                : Json(nullptr);
}

Json diagnosis(const Diagnosis& found) {
  return {{"kind", found.kind},   {"severity", found.severity},
          {"layer", found.layer}, {"point", text_or_null(found.point)},
          {"text", found.text},   {"advice", found.advice},
          {"yaml", found.yaml},   {"tried", tried(found.tried)}};
}

template <class T, class F>
Json each(const std::vector<T>& items, F as_json) {
  Json list = Json::array();
  for (const T& item : items) {
    list.push_back(as_json(item));
  }
  return list;
}

}  // namespace

std::string report_json(const Report& report) {
  Json quantized = model(report.quantized);
  quantized["integer_operators"] = report.quantized.integer_operators;
  const OutputReport* worst = worst_output(report.outputs);
  Json nodes = Json::array();
  for (std::size_t id = 0; id < report.nodes.size(); ++id) {
    nodes.push_back(node(report.nodes[id], id));
  }
  const Json json{
      {"format", "tare-report"},
      {"version", 1},
      {"tool", {{"name", "tare"}, {"version", version()}}},
      {"float_model", model(report.real)},
      {"quantized_model", std::move(quantized)},
      {"target", report.target},
      {"data",
       {{"file", report.data},
        {"samples", report.samples},
        {"evaluated_on", name_of(report.evaluated_on)}}},
      {"equalized", report.equalized},
      {"verdict", {{"level", name_of(report.level)}, {"text", report.verdict}}},
      {"output", worst == nullptr ? Json() : output(*worst)},
      {"outputs", each(report.outputs, output)},
      {"top1", report.accuracy ? accuracy(*report.accuracy) : Json()},
      {"metrics", metrics(report.metrics)},
      {"layers", each(report.layers, layer)},
      {"points", each(report.points, point)},
      {"graph", {{"nodes", std::move(nodes)}}},
      {"samples", each(report.worst_samples, sample)},
      {"diagnosis", each(report.diagnoses, diagnosis)},
      {"float_operators", each(report.float_operators, [](const FloatOperator& entry) {
         return Json{{"name", entry.name},
                     {"op", entry.op},
                     {"because", entry.because},
                     {"detail", text_or_null(entry.detail)}};
       })}};
  return to_text(json);
}

}  // namespace tare
