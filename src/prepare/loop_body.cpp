// What exporters need to count is in the body of a Loop: a counter of their own beside the
// operator's, comparisons with a number of steps, in integers or floats. Rather than to know
// all spellings, the part of the body that depends on nothing else is run.
#include "prepare/loop_body.h"

#include "tare/error.h"
#include "tare/execute.h"

#include "graph/operators/inner_graphs.h"
#include "graph/operators/random.h"
#include "prepare/rule_registry.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace tare {
namespace {

/// Longer loops are not counted. An iteration takes some microseconds.
constexpr std::int64_t kMostIterations = 1 << 14;

/// The value that Identity nodes hand on.
ValueId behind_identities(const Graph& graph, ValueId value) {
  auto producer = graph.producer(value);
  while (producer && graph.node(*producer).op == "Identity" &&
         !graph.node(*producer).inputs.empty()) {
    value = graph.node(*producer).inputs[0];
    producer = graph.producer(value);
  }
  return value;
}

void bind(Graph& body, ValueId input, const Tensor& tensor) {
  body.replace_uses(
      input, body.add_constant(body.unique_name(body.name(input)), tensor, body.type(input)));
}

/// Rules that give each operator one spelling, and nothing that would be another network for
/// other extents.
Graph canonical(Graph body) {
  constexpr int kOneSpelling = 90;
  std::vector<RewriteRule> rules;
  std::copy_if(prepare_rules().begin(), prepare_rules().end(), std::back_inserter(rules),
               [](const RewriteRule& rule) {
                 return rule.benefit >= kOneSpelling && rule.name != "fold_shape";
               });
  return rewrite(std::move(body), rules);
}

class BodyReader {
 public:
  BodyReader(const Graph& graph, const Node& node)
      : graph_(graph), node_(node), is_loop_(node.op == "Loop") {}

  std::variant<LoopBody, Refusal> read() {
    Graph body = inner_graph(node_, "body");
    verify(body);
    const std::vector<ValueId> inputs(body.inputs().begin(), body.inputs().end());
    const std::size_t own = own_operands(node_);
    const std::size_t scanned =
        is_loop_ ? 0 : static_cast<std::size_t>(node_.attributes.integer("num_scan_inputs"));
    const std::size_t first = is_loop_ ? 2 : 0;  // number of iterations, condition
    if (inputs.size() != node_.inputs.size() || own < first + scanned || runs_backwards()) {
      return Refusal{"it runs backwards, or its body has other inputs"};
    }
    const std::size_t states = own - first - scanned;
    const std::size_t outputs = is_loop_ ? 1 : 0;
    if (body.outputs().size() < outputs + states ||
        body.outputs().size() != outputs + node_.outputs.size()) {
      return Refusal{"its body has other results"};
    }
    const std::vector<ValueId> around = operands_of(body, own);
    for (std::size_t i = first; i < inputs.size(); ++i) {
      const bool is_scanned = i < own && i >= own - scanned;
      if (!around[i] || (!is_scanned && body.type(inputs[i]) != graph_.type(around[i]))) {
        return Refusal{"its body takes other types than it is given"};
      }
    }
    for (std::size_t i = own; i < inputs.size(); ++i) {
      if (const Tensor* tensor = graph_.constant(around[i])) {
        bind(body, inputs[i], *tensor);
      } else {
        unchanging_[inputs[i]] = around[i];
      }
    }
    for (std::size_t i = 0; i < states; ++i) {
      const ValueId before = inputs[first + i];
      const ValueId initial = node_.inputs[first + i];
      if (behind_identities(body, body.outputs()[outputs + i]) != before) {
        continue;
      }
      if (const Tensor* tensor = graph_.constant(initial)) {
        bind(body, before, *tensor);
      } else {
        unchanging_[before] = initial;
      }
    }
    body = canonical(std::move(body));
    LoopBody result;
    for (std::size_t i = 0; i < states; ++i) {
      result.states.push_back({inputs[first + i],
                               behind_identities(body, body.outputs()[outputs + i]),
                               node_.inputs[first + i], node_.outputs[i]});
    }
    for (std::size_t i = states; i < node_.outputs.size(); ++i) {
      result.collected.push_back({behind_identities(body, body.outputs()[outputs + i]),
                                  node_.outputs[i],
                                  axis_of(node_.outputs[i], "scan_output_axes", i - states)});
    }
    for (std::size_t i = 0; i < scanned; ++i) {
      const ValueId sequence = node_.inputs[states + i];
      result.elements.push_back(
          {inputs[states + i], sequence, axis_of(sequence, "scan_input_axes", i), {}});
    }
    result.body = std::move(body);
    if (is_loop_) {
      find_elements(result);
    }
    return result;
  }

