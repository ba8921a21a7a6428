// Makes of a block the graph that learns: constants that are learned become inputs, behind each
// FakeQuantize in the block stands a choice between what it gives and what it got (Wei, Gong,
// Li, Liu and Yu, "QDrop: Randomly Dropping Quantization for Extremely Low-bit Post-Training
// Quantization", 2022), and behind the results come their distance to targets and the gradients
// of that.
#include "reconstruct/block_program.h"

#include "tare/error.h"

#include "reconstruct/gradients.h"

#include <algorithm>
#include <optional>
#include <set>

namespace tare {
namespace {

TensorType with_batch(TensorType type, std::size_t batch) {
  if (!type.shape.empty()) {
    type.shape[0] *= static_cast<std::int64_t>(batch);
  }
  return type;
}

class BlockBuilder {
 public:
  BlockBuilder(const Graph& network, std::span<const ValueId> sources,
               std::span<const ValueId> results)
      : part_(subgraph(network, sources, results)), graph_(part_.graph) {
    for (const ValueId source : sources) {
      // A value that passes by is in no node of the part.
      const auto found = part_.values.find(source);
      if (found != part_.values.end() && !graph_.users(found->second).empty()) {
        sources_.emplace_back(source, found->second);
      }
    }
    for (const ValueId result : results) {
      const ValueId own = part_.values.at(result);
      if (graph_.producer(own) && graph_.type(own).dtype == DType::kFloat32) {
        results_.push_back(own);
      }
    }
  }

  void make_inputs(std::span<const ValueId> constants) {
    for (const ValueId value : constants) {
      const ValueId own = part_.values.at(value);
      const ValueId input =
          graph_.add_input(graph_.unique_name(graph_.name(own) + "_learned"), graph_.type(own));
      graph_.replace_uses(own, input);
      learned_.push_back(input);
    }
  }

  /// Those of FakeQuantize, behind which values are dropped if `drops`.
  void find_ranges(bool drops) {
    const std::set<ValueId> results(results_.begin(), results_.end());
    for (const NodeId id : graph_.topological_order()) {
      const Node node = graph_.node(id);
      if (node.op != "FakeQuantize") {
        continue;
      }
      const ValueId range = node.inputs[1];
      if (std::find(ranges_.begin(), ranges_.end(), range) == ranges_.end()) {
        ranges_.push_back(range);
      }
      const ValueId rounded = node.outputs[0];
      if (!drops || results.contains(rounded)) {
        continue;
      }
      TensorType type = graph_.type(rounded);
      type.dtype = DType::kBool;
      const ValueId drop =
          graph_.add_input(graph_.unique_name(graph_.name(rounded) + "_drop"), type);
      const NodeId choice = graph_.add_node(
          "", "Where", {drop, node.inputs[0], rounded},
          {{graph_.unique_name(graph_.name(rounded) + "_dropped"), graph_.type(rounded)}});
      const ValueId chosen = graph_.node(choice).outputs[0];
      graph_.replace_uses(rounded, chosen);
      graph_.set_input(choice, 2, rounded);
      drops_.push_back(drop);
    }
  }

  /// Whether it now takes that many runs at a time.
  bool take_several(std::size_t batch) {
    if (!graph_.reshape || batch == 1) {
      return batch == 1;
    }
    std::set<ValueId> of_runs(drops_.begin(), drops_.end());
    for (const auto& [value, own] : sources_) {
      of_runs.insert(own);
    }
    std::vector<Shape> shapes;
    for (const ValueId input : graph_.inputs()) {
      shapes.push_back(
          with_batch(graph_.type(input), of_runs.contains(input) ? batch : 1).shape);
    }
    graph_.set_outputs(results_);
    std::optional<Graph> larger;
    try {
      larger = (*graph_.reshape)(graph_, shapes);
    } catch (const Error&) {
      return false;  // the network is another one for several samples
    }
    for (const ValueId value : graph_.values()) {
      const bool is_computed = graph_.producer(value).has_value();
      if (is_computed && larger->type(value) != with_batch(graph_.type(value), batch)) {
        return false;
      }
    }
    graph_ = *std::move(larger);
    return true;
  }

