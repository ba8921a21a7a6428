// Means and variances of what the first layers of a network read or compute, to be held against
// what training saw (input_audit.cpp). From each input it follows operators that leave every
// value its place, a factor or an offset, up to batch norms, which remember mean and variance
// of training, or past the first product. Only the beginning of the network runs, on 16
// samples.
#include "calibrate/audit/first_layers.h"

#include "tare/execute.h"

#include "base/parallel.h"
#include "execute/run/feed.h"
#include "graph/ir/subgraph.h"
#include "graph/operators/product.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

namespace tare {
namespace {

/// Channels have means over positions too, so few samples tell.
constexpr std::size_t kMostSamples = 16;
/// The first one with a batch norm decides; further ones cost a part of a run each.
constexpr std::size_t kLayersOfInput = 4;

/// How far a value is from the one input that it is computed from.
struct Path {
  ValueId input;
  bool has_product = false;
};

/// Operators that give every value of one input a place, a factor or an offset.
bool is_thin(const std::string& op) {
  constexpr std::array<std::string_view, 16> kThin{
      "Add", "Cast",    "Concat", "Div",   "Flatten",      "Gather",  "Identity", "Mul",
      "Pad", "Reshape", "Slice",  "Split", "SpaceToDepth", "Squeeze", "Sub",      "Transpose"};
  return op == "Unsqueeze" || std::find(kThin.begin(), kThin.end(), op) != kThin.end();
}

struct Site {
  Path path;
  NodeId node;
  ValueId observed;
  bool is_norm = false;
};

class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph) {
    for (const ValueId input : graph.inputs()) {
      if (graph.type(input).dtype == DType::kFloat32) {
        paths_[input] = {input, false};
      }
    }
  }

  std::vector<Site> run() {
    for (const NodeId id : graph_.topological_order()) {
      visit(id);
    }
    return std::move(sites_);
  }

 private:
  /// The path of the operands that are no constants, where they have one and the same input.
  const Path* common_path(const Node& node) const {
    const Path* common = nullptr;
    for (const ValueId operand : node.inputs) {
      if (!operand || graph_.constant(operand) != nullptr) {
        continue;
      }
      const auto found = paths_.find(operand);
      if (found == paths_.end() ||
          (common != nullptr && common->input != found->second.input)) {
        return nullptr;
      }
      common = &found->second;
    }
    return common;
  }

  void visit(NodeId id) {
    const Node& node = graph_.node(id);
    const Path* path = common_path(node);
    if (path == nullptr) {
      return;
    }
    if (node.op == "BatchNormalization") {
      add({*path, id, node.inputs[0], true});
    } else if (is_product(node) && !path->has_product) {
      if (!leads_to_norm(node.outputs[0])) {
        add({*path, id, node.outputs[0], false});
      }
      paths_[node.outputs[0]] = {path->input, true};
    } else if (is_thin(node.op)) {
      const Path own = *path;
      for (const ValueId output : node.outputs) {
        if (output) {
          paths_[output] = own;
        }
      }
    }
  }

  bool leads_to_norm(ValueId value) const {
    const auto& users = graph_.users(value);
    return std::any_of(users.begin(), users.end(), [&](NodeId id) {
      const Node& user = graph_.node(id);
      return user.op == "BatchNormalization" ||
             (is_thin(user.op) && !user.outputs.empty() && leads_to_norm(user.outputs[0]));
    });
  }

  void add(const Site& site) {
    if (graph_.type(site.observed).shape.size() >= 2 &&
        ++count_[site.path.input] <= kLayersOfInput) {
      sites_.push_back(site);
    }
  }

  const Graph& graph_;
  std::map<ValueId, Path> paths_;
  std::map<ValueId, std::size_t> count_;
  std::vector<Site> sites_;
};

/// Sums over all elements of a channel.
struct Sums {
  std::vector<double> x;
  std::vector<double> xx;
  double count = 0;