 private:
  /// What each input of the body is around it: the node's own operands in their order, those
  /// that are captured by their names.
  std::vector<ValueId> operands_of(const Graph& body, std::size_t own) const {
    const std::vector<std::string> names = captured_names(node_);
    std::vector<ValueId> result(node_.inputs.begin(),
                                node_.inputs.begin() + static_cast<std::ptrdiff_t>(own));
    for (const ValueId input : body.inputs().subspan(own)) {
      const auto found = std::find(names.begin(), names.end(), body.name(input));
      result.push_back(
          found == names.end()
              ? ValueId()
              : node_.inputs[own + static_cast<std::size_t>(found - names.begin())]);
    }
    return result;
  }

  bool runs_backwards() const {
    const auto any = [&](const char* directions) {
      const auto all = node_.attributes.integers(directions, {});
      return std::any_of(all.begin(), all.end(), [](std::int64_t d) { return d != 0; });
    };
    return any("scan_input_directions") || any("scan_output_directions");
  }

  std::size_t axis_of(ValueId whole, const char* axes, std::size_t place) const {
    const auto all = node_.attributes.integers(axes, {});
    return normalized_axis(place < all.size() ? all[place] : 0,
                           graph_.type(whole).shape.size());
  }

  /// What a Loop reads of values around it, one element in each iteration.
  void find_elements(LoopBody& loop) const {
    for (const NodeId id : loop.body.nodes()) {
      const Node& node = loop.body.node(id);
      if (node.op != "Gather" || node.inputs.size() != 2 ||
          !loop.body.type(node.inputs[1]).shape.empty()) {
        continue;
      }
      if (const auto around = unchanging_.find(node.inputs[0]); around != unchanging_.end()) {
        const std::size_t rank = loop.body.type(node.inputs[0]).shape.size();
        loop.elements.push_back({node.outputs[0], around->second,
                                 normalized_axis(node.attributes.integer("axis", 0), rank),
                                 node.inputs[1]});
      }
    }
  }

  const Graph& graph_;
  const Node& node_;
  bool is_loop_;
  std::map<ValueId, ValueId> unchanging_;  ///< of the body -> around it
};

/// Values of a Loop's body that depend on the number of the iteration, on integers that count,
/// and on nothing else.
class Counters {
 public:
  Counters(const Graph& graph, const Node& node, const LoopBody& loop)
      : graph_(graph), node_(node), loop_(loop) {
    for (const LoopBody::State& state : loop.states) {
      const DType dtype = graph.type(state.initial).dtype;
      if (graph.constant(state.initial) != nullptr && !is_float(dtype)) {
        counters_.push_back(&state);
      }
    }
    // A counter of what does not count is none.
    for (std::size_t before = counters_.size() + 1; before != counters_.size();) {
      before = counters_.size();
      find_known();
      std::erase_if(counters_,
                    [&](const LoopBody::State* state) { return !is_known(state->after); });
    }
    find_known();
  }

  std::variant<std::int64_t, Refusal> count(ValueId index) const {
    const ValueId condition = behind_identities(loop_.body, loop_.body.outputs()[0]);
    const TensorType& truth_type = loop_.body.type(condition);
    if (!is_known(condition) || !is_known(index) || truth_type.dtype != DType::kBool ||
        element_count(truth_type.shape) != 1) {
      return Refusal{"how often it runs depends on more than constants"};
    }
    std::vector<ValueId> wanted{condition, index};
    for (const LoopBody::State* state : counters_) {
      wanted.push_back(state->after);
    }
    Graph part = loop_.body;
    std::vector<ValueId> computed;
    std::copy_if(wanted.begin(), wanted.end(), std::back_inserter(computed), [&](ValueId id) {
      return part.producer(id) && std::ranges::find(computed, id) == computed.end();
    });
    part.set_outputs(computed);
    part.erase_unused();
    const std::vector<ValueId> all(part.inputs().begin(), part.inputs().end());
    for (const ValueId input : all) {
      if (part.users(input).empty()) {
        part.erase(input);
      }
    }
    return run(part, computed, wanted);
  }

