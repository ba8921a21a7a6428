#include "reconstruct/mixtures.h"

#include "base/split_mix.h"

#include <algorithm>

namespace tare {

bool can_mix(const RunValues& values) {
  return std::all_of(values.begin(), values.end(), [](const auto& entry) {
    const std::vector<Tensor>& runs = entry.second;
    return std::all_of(runs.begin(), runs.end(), [&](const Tensor& tensor) {
      return tensor.dtype() == DType::kFloat32 && tensor.shape() == runs[0].shape();
    });
  });
}

void add_mixtures(RunValues& values, std::span<const std::size_t> parts, std::size_t count) {
  SplitMix64 noise(1);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t a = parts[noise.next() % parts.size()];
    const std::size_t b = parts[noise.next() % parts.size()];
    const float share = static_cast<float>(noise.next() >> 40U) * 0x1p-24F;
    for (auto& [value, runs] : values) {
      Tensor mixture = runs[a];
      const auto to = mixture.mutable_view<float>();
      const auto other = runs[b].view<float>();
      std::transform(to.begin(), to.end(), other.begin(), to.begin(),
                     [&](float x, float y) { return share * x + (1 - share) * y; });
      runs.push_back(std::move(mixture));
    }
  }
}

}  // namespace tare
