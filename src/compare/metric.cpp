#include "tare/report.h"

#include "base/bytes.h"

#include <algorithm>
#include <cmath>

namespace tare {

void MeanMetric::observe(const SampleResults& results) {
  const std::optional<double> number = of_sample_(results);
  if (number && std::isfinite(*number)) {
    sum_.add(*number);
  } else {
    is_defined_ = false;
  }
  ++samples_;
}

void MeanMetric::merge(const Metric& other) {
  const auto& mean = dynamic_cast<const MeanMetric&>(other);
  sum_.add(mean.sum_);
  samples_ += mean.samples_;
  is_defined_ = is_defined_ && mean.is_defined_;
}

std::optional<std::string> MeanMetric::told() const {
  ByteWriter writer;
  writer.add(sum_.words());
  writer.add(samples_);
  writer.add(std::uint64_t{is_defined_});
  return writer.take();
}

void MeanMetric::merge_told(std::string_view bytes) {
  ByteReader reader(bytes);
  sum_.add(ExactSum::of(reader.get<ExactSum::Words>()));
  samples_ += reader.get<std::uint64_t>();
  is_defined_ = (reader.get<std::uint64_t>() != 0) && is_defined_;
}

std::optional<double> MeanMetric::value() const {
  return is_defined_ && samples_ > 0
             ? std::optional(sum_.value() / static_cast<double>(samples_))
             : std::nullopt;
}

std::optional<std::span<const float>> scores_of(const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  const bool is_row = tensor.dtype() == DType::kFloat32 && !shape.empty() && shape.back() > 1 &&
                      tensor.size() == shape.back();
  return is_row ? std::optional(tensor.view<float>()) : std::nullopt;
}

std::int64_t top_class(std::span<const float> scores) {
  return std::max_element(scores.begin(), scores.end()) - scores.begin();
}

}  // namespace tare