 private:
  std::variant<std::int64_t, Refusal> run(const Graph& part,
                                          const std::vector<ValueId>& computed,
                                          const std::vector<ValueId>& wanted) const {
    std::int64_t most = std::numeric_limits<std::int64_t>::max();
    bool goes_on = true;
    for (std::size_t i = 0; i < 2; ++i) {
      const Tensor* tensor = graph_.constant(node_.inputs[i]);
      const DType expected = i == 0 ? DType::kInt64 : DType::kBool;
      if (!node_.inputs[i]) {
        continue;
      }
      if (tensor == nullptr || tensor->size() != 1 || tensor->dtype() != expected) {
        return Refusal{"how often it runs is not constant"};
      }
      if (i == 0) {
        most = tensor->view<std::int64_t>()[0];
      } else {
        goes_on = truth(*tensor);
      }
    }
    const Executable executable(part);
    Executable::Workspace workspace(executable);
    std::map<ValueId, Tensor> values;  // of the body, in this iteration
    for (const LoopBody::State* state : counters_) {
      values[state->before] = *graph_.constant(state->initial);
    }
    values[loop_.body.inputs()[1]] = Tensor::scalar(true);
    std::int64_t iteration = 0;
    for (; iteration < most && goes_on; ++iteration) {
      if (iteration == kMostIterations) {
        return Refusal{"it runs more than " + std::to_string(kMostIterations) + " times"};
      }
      values[loop_.body.inputs()[0]] = Tensor::scalar(iteration);
      std::vector<Tensor> inputs;
      for (const ValueId input : part.inputs()) {
        inputs.push_back(values.at(input));
      }
      std::vector<Tensor> results = executable.run(workspace, inputs);
      for (std::size_t i = 0; i < computed.size(); ++i) {
        values[computed[i]] = std::move(results[i]);
      }
      const auto value_of = [&](ValueId id) {
        const Tensor* constant = loop_.body.constant(id);
        return constant != nullptr ? *constant : values.at(id);
      };
      if (value_of(wanted[1]).to_double().at(0) != static_cast<double>(iteration)) {
        return Refusal{"it does not read one element after the other"};
      }
      goes_on = truth(value_of(wanted[0]));
      std::vector<Tensor> next;
      for (const LoopBody::State* state : counters_) {
        next.push_back(value_of(state->after));
      }
      for (std::size_t i = 0; i < counters_.size(); ++i) {
        values[counters_[i]->before] = std::move(next[i]);
      }
    }
    return iteration;
  }

  static bool truth(const Tensor& tensor) { return tensor.data()[0] != std::byte{0}; }

  bool is_known(ValueId value) const {
    return !value || loop_.body.constant(value) != nullptr || known_.contains(value);
  }

  void find_known() {
    known_ = {loop_.body.inputs()[0], loop_.body.inputs()[1]};
    for (const LoopBody::State* state : counters_) {
      known_.insert(state->before);
    }
    for (const NodeId id : loop_.body.topological_order()) {
      const Node& node = loop_.body.node(id);
      const bool is_computable = !draws_at_random(node.op) &&
                                 std::all_of(node.inputs.begin(), node.inputs.end(),
                                             [&](ValueId input) { return is_known(input); });
      if (is_computable) {
        known_.insert(node.outputs.begin(), node.outputs.end());
      }
    }
  }

  const Graph& graph_;
  const Node& node_;
  const LoopBody& loop_;
  std::vector<const LoopBody::State*> counters_;
  std::set<ValueId> known_;
};

}  // namespace

std::variant<LoopBody, Refusal> loop_body(const Graph& graph, const Node& node) {
  return BodyReader(graph, node).read();
}

std::variant<std::int64_t, Refusal> count_iterations(const Graph& graph, const Node& node,
                                                     const LoopBody& loop,
                                                     const LoopBody::Element& element) {
  if (node.op == "Scan") {
    return graph.type(element.sequence).shape.at(element.axis);
  }
  return Counters(graph, node, loop).count(element.index);
}

}  // namespace tare
