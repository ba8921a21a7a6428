// Walks the graph backward from the results and adds, operator by operator, what the rules in
// gradients/ say (Griewank and Walther, "Evaluating Derivatives", 2008, chapter 3). Only what
// lies between `of` and the results is visited, each node once.
#include "reconstruct/gradients.h"

#include "tare/error.h"

#include "reconstruct/gradient_rule.h"

#include <algorithm>
#include <map>
#include <set>

namespace tare {
namespace {

class Differentiation {
 public:
  Differentiation(Graph& graph, std::span<const ValueId> of) : graph_(graph) {
    depends_.insert(of.begin(), of.end());
    order_ = graph.topological_order();
    for (const NodeId id : order_) {
      const Node& node = graph.node(id);
      const bool depends = std::any_of(
          node.inputs.begin(), node.inputs.end(),
          [&](ValueId input) { return input && depends_.contains(input) && is_real(input); });
      if (depends) {
        depends_.insert(node.outputs.begin(), node.outputs.end());
      }
    }
  }

  void add(ValueId value, ValueId gradient) {
    if (!depends_.contains(value)) {
      return;
    }
    const auto [found, is_new] = gradients_.try_emplace(value, gradient);
    if (!is_new) {
      const NodeId sum = graph_.add_node(
          "", "Add", {found->second, gradient},
          {{graph_.unique_name(graph_.name(value) + "_gradient"), graph_.type(gradient)}});
      found->second = graph_.node(sum).outputs[0];
    }
  }

  void run() {
    for (auto id = order_.rbegin(); id != order_.rend(); ++id) {
      visit(*id);
    }
  }

  ValueId gradient(ValueId value) {
    const auto found = gradients_.find(value);
    if (found != gradients_.end()) {
      return found->second;
    }
    return graph_.add_constant(graph_.unique_name(graph_.name(value) + "_gradient"),
                               Tensor(DType::kFloat32, graph_.type(value).shape));
  }

 private:
  bool is_real(ValueId value) const { return graph_.type(value).dtype == DType::kFloat32; }

  void visit(NodeId id) {
    const Node node = graph_.node(id);
    std::vector<ValueId> of_results;
    for (const ValueId output : node.outputs) {
      const auto found = gradients_.find(output);
      of_results.push_back(found == gradients_.end() ? ValueId() : found->second);
    }
    std::vector<bool> wanted;
    for (const ValueId input : node.inputs) {
      wanted.push_back(input && depends_.contains(input) && is_real(input));
    }
    const auto is_set = [](const auto& each) { return bool(each); };
    if (std::none_of(of_results.begin(), of_results.end(), is_set) ||
        std::none_of(wanted.begin(), wanted.end(), is_set)) {
      return;
    }
    const std::string where = "node '" + node.name + "' (" + node.op + ")";
    const GradientRule* rule = find_gradient_rule(node.op);
    if (rule == nullptr) {
      throw Error(ErrorCode::kUnsupported, where, "has no known derivative");
    }
    GradientContext context(graph_, id, std::move(of_results), wanted);
    try {
      rule->apply(context);
    } catch (Error& error) {
      error.at(where);
      throw;
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (wanted[i] && context.given()[i]) {
        add(node.inputs[i], context.given()[i]);
      }
    }
  }

  Graph& graph_;
  std::vector<NodeId> order_;
  std::set<ValueId> depends_;  ///< on one of those that are asked for
  std::map<ValueId, ValueId> gradients_;
};

}  // namespace

std::vector<ValueId> add_gradients(Graph& graph, std::span<const ValueId> results,
                                   std::span<const ValueId> weights,
                                   std::span<const ValueId> of) {
  Differentiation differentiation(graph, of);
  for (std::size_t i = 0; i < results.size(); ++i) {
    differentiation.add(results[i], weights[i]);
  }
  differentiation.run();
  std::vector<ValueId> gradients;
  for (const ValueId value : of) {
    gradients.push_back(differentiation.gradient(value));
  }
  return gradients;
}

}  // namespace tare
