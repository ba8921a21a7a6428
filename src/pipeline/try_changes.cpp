// Tries what findings propose before anybody is told to do it: each change alone, and all
// changes without it, as some help only together and some only repeat what another does. Those
// that gain less than 0.1 dB either way are withdrawn. Eight samples and eight proposals at
// most; each takes two runs of the network for each sample.
#include "pipeline/try_changes.h"

#include "tare/quantize.h"

#include "base/bytes.h"
#include "calibrate/statistics/shares.h"
#include "compare/deviation.h"
#include "execute/run/feed.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tare {
namespace {

/// Each costs two runs of the network on each sample: together as much as comparing 50 samples.
constexpr std::size_t kTried = 8;
constexpr std::size_t kSamples = 8;
/// Less is within what other samples would say.
constexpr double kGain = 0.1;

using Results = std::vector<std::vector<Tensor>>;  ///< of each run of this process

/// Compares networks with the float one on this process's share of the first samples.
class FirstSamples {
 public:
  FirstSamples(const Graph& original, const Dataset& data, const CompareOptions& options)
      : original_(original), threads_(options.threads), team_(options.communicator) {
    const std::size_t available =
        options.samples == 0 ? data.size() : std::min(options.samples, data.size());
    count_ = std::min(available, in_whole_runs(kSamples, Feed(original, data, 0).batch()));
    const Feed feed(original, data, count_);
    if (const Share own = own_share(feed.runs(), team_); own.count() > 0) {
      own_ = part_of(data, own.first * feed.batch(), own.count() * feed.batch());
    }
    real_ = results_of(original);
  }

  std::size_t count() const { return count_; }

  /// Of all outputs, in dB.
  double least_sqnr(const Graph& quantized) const;

 private:
  Results results_of(const Graph& graph) const {
    Results results;
    if (own_ != nullptr) {
      run_dataset(graph, *own_, threads_, 0, [&](std::size_t, std::vector<Tensor> outputs) {
        results.push_back(std::move(outputs));
      });
    }
    return results;
  }

  /// The errors of each float output in each run of all processes.
  std::vector<std::vector<ErrorSums>> errors_of(const Results& quantized) const;

