// Learns a block by Adam. Gradients come from a few runs in each step, in shares of a fixed
// size that are added up in their order, so that the result does not depend on threads. Inputs
// and quantized values are mixed at random with those of the float network, value by value
// (QDrop). First weights find their integers, then these are decided, and scales, biases and
// ranges settle around them.
#include "reconstruct/learn_block.h"

#include "base/parallel.h"
#include "base/split_mix.h"
#include "execute/run/workers.h"
#include "reconstruct/block_program.h"
#include "reconstruct/learned_parameters.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>

namespace tare {
namespace {

constexpr std::size_t kShares = 4;  ///< which threads compute side by side
constexpr std::size_t kRunsOfShare = 4;

class BlockLearner {
 public:
  BlockLearner(const FloatNetwork& network, const Lesson& lesson, const QuantTable& table,
               const LearningPlan& plan, int threads)
      : network_(network),
        lesson_(lesson),
        table_(table),
        plan_(plan),
        threads_(threads),
        learned_(network, lesson.block, table, threads) {}

  QuantTable run() {
    if (learned_.empty()) {
      return table_;
    }
    const std::vector<ValueId> values = learned_.constants();
    const BlockProgram program(network_.graph(), lesson_.block.sources, lesson_.compared,
                               {.constants = values, .ranges = learned_.ranges()},
                               lesson_.weights, kRunsOfShare, plan_.drops);
    std::vector<Tensor> constants;
    for (const ValueId value : values) {
      constants.push_back(network_.constant(value, table_));
    }
    // Gradients are means over a batch.
    const auto factor = static_cast<float>(
        static_cast<double>(std::max<std::size_t>(learned_.weights(), 1)) *
        static_cast<double>(program.batch()) / static_cast<double>(kShares * kRunsOfShare));
    std::vector<Gradients> gradients(kShares);
    std::vector<std::optional<Executable::Workspace>> workspaces(
        static_cast<std::size_t>(threads_));
    for (std::size_t step = 0; step < plan_.steps; ++step) {
      const double progress = static_cast<double>(step) / static_cast<double>(plan_.steps);
      const Moment moment{progress, !plan_.rounds || progress >= kDecidedAt};
      learned_.express(moment, constants);
      const std::vector<std::size_t> runs = next_runs();
      parallel_for(kShares, worker_count(program.executable(), threads_),
                   [&](std::size_t worker, std::size_t share) {
                     if (!workspaces[worker]) {
                       workspaces[worker].emplace(program.executable());
                     }
                     gradients[share] =
                         of_share(program, *workspaces[worker], constants,
                                  std::span(runs).subspan(share * kRunsOfShare, kRunsOfShare),
                                  step * kShares + share);
                   });
      learned_.step(moment, gradients, factor);
      if (plan_.after_step) {
        plan_.after_step();
      }
    }
    return learned_.table();
  }

 private:
  /// Every run once, in another order each time (Fisher and Yates).
  std::vector<std::size_t> next_runs() {
    std::vector<std::size_t> result;
    while (result.size() < kShares * kRunsOfShare) {
      if (next_ >= order_.size()) {
        order_ = lesson_.runs;
        for (std::size_t i = order_.size(); i > 1; --i) {
          std::swap(order_[i - 1], order_[noise_.next() % i]);
        }
        next_ = 0;
      }
      result.push_back(order_[next_++]);
    }
    return result;
  }

  Gradients of_share(const BlockProgram& program, Executable::Workspace& workspace,
                     const std::vector<Tensor>& constants, std::span<const std::size_t> runs,
                     std::size_t seed) const {
    SplitMix64 noise(seed);
    BlockProgram::Step step;
    step.constants = constants;
    for (const ValueId input : program.ranges()) {
      step.ranges.push_back(learned_.range(input));
    }
    Gradients sum;
    for (std::size_t first = 0; first < runs.size(); first += program.batch()) {
      const auto own = runs.subspan(first, program.batch());
      step.sources.clear();
      step.targets.clear();
      step.drops.clear();
      for (const ValueId source : program.sources()) {
        step.sources.push_back(mixed(source, own, noise));
      }
      for (const ValueId value : lesson_.compared) {
        step.targets.push_back(gathered(lesson_.targets.at(value), own));
      }
      for (const Shape& shape : program.drops()) {
        step.drops.push_back(drops(shape, noise));
      }
      Gradients more = program.gradients(workspace, step);
      if (sum.empty()) {
        sum = std::move(more);
        continue;
      }
      for (std::size_t k = 0; k < sum.size(); ++k) {
        const auto to = sum[k].mutable_view<float>();
        std::transform(to.begin(), to.end(), more[k].view<float>().begin(), to.begin(),
                       std::plus<>());
      }
    }
    return sum;
  }

  /// As one batch.
  static Tensor gathered(const std::vector<Tensor>& values, std::span<const std::size_t> runs) {
    if (runs.size() == 1) {
      return values[runs[0]];
    }
    Shape shape = values[runs[0]].shape();
    shape[0] *= static_cast<std::int64_t>(runs.size());
    Tensor result(values[runs[0]].dtype(), shape);
    std::byte* to = result.mutable_data();
    for (const std::size_t run : runs) {
      std::memcpy(to, values[run].data(), values[run].byte_size());
      to += values[run].byte_size();
    }
    return result;
  }

  Tensor mixed(ValueId source, std::span<const std::size_t> runs, SplitMix64& noise) const {
    Tensor result = gathered(lesson_.quantized.at(source), runs);
    if (result.dtype() != DType::kFloat32 || !plan_.drops) {
      return result;
    }
    const Tensor other = gathered(lesson_.exact.at(source), runs);
    const auto to = result.mutable_view<float>();
    const auto from = other.view<float>();
    noise.for_each_bit(to.size(), [=](std::size_t i, std::uint32_t bit) {
      const std::uint32_t chosen = 0U - bit;
      to[i] = std::bit_cast<float>((std::bit_cast<std::uint32_t>(from[i]) & chosen) |
                                   (std::bit_cast<std::uint32_t>(to[i]) & ~chosen));
    });
    return result;
  }

  Tensor drops(const Shape& shape, SplitMix64& noise) const {
    Tensor result(DType::kBool, shape);
    // As bytes of 0 and 1, since GCC does not vectorize loops that write bool.
    auto* to = reinterpret_cast<std::uint8_t*>(result.mutable_data());
    noise.for_each_bit(
        static_cast<std::size_t>(result.size()),
        [=](std::size_t i, std::uint32_t bit) { to[i] = static_cast<std::uint8_t>(bit); });
    return result;
  }

  const FloatNetwork& network_;
  const Lesson& lesson_;
  const QuantTable& table_;
  const LearningPlan& plan_;
  int threads_;
  LearnedParameters learned_;
  std::vector<std::size_t> order_;
  std::size_t next_ = 0;
  SplitMix64 noise_{1};
};

}  // namespace

QuantTable learn_block(const FloatNetwork& network, const Lesson& lesson,
                       const QuantTable& table, const LearningPlan& plan, int threads) {
  return BlockLearner(network, lesson, table, plan, threads).run();
}

}  // namespace tare
