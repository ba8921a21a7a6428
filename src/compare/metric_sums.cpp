#include "compare/metric_sums.h"

#include <algorithm>

namespace tare {
namespace {

/// The part of a result that belongs to one sample of the batch; all of one that does not tell
/// samples apart.
Tensor of_sample(const Tensor& result, std::size_t sample, std::size_t batch) {
  const bool has_samples = !result.shape().empty() &&
                           static_cast<std::size_t>(result.shape()[0]) == batch && batch > 1;
  const Tensor part = has_samples ? result.rows(static_cast<std::int64_t>(sample), 1) : result;
  return part.dtype() == DType::kFloat32 ? part
                                         : Tensor::of<float>(part.shape(), part.to_float());
}

}  // namespace

MetricSums::MetricSums(std::span<const MetricInfo> infos,
                       const std::optional<std::vector<std::int64_t>>& labels,
                       std::size_t batch, const std::optional<TokenInterface>& tokens)
    : infos_(infos), labels_(&labels), batch_(batch), tokens_(tokens) {
  for (const MetricInfo& info : infos) {
    metrics_.push_back(info.make());
  }
}

void MetricSums::observe(std::span<const Tensor> inputs, std::span<const Tensor> results,
                         std::size_t first_sample) {
  if (metrics_.empty() || results.empty()) {
    return;
  }
  for (std::size_t sample = 0; sample < batch_; ++sample) {
    std::vector<Tensor> parts;
    for (const Tensor& result : results) {
      parts.push_back(of_sample(result, sample, batch_));
    }
    const std::span<const Tensor> all(parts);
    const std::vector<std::int64_t> tokens =
        tokens_ ? tokens_of(inputs[tokens_->ids],
                            tokens_->mask ? &inputs[*tokens_->mask] : nullptr, sample)
                : std::vector<std::int64_t>();
    const SampleResults shown{
        .real = all.first(parts.size() / 2),
        .quantized = all.subspan(parts.size() / 2),
        .label = *labels_ ? std::optional((*labels_)->at(first_sample + sample)) : std::nullopt,
        .tokens = tokens,
        .logits = tokens_ ? tokens_->logits : 0};
    for (const auto& metric : metrics_) {
      metric->observe(shown);
    }
  }
}

void MetricSums::merge(const MetricSums& other) {
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    metrics_[i]->merge(*other.metrics_[i]);
  }
}

bool MetricSums::can_tell() const {
  return std::all_of(metrics_.begin(), metrics_.end(),
                     [](const auto& metric) { return metric->told().has_value(); });
}

void MetricSums::write(ByteWriter& writer) const {
  for (const auto& metric : metrics_) {
    writer.add_text(metric->told().value_or(""));
  }
}

void MetricSums::merge(ByteReader& reader) {
  for (const auto& metric : metrics_) {
    metric->merge_told(reader.get_text());
  }
}

std::vector<MetricReport> MetricSums::reports() const {
  std::vector<MetricReport> result;
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    result.push_back({std::string(infos_[i].name), metrics_[i]->value()});
  }
  return result;
}

}  // namespace tare