  const Graph& original_;
  int threads_;
  Communicator* team_;
  std::size_t count_ = 0;
  std::unique_ptr<Dataset> own_;  ///< null where other processes have all
  Results real_;
};

std::vector<std::vector<ErrorSums>> FirstSamples::errors_of(const Results& quantized) const {
  std::vector<std::vector<ErrorSums>> result;
  const auto outputs = original_.outputs();
  for (std::size_t output = 0; output < outputs.size(); ++output) {
    if (original_.type(outputs[output]).dtype == DType::kFloat32) {
      std::vector<ErrorSums>& of_runs = result.emplace_back();
      for (std::size_t run = 0; run < real_.size(); ++run) {
        of_runs.push_back(
            error_sums(real_[run][output].view<float>(), quantized[run][output].view<float>()));
      }
    }
  }
  if (team_ == nullptr) {
    return result;
  }
  ByteWriter writer;
  for (std::vector<ErrorSums>& of_runs : result) {
    writer.add_all(std::span<const ErrorSums>(of_runs));
    of_runs.clear();
  }
  for (const std::string& message : team_->gather(writer.take(), Message::kErrors)) {
    ByteReader reader(message);
    for (std::vector<ErrorSums>& of_runs : result) {
      const std::vector<ErrorSums> theirs = reader.get_all<ErrorSums>();
      of_runs.insert(of_runs.end(), theirs.begin(), theirs.end());
    }
  }
  return result;
}

double FirstSamples::least_sqnr(const Graph& quantized) const {
  double least = std::numeric_limits<double>::infinity();
  for (const std::vector<ErrorSums>& of_runs : errors_of(results_of(quantized))) {
    ErrorSums sums;
    for (const ErrorSums& of_run : of_runs) {
      sums.add(of_run);
    }
    const double sqnr = sums.dd == 0 ? std::numeric_limits<double>::infinity()
                                     : 10 * std::log10(sums.xx / sums.dd);
    least = std::min(least, std::isnan(sqnr) ? -std::numeric_limits<double>::infinity() : sqnr);
  }
  return least;
}

/// Names of these layers and of all that depend on them.
std::set<std::string> with_dependents(const std::vector<std::string>& layers,
                                      const Report& report) {
  std::set<std::string> found(layers.begin(), layers.end());
  for (const LayerReport& layer : report.layers) {
    if (std::any_of(layer.inputs.begin(), layer.inputs.end(),
                    [&](const std::string& input) { return found.contains(input); })) {
      found.insert(layer.name);
    }
  }
  return found;
}

/// What its calibrator would choose from exact values.
const AlternativeCalibrator* from_exact_values(const PointReport& point) {
  const auto found =
      std::find_if(point.alternatives.begin(), point.alternatives.end(),
                   [&](const AlternativeCalibrator& each) {
                     return point.calibrator.empty() || each.calibrator == point.calibrator;
                   });
  return found == point.alternatives.end() ? nullptr : &*found;
}

/// The change, and with it ranges behind it that were chosen for values that were far off:
/// quantizing again would choose others.
std::vector<ProposedChange> with_ranges_behind(const ProposedChange& change,
                                               const Report& report) {
  constexpr double kFactor = 2;  // 3 dB: below that ranges differ for less
  std::vector<ProposedChange> changes{change};
  const auto behind = with_dependents(change.keep_float, report);
  for (const PointReport& point : report.points) {
    const AlternativeCalibrator* other =
        behind.contains(point.layer) ? from_exact_values(point) : nullptr;
    if (other != nullptr && point.error.mse && *point.error.mse > kFactor * other->error) {
      changes.push_back({.keep_float = {}, .point = point.name, .range = other->range});
    }
  }
  return changes;
}

bool helps(const TriedChange& tried) {
  return std::max(tried.alone, tried.with_others) >= kGain;
}

void withdraw(Diagnosis& found) {
  found.advice = "the change that should fix it was tried and does not help";
  found.yaml.clear();
  found.change = {};
}

/// What helps, then what nobody knows of, then what does not help.
int rank(const Diagnosis& found) {
  if (found.kind == "input_preparation") {
    return -1;  // before that is mended nobody knows what helps
  }
  return !found.tried ? 1 : helps(*found.tried) ? 0 : 2;
}

}  // namespace

void try_changes(const Graph& original, const ChangeableNetwork& network, const Dataset& data,
                 const CompareOptions& options, Report& report) {
  using Changes = std::vector<ProposedChange>;
  std::vector<Diagnosis*> tried;
  std::vector<Changes> proposals;
  for (Diagnosis& found : report.diagnoses) {
    if (tried.size() < kTried && !found.change.empty() && network.has(found.change)) {
      tried.push_back(&found);
      proposals.push_back(with_ranges_behind(found.change, report));
    }
  }
  if (tried.empty()) {
    return;
  }
  const FirstSamples samples(original, data, options);
  const auto sqnr_with = [&](const Changes& changes) {
    return samples.least_sqnr(network.with(changes));
  };
  const auto all_but = [&](std::size_t left_out) {
    Changes changes;
    for (std::size_t i = 0; i < proposals.size(); ++i) {
      if (i != left_out) {
        changes.insert(changes.end(), proposals[i].begin(), proposals[i].end());
      }
    }
    return changes;
  };
  const double none = sqnr_with({});
  const double all = sqnr_with(all_but(proposals.size()));
  for (std::size_t i = 0; i < tried.size(); ++i) {
    tried[i]->tried = {.alone = sqnr_with(proposals[i]) - none,
                       .with_others = all - sqnr_with(all_but(i)),
                       .samples = samples.count()};
    if (!helps(*tried[i]->tried)) {
      withdraw(*tried[i]);
    }
  }
  std::stable_sort(report.diagnoses.begin(), report.diagnoses.end(),
                   [](const Diagnosis& a, const Diagnosis& b) { return rank(a) < rank(b); });
}

}  // namespace tare
