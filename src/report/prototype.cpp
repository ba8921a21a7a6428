#include "report/prototype.h"

namespace tare {
namespace {

template <class T>
void fill(std::optional<T>& field, T value = {}) {
  if (!field) {
    field = std::move(value);
  }
}

template <class T>
void fill(std::vector<T>& list) {
  if (list.empty()) {
    list.emplace_back();
  }
}

void fill(std::string& text) {
  if (text.empty()) {
    text.push_back('?');
  }
}

void fill(Deviation& error) {
  fill(error.sqnr);
  fill(error.cosine);
  fill(error.mse);
  fill(error.relative_l2);
  fill(error.largest, {.value = 0, .sample = 0, .index = {0}, .real = 0, .quantized = 0});
}

void fill(LayerReport& layer) {
  fill(layer.inputs);
  fill(layer.runs_as);
  fill(layer.float_because);
  fill(layer.point);
  fill(layer.local);
  fill(*layer.local);
  fill(layer.cumulative);
  fill(*layer.cumulative);
  fill(layer.weight);
  fill(layer.weight->axis);
  fill(layer.weight->sqnr);
  fill(layer.weight->range_ratio);
  fill(layer.weight->channels);
  for (ChannelReport& channel : layer.weight->channels) {
    fill(channel.sqnr);
  }
  fill(layer.accumulator);
  fill(layer.accumulator->bits_observed);
  fill(layer.accumulator->bias_margin);
}

void fill(PointReport& point) {
  fill(point.layer);
  fill(point.calibrator);
  fill(point.alternatives);
  fill(point.widest_channel);
  fill(point.channel_ratio);
  fill(point.histogram.counts);
  fill(point.error);
  fill(point.error_behind);
  fill(point.sqnr_behind);
}

}  // namespace

Report prototype(Report known) {
  fill(known.outputs);
  for (OutputReport& output : known.outputs) {
    fill(output.error);
    fill(output.agreement);
  }
  fill(known.accuracy);
  for (MetricReport& metric : known.metrics) {
    fill(metric.value);
  }
  fill(known.layers);
  for (LayerReport& layer : known.layers) {
    fill(layer);
  }
  if (known.points.empty()) {
    known.points.emplace_back().params.axis = 0;  // scales may be lists
  }
  for (PointReport& point : known.points) {
    fill(point);
  }
  fill(known.nodes);
  for (ReportNode& node : known.nodes) {
    fill(node.layer);
    fill(node.inputs);
  }
  fill(known.worst_samples);
  for (SampleReport& sample : known.worst_samples) {
    fill(sample.agrees);
  }
  fill(known.diagnoses);
  for (Diagnosis& found : known.diagnoses) {
    fill(found.point);
  }
  fill(known.float_operators);
  return known;
}

}  // namespace tare
