#pragma once

#include "tare/dataset.h"
#include "tare/report.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tare {

/// A number made of the losses of both networks.
class LossMetric final : public Metric {
 public:
  using OfLosses = std::function<std::optional<double>(const NextTokenLoss& real,
                                                       const NextTokenLoss& quantized)>;

  explicit LossMetric(OfLosses of_losses) : of_losses_(std::move(of_losses)) {}

  void observe(const SampleResults& results) override {
    if (!results.tokens.empty()) {
      real_.observe(results.real[results.logits], results.tokens, results.label);
      quantized_.observe(results.quantized[results.logits], results.tokens, results.label);
    }
  }
  void merge(const Metric& other) override {
    const auto& losses = dynamic_cast<const LossMetric&>(other);
    real_.merge(losses.real_);
    quantized_.merge(losses.quantized_);
  }
  std::optional<std::string> told() const override { return real_.told() + quantized_.told(); }
  void merge_told(std::string_view bytes) override {
    real_.merge_told(bytes.substr(0, bytes.size() / 2));
    quantized_.merge_told(bytes.substr(bytes.size() / 2));
  }
  std::optional<double> value() const override { return of_losses_(real_, quantized_); }

 private:
  OfLosses of_losses_;
  NextTokenLoss real_;
  NextTokenLoss quantized_;
};

}  // namespace tare
