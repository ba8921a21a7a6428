#include "engine/plan_files.h"

#include "tare/error.h"
#include "tare/integer_graph.h"

#include "engine/hasty_config.h"
#include "engine/made_up_samples.h"
#include "simulate/region_builder.h"

#include <algorithm>

namespace tare {
namespace {

/// A few show ranges that keep values from being all the same integer.
constexpr std::size_t kSamples = 2;

void keep(Config& config, const std::set<std::string>& nodes, bool in_float) {
  for (const std::string& node : nodes) {
    LayerRule rule;
    rule.name = node;
    rule.keep_float = in_float;
    config.layers.push_back(std::move(rule));
  }
}

/// Sets of nodes that values connect, by union and find.
class Components {
 public:
  explicit Components(std::size_t count) : parents_(count) {
    for (std::size_t i = 0; i < count; ++i) {
      parents_[i] = i;
    }
  }
  std::size_t find(std::size_t i) {
    while (parents_[i] != i) {
      parents_[i] = parents_[parents_[i]];
      i = parents_[i];
    }
    return i;
  }
  void join(std::size_t a, std::size_t b) { parents_[find(a)] = find(b); }

 private:
  std::vector<std::size_t> parents_;
};

/// Calls `join(from, to)` for every value that one node of `places` reads of another, and
/// `apart(node, value)` for one that connects a node with others.
template <class Places, class Join, class Apart>
void each_connection(const Graph& graph, const Places& places, const Join& join,
                     const Apart& apart) {
  for (const ValueId value : graph.values()) {
    const auto producer = graph.producer(value);
    const auto from = producer ? places.find(graph.node(*producer).name) : places.end();
    for (const NodeId user : graph.users(value)) {
      const auto to = places.find(graph.node(user).name);
      if (from != places.end() && to != places.end()) {
        join(from->second, to->second);
      } else if (from != places.end()) {
        apart(from->first, value);
      } else if (to != places.end()) {
        apart(to->first, value);
      }
    }
  }
}

/// Regions in float that values connect, of those that could be on integers.
void find_float_islands(const QuantizeResult& result, const PlanRegions& regions,
                        PlanFile& file) {
  const Graph& graph = result.simulated.source;
  std::map<std::string, std::size_t> places;  // of their nodes, by the position of the region
  std::size_t count = 0;
  for (const auto& [root, nodes] : regions) {
    for (const std::string& node : nodes) {
      if (!file.integers.contains(root)) {
        places.emplace(node, count);
      }
    }
    ++count;
  }
  Components components(count);
  each_connection(
      graph, places, [&](std::size_t from, std::size_t to) { components.join(from, to); },
      [](const std::string&, ValueId) {});
  std::map<std::size_t, std::set<std::string>> islands;
  for (const auto& [root, nodes] : regions) {
    if (const auto place = places.find(root); place != places.end()) {
      islands[components.find(place->second)].insert(root);
    }
  }
  for (auto& [root, island] : islands) {
    file.float_islands.push_back(std::move(island));
  }
}

/// Of the nodes on integers, which are connected, and which have a neighbour in float.
void find_islands(const QuantizeResult& result, PlanFile& file) {
  const Graph& graph = result.simulated.source;
  std::set<std::string> in_float;
  for (const Verdict& verdict : result.verdicts) {
    if (verdict.in_float()) {
      in_float.insert(verdict.node);
    }
  }
  std::map<std::string, std::size_t> places;
  for (const NodeId id : graph.topological_order()) {
    if (!in_float.contains(graph.node(id).name)) {
      places.emplace(graph.node(id).name, places.size());
    }
  }
  Components components(places.size());
  std::set<std::string> beside_float;
  each_connection(
      graph, places, [&](std::size_t from, std::size_t to) { components.join(from, to); },
      [&](const std::string& node, ValueId value) {
        if (graph.constant(value) == nullptr) {
          beside_float.insert(node);
        }
      });
  for (const ValueId output : graph.outputs()) {
    const auto producer = graph.producer(output);
    if (producer && places.contains(graph.node(*producer).name)) {
      beside_float.insert(graph.node(*producer).name);
    }
  }
  std::map<std::size_t, std::set<std::string>> islands;
  for (const Region& region : result.simulated.regions) {
    const std::string& root = graph.node(region.match.root()).name;
    const auto place = places.find(root);
    if (!file.integers.contains(root) || place == places.end()) {
      continue;
    }
    islands[components.find(place->second)].insert(root);
    for (const NodeId id : layer_nodes(graph, region)) {
      if (beside_float.contains(graph.node(id).name)) {
        file.border.insert(root);
      }
    }
  }
  for (auto& [root, island] : islands) {
    file.islands.push_back(std::move(island));
  }
}

}  // namespace

PlanFiles::PlanFiles(Engine& engine, const Graph& model, const Dataset* data,
                     const Config& config, const Toolkit& toolkit, Form form,
                     const ModelInputs& inputs)
    : engine_(engine),
      model_(model),
      config_(config),
      toolkit_(toolkit),
      form_(form),
      inputs_(inputs) {
  const SimulatedGraph everything = simulate_all(model, in_a_hurry(config), toolkit);
  const MadeUpSamples made_up(inputs);
  statistics_ = collect(everything, data != nullptr ? *data : made_up,
                        {.threads = 0, .samples = data != nullptr ? kSamples : 1});
  all_target_ = write_target_of_all(files_, config.target);
  Config all = in_a_hurry(config);
  all.target = all_target_;
  const SimulatedGraph simulated = quantized(all).simulated;
  const LayerRules rules(simulated.source, config.layers);
  for (const Region& region : simulated.regions) {
    const std::vector<NodeId> nodes = layer_nodes(simulated.source, region);
    if (region.pattern->follows_neighbours ||
        std::any_of(nodes.begin(), nodes.end(),
                    [&](NodeId id) { return rules.demands_integers(simulated.source, id); })) {
      continue;
    }
    std::set<std::string>& names = regions_[simulated.source.node(region.match.root()).name];
    for (const NodeId id : region.match.nodes()) {
      names.insert(simulated.source.node(id).name);
    }
  }
}

QuantizeResult PlanFiles::quantized(const Config& config) const {
  return quantize(model_, statistics_, config, toolkit_);
}

std::set<std::string> PlanFiles::on_integers(const SimulatedGraph& simulated) const {
  std::set<std::string> result;
  for (const Region& region : simulated.regions) {
    const std::string& root = simulated.source.node(region.match.root()).name;
    if (regions_.contains(root)) {
      result.insert(root);
    }
  }
  return result;
}

std::set<std::string> PlanFiles::placed(const std::string& target) const {
  Config config = in_a_hurry(config_);
  config.target = target;
  return on_integers(quantized(config).simulated);
}

std::optional<PlanFile> PlanFiles::load(const std::set<std::string>& integers) {
  Config config = in_a_hurry(config_);
  config.target = all_target_;
  for (const auto& [root, nodes] : regions_) {
    if (!integers.contains(root)) {
      keep(config, nodes, true);
    }
  }
  const QuantizeResult result = quantized(config);
  PlanFile file{.integers = on_integers(result.simulated),
                .model = {},
                .path = {},
                .islands = {},
                .border = {},
                .float_islands = {}};
  find_islands(result, file);
  find_float_islands(result, regions_, file);
  file.path = files_.next(".onnx");
  write_model(result, file.path, form_);
  try {
    file.model = engine_.load(file.path, inputs_);
  } catch (const Error&) {
    if (engine_.is_broken()) {
      throw;
    }
    return std::nullopt;
  }
  return file;
}

void PlanFiles::unload(const PlanFile& file) {
  engine_.unload(file.model);
  std::error_code ignored;
  std::filesystem::remove(file.path, ignored);
}

Config PlanFiles::config(const std::set<std::string>& integers,
                         const std::string& target) const {
  const std::set<std::string> already = placed(target);
  Config config = config_;
  config.target = target;
  for (const auto& [root, nodes] : regions_) {
    if (!integers.contains(root)) {
      keep(config, nodes, true);
    } else if (!already.contains(root)) {
      keep(config, {root}, false);
    }
  }
  return config;
}

}  // namespace tare