  void add(const Tensor& tensor) {
    const Shape& shape = tensor.shape();
    const auto channels = static_cast<std::size_t>(shape[1]);
    const auto outer = static_cast<std::size_t>(shape[0]);
    const std::size_t inner = static_cast<std::size_t>(tensor.size()) / (outer * channels);
    x.resize(channels);
    xx.resize(channels);
    count += static_cast<double>(outer * inner);
    const auto values = tensor.view<float>();
    std::size_t at = 0;
    for (std::size_t o = 0; o < outer; ++o) {
      for (std::size_t c = 0; c < channels; ++c) {
        for (std::size_t i = 0; i < inner; ++i, ++at) {
          const auto value = static_cast<double>(values[at]);
          x[c] += value;
          xx[c] += value * value;
        }
      }
    }
  }

  ChannelMoments moments() const {
    ChannelMoments result;
    for (std::size_t c = 0; c < x.size(); ++c) {
      const double mean = x[c] / count;
      result.mean.push_back(mean);
      result.variance.push_back(std::max(xx[c] / count - mean * mean, 0.0));
    }
    return result;
  }
};

/// In the order of the runs, whatever the number of threads.
std::vector<Sums> measure(const Graph& graph, const Dataset& data, int threads) {
  const std::size_t batch = Feed(graph, data, 0).batch();
  const std::size_t used =
      std::min(data.size(), std::max(kMostSamples / batch, std::size_t{1}) * batch);
  const auto some = evenly_spaced(data, used);
  const Feed feed(graph, *some, 0);
  const Executable executable(graph);
  std::vector<std::vector<Sums>> of_runs(feed.runs(),
                                         std::vector<Sums>(graph.outputs().size()));
  parallel_for(feed.runs(), thread_count(threads), [&](std::size_t, std::size_t run) {
    const std::vector<Tensor> results = executable.run(feed.read(run));
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i].size() > 0) {
        of_runs[run][i].add(results[i]);
      }
    }
  });
  std::vector<Sums> all(graph.outputs().size());
  for (const auto& of_run : of_runs) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].count += of_run[i].count;
      all[i].x.resize(of_run[i].x.size());
      all[i].xx.resize(of_run[i].x.size());
      for (std::size_t c = 0; c < of_run[i].x.size(); ++c) {
        all[i].x[c] += of_run[i].x[c];
        all[i].xx[c] += of_run[i].xx[c];
      }
    }
  }
  return all;
}

std::optional<ChannelMoments> trained_moments(const Graph& graph, const Node& norm) {
  constexpr std::size_t kMean = 3;
  constexpr std::size_t kVariance = 4;
  const Tensor* mean = graph.constant(norm.inputs[kMean]);
  const Tensor* variance = graph.constant(norm.inputs[kVariance]);
  return mean == nullptr || variance == nullptr
             ? std::nullopt
             : std::optional(ChannelMoments{mean->to_double(), variance->to_double()});
}

}  // namespace

std::vector<FirstLayer> first_layers(const Graph& model, const Dataset& data, int threads) {
  const std::vector<Site> sites = Finder(model).run();
  if (sites.empty()) {
    return {};
  }
  std::vector<ValueId> observed;
  for (const Site& site : sites) {
    observed.push_back(site.observed);
  }
  Subgraph part = subgraph(model, {}, observed);
  for (ValueId& value : observed) {
    value = part.values.at(value);
  }
  part.graph.set_outputs(observed);
  const std::vector<Sums> sums = measure(part.graph, data, threads);
  std::vector<FirstLayer> result;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const Node& node = model.node(sites[i].node);
    if (sums[i].count > 0) {
      result.push_back({model.name(sites[i].path.input), node.name, sums[i].moments(),
                        sites[i].is_norm ? trained_moments(model, node) : std::nullopt});
    }
  }
  return result;
}

}  // namespace tare
