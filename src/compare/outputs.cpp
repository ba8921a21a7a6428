// Figures of the results: errors, how often both networks have the same top class, right
// answers where there are labels, and the worst samples, of which a short sorted list is kept.
#include "compare/outputs.h"

#include "tare/report.h"

#include "compare/measure.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tare {
namespace {

/// More than anybody looks at.
constexpr std::size_t kWorst = 20;

Tensor as_float(const Tensor& tensor) {
  return tensor.dtype() == DType::kFloat32
             ? tensor
             : Tensor::of<float>(tensor.shape(), tensor.to_float());
}

bool is_worse(const SampleReport& a, const SampleReport& b) {
  return a.sqnr != b.sqnr ? a.sqnr < b.sqnr : a.index < b.index;
}

}  // namespace

std::vector<bool> find_scores(const Graph& graph, std::size_t results, std::size_t batch) {
  std::vector<bool> found;
  for (const ValueId output : graph.outputs().first(results)) {
    const Shape& shape = graph.type(output).shape;
    const bool is_reconstruction =
        std::any_of(graph.inputs().begin(), graph.inputs().end(),
                    [&](ValueId input) { return graph.type(input).shape == shape; });
    found.push_back(!is_reconstruction && shape.size() >= 2 && shape.back() >= 2 &&
                    element_count(shape) == static_cast<std::int64_t>(batch) * shape.back());
  }
  return found;
}

void OutputSums::observe(std::span<const Tensor> results, std::size_t first_sample) {
  const std::size_t count = outputs_.size();
  samples_ += batch_;
  std::vector<ErrorSums> sums(batch_);
  std::vector<SampleReport> samples(batch_);
  for (std::size_t i = 0; i < count; ++i) {
    const Tensor real = as_float(results[i]);
    const Tensor quantized = as_float(results[count + i]);
    const TensorType type{
        .dtype = DType::kFloat32, .shape = real.shape(), .quant = {}, .point = {}};
    outputs_[i].error.observe({&type, real.data()}, {&type, quantized.data()}, first_sample,
                              batch_);
    // Results that do not tell samples apart count for the first one of the run.
    const bool has_samples =
        !real.shape().empty() && static_cast<std::size_t>(real.shape()[0]) == batch_;
    const std::size_t rows = has_samples ? batch_ : 1;
    const std::size_t size = static_cast<std::size_t>(real.size()) / rows;
    for (std::size_t row = 0; row < rows; ++row) {
      sums[row].add(error_sums(real.view<float>().subspan(row * size, size),
                               quantized.view<float>().subspan(row * size, size)));
    }
    if (outputs_[i].has_scores) {
      classify(real, quantized, first_sample, outputs_[i], samples);
    }
  }
  for (std::size_t row = 0; row < batch_; ++row) {
    samples[row].index = first_sample + row;
    if (sums[row].dd > 0 && std::isfinite(sums[row].xx) && std::isfinite(sums[row].dd)) {
      samples[row].sqnr = sums[row].xx > 0 ? 10 * std::log10(sums[row].xx / sums[row].dd)
                                           : -std::numeric_limits<double>::infinity();
      offer(samples[row]);
    }
  }
}

void OutputSums::classify(const Tensor& real, const Tensor& quantized, std::size_t first_sample,
                          Output& output, std::vector<SampleReport>& samples) {
  const bool is_first = &output == &outputs_[0];
  const auto size = static_cast<std::size_t>(real.shape().back());
  for (std::size_t row = 0; row < batch_; ++row) {
    const std::int64_t wanted = top_class(real.view<float>().subspan(row * size, size));
    const std::int64_t found = top_class(quantized.view<float>().subspan(row * size, size));
    output.agreeing += wanted == found ? 1U : 0U;
    if (is_first) {
      samples[row].agrees = wanted == found;
      if (*labels_) {
        const std::int64_t label = (*labels_)->at(first_sample + row);
        real_hits_ += wanted == label ? 1U : 0U;
        quantized_hits_ += found == label ? 1U : 0U;
      }
    }
  }
}

void OutputSums::offer(const SampleReport& sample) {
  worst_.insert(std::upper_bound(worst_.begin(), worst_.end(), sample, is_worse), sample);
  worst_.resize(std::min(worst_.size(), kWorst));
}

void OutputSums::merge(const OutputSums& other) {
  for (std::size_t i = 0; i < other.outputs_.size(); ++i) {
    outputs_[i].error.merge(other.outputs_[i].error);
    outputs_[i].agreeing += other.outputs_[i].agreeing;
  }
  samples_ += other.samples_;
  real_hits_ += other.real_hits_;
  quantized_hits_ += other.quantized_hits_;
  for (const SampleReport& sample : other.worst_) {
    offer(sample);
  }
}

void OutputSums::write(ByteWriter& writer) const {
  for (const Output& output : outputs_) {
    output.error.write(writer);
    writer.add(output.agreeing);
  }
  writer.add(std::uint64_t{samples_});
  writer.add(real_hits_);
  writer.add(quantized_hits_);
  writer.add(std::uint64_t{worst_.size()});
  for (const SampleReport& sample : worst_) {
    writer.add(std::uint64_t{sample.index});
    writer.add(sample.sqnr);
    writer.add(sample.agrees);
  }
}

void OutputSums::merge(ByteReader& reader) {
  for (Output& output : outputs_) {
    output.error.merge(DeviationSums::read(reader));
    output.agreeing += reader.get<std::uint64_t>();
  }
  samples_ += reader.get<std::uint64_t>();
  real_hits_ += reader.get<std::uint64_t>();
  quantized_hits_ += reader.get<std::uint64_t>();
  for (std::size_t left = reader.counted(1); left > 0; --left) {
    SampleReport sample;
    sample.index = reader.get<std::uint64_t>();
    sample.sqnr = reader.get<double>();
    sample.agrees = reader.get<decltype(sample.agrees)>();
    offer(sample);
  }
}

void OutputSums::finish(Measured& measured) const {
  for (const Output& output : outputs_) {
    measured.outputs.push_back(
        {output.error, output.has_scores ? std::optional(Proportion{output.agreeing, samples_})
                                         : std::nullopt});
  }
  if (*labels_ && !outputs_.empty() && outputs_[0].has_scores) {
    measured.accuracy = {{real_hits_, samples_}, {quantized_hits_, samples_}};
  }
  measured.worst_samples = worst_;
}

}  // namespace tare
