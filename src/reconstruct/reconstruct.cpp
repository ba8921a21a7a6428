// Walks a network block by block. All samples are cached between two blocks twice: as the float
// network has them, and with the quantization error of the blocks before. Each block is learned
// (learn_block.h) and what was learned is kept where it brings the results of the holdout
// closer to those of the float network. In the end scales, biases and ranges of the whole
// network are learned together, for its results, with the integers of weights as they are.
//
// Cost: for each step the time of some runs of a block, three times that of inference. Memory:
// what passes between two blocks in all runs, five times.
#include "reconstruct/reconstruct.h"

#include "tare/error.h"
#include "tare/process.h"

#include "base/parallel.h"
#include "calibrate/sequential/holdout.h"
#include "execute/run/feed.h"
#include "graph/arithmetic/squared_distance.h"
#include "graph/operators/product.h"
#include "reconstruct/augmentation.h"
#include "reconstruct/float_network.h"
#include "reconstruct/learn_block.h"
#include "reconstruct/mixtures.h"

#include <algorithm>
#include <numeric>

namespace tare {
namespace {

constexpr std::size_t kMostLayers = 8;  ///< of a block; a longer one is learned layer by layer
constexpr std::size_t kMixturesOfRun = 3;
constexpr std::size_t kMovesOfRun = 10;
constexpr std::size_t kEnoughRuns = 2048;  ///< to learn from without further ones

class BlockWalk {
 public:
  BlockWalk(const SimulatedGraph& simulated, const QuantTable& table, const Dataset& data,
            Grain grain, const CalibrateOptions& options, LevelJournal* journal,
            const LearningSteps& length)
      : network_(simulated),
        table_(table),
        options_(options),
        journal_(journal),
        length_(length),
        threads_(thread_count(options.threads)) {
    blocks_ = plan_blocks(
        network_.graph(), grain, kMostLayers, [&](NodeId id) { return has_weights(id); },
        [&](ValueId input) { return !network_.is_range(input); });
    const Feed feed(simulated.source, data, options.samples, options.first);
    const std::size_t affordable = affordable_runs();
    runs_ = std::min(feed.runs(), affordable);
    for (std::size_t run = 0; run < runs_; ++run) {
      (is_holdout(run) ? holdout_ : training_).push_back(run);
    }
    const auto inputs = network_.graph().inputs().first(simulated.source.inputs().size());
    for (const ValueId input : inputs) {
      inputs_[input].resize(runs_);
    }
    parallel_for(runs_, threads_, [&](std::size_t, std::size_t run) {
      const std::vector<Tensor> tensors = feed.read(run * feed.runs() / runs_);
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        inputs_.at(inputs[i])[run] = tensors[i];
      }
    });
    augment(affordable);
  }

  QuantTable run(CalibrationAudit* audit) {
    ReconstructionResult outcome;
    const QuantTable first = table_;
    if (holdout_.empty()) {
      return first;  // too few runs to hold any out
    }
    Block whole{
        .nodes = {}, .sources = blocks_.front().sources, .results = blocks_.back().results};
    const RunValues first_results = network_.run(whole, inputs_, first, threads_);
    RunValues exact = inputs_;
    RunValues quantized = inputs_;
    for (const Block& block : blocks_) {
      RunValues targets = network_.run(block, exact, {}, threads_);
      RunValues results = network_.run(block, quantized, table_, threads_);
      if (block.layers > 0) {
        ++outcome.blocks;
        outcome.improved += improve(block, exact, quantized, targets,
                                    {.steps = length_.of_block,
                                     .after_step = [&] { report_step(); },
                                     .drops = true},
                                    results)
                                ? 1
                                : 0;
      }
      exact = std::move(targets);
      quantized = std::move(results);
      whole.nodes.insert(whole.nodes.end(), block.nodes.begin(), block.nodes.end());
    }
    improve(whole, inputs_, inputs_, exact,
            {.steps = length_.together,
             .rounds = false,
             .after_step = [&] { report_step(); },
             .drops = false},
            quantized);
    const Judgement judgement = judge(whole, exact, first_results);
    const double before = error(judgement, first_results, exact, true);
    const double after = error(judgement, quantized, exact, true);
    const bool is_better = after < before;
    outcome.error = is_better ? after / before : 1;
    if (audit != nullptr) {
      audit->reconstruction = outcome;
    }
    return is_better ? table_ : first;
  }

 private:
  /// Results that are compared, and what their squared errors count.
  struct Judgement {
    std::vector<ValueId> values;
    std::vector<double> weights;
  };

  /// Few samples are soon known by heart. Images that are moved, or else mixtures of samples,
  /// are further ones to learn from, as long as `affordable` runs are not exceeded.
  void augment(std::size_t affordable) {
    const std::size_t most = std::min(affordable, kEnoughRuns);
    const bool moves = has_images(inputs_);
    if (runs_ >= most || holdout_.empty() || !(moves || can_mix(inputs_))) {
      return;
    }
    const std::size_t of_run = moves ? kMovesOfRun : kMixturesOfRun;
    const std::size_t more = std::min(of_run * training_.size(), most - runs_);
    moves ? add_moved(inputs_, training_, more) : add_mixtures(inputs_, training_, more);
    for (std::size_t i = 0; i < more; ++i) {
      training_.push_back(runs_++);
    }
  }

  bool has_weights(NodeId id) const {
    const auto& inputs = network_.graph().node(id).inputs;
    return std::any_of(inputs.begin(), inputs.end(), [&](ValueId input) {
      const QuantPoint* point = input ? network_.point_of(input) : nullptr;
      return point != nullptr && point->role == Role::kWeight &&
             is_enabled(table_, point->name);
    });
  }