  /// Adds targets, and makes gradients the outputs.
  void differentiate(std::span<const ValueId> ranges, std::span<const double> weights,
                     std::size_t batch) {
    std::vector<ValueId> of = learned_;
    for (const ValueId range : ranges) {
      of.push_back(part_.values.at(range));
    }
    std::vector<ValueId> slopes;
    for (std::size_t i = 0; i < results_.size(); ++i) {
      const TensorType& type = graph_.type(results_[i]);
      const std::string name = graph_.name(results_[i]);
      const ValueId target = graph_.add_input(graph_.unique_name(name + "_target"), type);
      const ValueId off = add("Sub", {results_[i], target}, name + "_off");
      const float factor = static_cast<float>(2 * weights[i] / static_cast<double>(batch));
      const ValueId scale =
          graph_.add_constant(graph_.unique_name(name + "_weight"), Tensor::scalar(factor));
      slopes.push_back(add("Mul", {off, scale}, name + "_slope"));
      targets_.push_back(target);
    }
    graph_.set_outputs(add_gradients(graph_, results_, slopes, of));
    graph_.reshape = nullptr;
    graph_.erase_unused();
  }

  /// Inputs in the order of BlockProgram::Step.
  std::vector<ValueId> inputs() const {
    std::vector<ValueId> result;
    for (const auto& [value, own] : sources_) {
      result.push_back(own);
    }
    for (const auto* values : {&targets_, &learned_, &ranges_, &drops_}) {
      result.insert(result.end(), values->begin(), values->end());
    }
    return result;
  }

  std::vector<ValueId> sources() const {
    std::vector<ValueId> result;
    for (const auto& [value, own] : sources_) {
      result.push_back(value);
    }
    return result;
  }
  /// As values of the network.
  std::vector<ValueId> ranges() const {
    std::vector<ValueId> result;
    for (const ValueId range : ranges_) {
      result.push_back(
          std::find_if(part_.values.begin(), part_.values.end(), [&](const auto& each) {
            return each.second == range;
          })->first);
    }
    return result;
  }
  std::vector<Shape> drops() const {
    std::vector<Shape> result;
    for (const ValueId drop : drops_) {
      result.push_back(graph_.type(drop).shape);
    }
    return result;
  }
  std::size_t results() const { return results_.size(); }
  const Graph& graph() const { return graph_; }

 private:
  ValueId add(const char* op, std::vector<ValueId> operands, const std::string& name) {
    const TensorType type = graph_.type(operands[0]);
    const NodeId id =
        graph_.add_node("", op, std::move(operands), {{graph_.unique_name(name), type}});
    return graph_.node(id).outputs[0];
  }

  Subgraph part_;
  Graph& graph_;
  std::vector<std::pair<ValueId, ValueId>> sources_;  ///< of the network, and here
  std::vector<ValueId> results_;
  std::vector<ValueId> learned_;
  std::vector<ValueId> ranges_;
  std::vector<ValueId> drops_;
  std::vector<ValueId> targets_;
};

}  // namespace

BlockProgram::BlockProgram(const Graph& network, std::span<const ValueId> sources,
                           std::span<const ValueId> results, const Learned& learned,
                           std::span<const double> weights_of_results, std::size_t batch,
                           bool drops) {
  BlockBuilder builder(network, sources, results);
  builder.make_inputs(learned.constants);
  builder.find_ranges(drops);
  batch_ = builder.take_several(batch) ? batch : 1;
  builder.differentiate(learned.ranges, weights_of_results, batch_);
  sources_ = builder.sources();
  ranges_ = builder.ranges();
  drops_ = builder.drops();
  inputs_ = builder.inputs();
  graph_inputs_.assign(builder.graph().inputs().begin(), builder.graph().inputs().end());
  executable_ = std::make_unique<Executable>(builder.graph());
}

std::vector<Tensor> BlockProgram::gradients(Executable::Workspace& workspace,
                                            const Step& step) const {
  std::map<ValueId, const Tensor*> by_input;
  std::size_t next = 0;
  for (const auto* tensors :
       {&step.sources, &step.targets, &step.constants, &step.ranges, &step.drops}) {
    for (const Tensor& tensor : *tensors) {
      by_input[inputs_.at(next++)] = &tensor;
    }
  }
  std::vector<Tensor> inputs;
  for (const ValueId input : graph_inputs_) {
    inputs.push_back(*by_input.at(input));
  }
  return executable_->run(workspace, inputs);
}

}  // namespace tare
