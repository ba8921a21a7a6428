// What there is to say about layers without running them: depth, kernel, weights, accumulators.
// A sweep over layers and a pass over the weights of each.
#include "compare/layer_facts.h"

#include "tare/graph.h"
#include "tare/integer_graph.h"

#include "compare/weight_facts.h"
#include "graph/operators/product.h"

#include <algorithm>
#include <map>
#include <string>

namespace tare {
namespace {

class Facts {
 public:
  Facts(const Graph& prepared, const Graph& integer, const Comparison& comparison,
        const CompareFacts& known, bool brief)
      : real_(prepared), integer_(integer), comparison_(comparison), brief_(brief) {
    for (const auto& [quantized, real] : comparison.same.nodes) {
      counterpart_.emplace(real, quantized);
    }
    for (const Verdict& verdict : known.verdicts) {
      verdicts_.emplace(verdict.node, &verdict);
    }
    if (!brief) {
      for (const AccumulatorRange& sums : worst_case_accumulators(integer)) {
        guaranteed_.emplace(sums.node, sums.range);
      }
    }
    for (const AccumulatorRange& sums : known.sums) {
      observed_.emplace(sums.node, sums.range);
    }
    for (const ComparedPoint& point : comparison.points) {
      points_.emplace(point.storage, point.name);
    }
  }

  std::vector<LayerReport> run() {
    std::vector<LayerReport> layers;
    for (const ComparedLayer& compared : comparison_.layers) {
      const Node& node = real_.node(compared.main);
      LayerReport& layer = layers.emplace_back();
      layer.name = node.name;
      layer.op = node.op;
      layer.result = real_.name(compared.real);
      place(compared, layers);
      layer.macs = multiplications(real_, node);
      if (const auto point = points_.find(compared.quantized); point != points_.end()) {
        layer.point = point->second;
      }
      if (const auto own = counterpart_.find(compared.main); own != counterpart_.end()) {
        look_at(node, own->second, layer);
      }
    }
    return layers;
  }

 private:
  /// Inputs and depth of the last layer.
  void place(const ComparedLayer& compared, std::vector<LayerReport>& layers) {
    LayerReport& layer = layers.back();
    for (const ValueId input : compared.inputs) {
      const auto before = index_of_.find(input);
      if (before == index_of_.end()) {
        layer.inputs.push_back(real_.name(input));
      } else {
        layer.inputs.push_back(layers[before->second].name);
        layer.depth = std::max(layer.depth, layers[before->second].depth + 1);
      }
    }
    index_of_.emplace(compared.real, layers.size() - 1);
  }

  void look_at(const Node& real, NodeId own, LayerReport& layer) const {
    const Node& quantized = integer_.node(own);
    for (const std::string& name : original_names(quantized.name)) {
      if (const auto found = verdicts_.find(name); found != verdicts_.end()) {
        layer.runs_as = found->second->runs_as;
        layer.float_because = found->second->because;
        break;
      }
    }
    if (brief_ || !is_product(quantized)) {
      return;
    }
    layer.weight = weight_facts(real_, real, integer_, quantized);
    if (const auto sums = guaranteed_.find(own); sums != guaranteed_.end()) {
      AccumulatorReport& accumulator = layer.accumulator.emplace();
      accumulator.bits_worst_case = sums->second.bits();
      accumulator.bits_there =
          static_cast<int>(8 * size_of(integer_.type(quantized.outputs[0]).dtype));
      if (const auto observed = observed_.find(own); observed != observed_.end()) {
        accumulator.bits_observed = observed->second.bits();
      }
      accumulator.bias_margin = bias_margin(integer_, quantized);
      if (layer.weight) {
        accumulator.widened_channels = count_widened(*layer.weight, integer_, quantized);
      }
    }
  }

  const Graph& real_;
  const Graph& integer_;
  const Comparison& comparison_;
  bool brief_;
  std::map<NodeId, NodeId> counterpart_;  ///< float node -> integer node
  std::map<std::string, const Verdict*> verdicts_;
  std::map<NodeId, SumRange> guaranteed_;
  std::map<NodeId, SumRange> observed_;
  std::map<ValueId, std::string> points_;    ///< storage -> name
  std::map<ValueId, std::size_t> index_of_;  ///< result -> layer
};

}  // namespace

std::vector<LayerReport> layer_facts(const Graph& prepared, const Graph& integer,
                                     const Comparison& comparison, const CompareFacts& known,
                                     bool brief) {
  return Facts(prepared, integer, comparison, known, brief).run();
}

std::vector<FloatOperator> float_operators(const Graph& prepared, const CompareFacts& known) {
  std::vector<FloatOperator> result;
  for (const Verdict& verdict : known.verdicts) {
    if (!verdict.in_float()) {
      continue;
    }
    FloatOperator& entry = result.emplace_back(
        FloatOperator{verdict.node, verdict.op, verdict.because, verdict.detail});
    for (const std::string& name : original_names(verdict.node)) {
      if (prepared.find_node(name)) {
        entry.name = name;
        break;
      }
    }
  }
  return result;
}

}  // namespace tare
