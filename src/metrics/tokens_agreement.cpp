// Share of the tokens behind which both networks expect the same one, in percent.
#include "tare/report.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace tare {
namespace {

class TokensAgreement final : public Metric {
 public:
  void observe(const SampleResults& results) override {
    const auto& tokens = results.tokens;
    if (tokens.empty()) {
      return;
    }
    const auto real = results.real[results.logits].view<float>();
    const auto quantized = results.quantized[results.logits].view<float>();
    const std::size_t width = real.size() / tokens.size();
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i] >= 0) {
        agreeing_ += top_class(real.subspan(i * width, width)) ==
                             top_class(quantized.subspan(i * width, width))
                         ? 1U
                         : 0U;
        ++tokens_;
      }
    }
  }
  void merge(const Metric& other) override {
    const auto& agreement = dynamic_cast<const TokensAgreement&>(other);
    agreeing_ += agreement.agreeing_;
    tokens_ += agreement.tokens_;
  }
  std::optional<std::string> told() const override {
    const std::array<std::uint64_t, 2> counts{agreeing_, tokens_};
    return std::string(reinterpret_cast<const char*>(counts.data()), sizeof(counts));
  }
  void merge_told(std::string_view bytes) override {
    std::array<std::uint64_t, 2> counts{};
    std::memcpy(counts.data(), bytes.data(), std::min(bytes.size(), sizeof(counts)));
    agreeing_ += counts[0];
    tokens_ += counts[1];
  }
  std::optional<double> value() const override {
    return tokens_ > 0 ? std::optional(100 * static_cast<double>(agreeing_) /
                                       static_cast<double>(tokens_))
                       : std::nullopt;
  }

 private:
  std::uint64_t agreeing_ = 0;
  std::uint64_t tokens_ = 0;
};

}  // namespace
}  // namespace tare

TARE_METRIC(tokens_agreement) {
  using namespace tare;
  return {.name = "tokens.agreement",
          .summary =
              "of a language model: per cent of the tokens behind which both networks "
              "give the same one the highest score",
          .make = [] { return std::make_unique<TokensAgreement>(); }};
}