  /// As many as the memory holds: sources of a block twice, and its results three times.
  std::size_t affordable_runs() const {
    const auto bytes = [&](const std::vector<ValueId>& values) {
      return std::accumulate(
          values.begin(), values.end(), std::size_t{0}, [&](std::size_t sum, ValueId value) {
            const TensorType& type = network_.graph().type(value);
            return sum +
                   static_cast<std::size_t>(element_count(type.shape)) * size_of(type.dtype);
          });
    };
    std::size_t of_run = 1;
    for (const Block& block : blocks_) {
      of_run = std::max(of_run, 2 * bytes(block.sources) + 3 * bytes(block.results));
    }
    constexpr std::size_t kFewRuns = 16;
    const std::size_t memory = options_.memory != 0 ? options_.memory : available_memory() / 4;
    return std::max(kFewRuns, memory / of_run);
  }

  void report_step() {
    ++steps_done_;
    if (options_.progress) {
      const auto learned = static_cast<std::size_t>(std::count_if(
          blocks_.begin(), blocks_.end(), [](const Block& block) { return block.layers > 0; }));
      options_.progress(steps_done_, learned * length_.of_block + length_.together);
    }
  }

  /// Each result counts by its error in the beginning, whose sum is 1 for each run.
  Judgement judge(const Block& block, const RunValues& targets,
                  const RunValues& results) const {
    Judgement judgement;
    for (const ValueId value : block.results) {
      const bool passes =
          std::find(block.sources.begin(), block.sources.end(), value) != block.sources.end();
      if (passes || network_.graph().type(value).dtype != DType::kFloat32) {
        continue;
      }
      const double own = error({{value}, {1}}, results, targets, false);
      if (own > 0) {
        judgement.values.push_back(value);
        judgement.weights.push_back(static_cast<double>(training_.size()) / own);
      }
    }
    for (double& weight : judgement.weights) {
      weight /= static_cast<double>(judgement.values.size());
    }
    return judgement;
  }

  double error(const Judgement& judgement, const RunValues& results, const RunValues& targets,
               bool holdout) const {
    double sum = 0;
    for (std::size_t i = 0; i < judgement.values.size(); ++i) {
      const ValueId value = judgement.values[i];
      for (const std::size_t run : holdout ? holdout_ : training_) {
        sum += judgement.weights[i] *
               squared_distance(results.at(value)[run], targets.at(value)[run]);
      }
    }
    return sum;
  }

  /// Whether learning the block helped; then `results` are the better ones.
  bool improve(const Block& block, const RunValues& exact, const RunValues& quantized,
               const RunValues& targets, const LearningPlan& plan, RunValues& results) {
    if (auto known = journal_ == nullptr ? std::nullopt : journal_->next()) {
      for (auto& [name, result] : known->table) {
        table_[name] = std::move(result);
      }
      if (!known->table.empty()) {
        results = network_.run(block, quantized, table_, threads_);
      }
      return !known->table.empty();
    }
    LevelDecisions decisions;
    if (auto learned = learn(block, exact, quantized, targets, plan, results)) {
      for (auto& [name, result] : *learned) {
        if (result != table_.at(name)) {
          decisions.table.emplace(name, result);
        }
      }
      table_ = *std::move(learned);
    }
    if (journal_ != nullptr) {
      journal_->add(decisions);
    }
    return !decisions.table.empty();
  }

  /// A better table, with `results` by it, or nothing.
  std::optional<QuantTable> learn(const Block& block, const RunValues& exact,
                                  const RunValues& quantized, const RunValues& targets,
                                  const LearningPlan& plan, RunValues& results) const {
    const Judgement judgement = judge(block, targets, results);
    if (judgement.values.empty()) {
      return std::nullopt;  // exact already
    }
    QuantTable learned;
    try {
      learned = learn_block(network_,
                            {.block = block,
                             .compared = judgement.values,
                             .weights = judgement.weights,
                             .quantized = quantized,
                             .exact = exact,
                             .targets = targets,
                             .runs = training_},
                            table_, plan, threads_);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnsupported) {
        throw;
      }
      return std::nullopt;
    }
    RunValues better = network_.run(block, quantized, learned, threads_);
    if (!(error(judgement, better, targets, true) < error(judgement, results, targets, true))) {
      return std::nullopt;
    }
    results = std::move(better);
    return learned;
  }

  FloatNetwork network_;
  QuantTable table_;
  const CalibrateOptions& options_;
  LevelJournal* journal_;
  LearningSteps length_;
  int threads_;
  std::vector<Block> blocks_;
  std::size_t runs_ = 0;
  std::vector<std::size_t> training_;
  std::vector<std::size_t> holdout_;
  RunValues inputs_;
  std::size_t steps_done_ = 0;
};

}  // namespace

LearningSteps usual_steps(const Graph& graph) {
  constexpr double kMost = 5000;
  constexpr double kLeast = 200;
  constexpr double kMultiplications = 2e11;  // of the runs of all steps, if each had one
  const double products = std::max(multiplications(graph), 1.0);
  const double steps = std::clamp(kMultiplications / products, kLeast, kMost);
  constexpr std::size_t kOfBlocksForOneTogether = 10;
  const auto of_block = static_cast<std::size_t>(steps);
  return {.of_block = of_block, .together = of_block / kOfBlocksForOneTogether};
}

QuantTable reconstruct(const SimulatedGraph& simulated, const QuantTable& table,
                       const Dataset& data, Grain grain, const CalibrateOptions& options,
                       CalibrationAudit* audit, LevelJournal* journal,
                       std::optional<LearningSteps> steps) {
  return BlockWalk(simulated, table, data, grain, options, journal,
                   steps.value_or(usual_steps(simulated.source)))
      .run(audit);
}

}  // namespace tare
