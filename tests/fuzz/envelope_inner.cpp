#include "fuzz/envelope_inner.h"

#include "tare/execute.h"

#include "fuzz/envelope_values.h"
#include "graph/operators/inner_graphs.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace tare::fuzz {
namespace {

Envelope exact(const Tensor& tensor) {
  return {tensor, tensor};
}

std::vector<Envelope> anything(std::span<const TensorType> types) {
  std::vector<Envelope> result;
  for (const TensorType& type : types) {
    if (type.dtype != DType::kFloat32) {
      throw std::logic_error("integers that are not known");
    }
    result.push_back(unknown(type.shape));
  }
  return result;
}

/// Nothing where it is not known.
std::optional<bool> decided(const Envelope& condition) {
  const bool low = condition.low.to_int64()[0] != 0;
  return low == (condition.high.to_int64()[0] != 0) ? std::optional(low) : std::nullopt;
}

/// Runs the graphs of one node.
class Control {
 public:
  Control(const Node& node, std::span<const Envelope> operands,
          std::span<const TensorType> results, const RunInner& run)
      : node_(node), operands_(operands), results_(results), run_(run) {}

  std::vector<Envelope> branches() const {
    const std::optional<bool> holds = decided(operands_[0]);
    std::vector<Envelope> result;
    if (!holds || *holds) {
      result = inner("then_branch", {});
    }
    if (!holds || !*holds) {
      const std::vector<Envelope> other = inner("else_branch", {});
      for (std::size_t i = 0; i < other.size(); ++i) {
        if (i == result.size()) {
          result.push_back(other[i]);
        } else {
          result[i] = either(result[i], other[i]);
        }
      }
    }
    return result;
  }

  std::vector<Envelope> loop() const {
    const std::size_t own = own_operands(node_);
    const std::int64_t most = node_.inputs[0] ? operands_[0].low.to_int64()[0]
                                              : std::numeric_limits<std::int64_t>::max();
    std::optional<bool> goes_on = node_.inputs[1] ? decided(operands_[1]) : true;
    std::vector<Envelope> states(operands_.begin() + 2,
                                 operands_.begin() + static_cast<std::ptrdiff_t>(own));
    std::vector<std::vector<Envelope>> collected(results_.size() - states.size());
    for (std::int64_t i = 0; i < most && goes_on.value_or(false); ++i) {
      std::vector<Envelope> inputs{exact(Tensor::scalar(i)), exact(Tensor::scalar(true))};
      inputs.insert(inputs.end(), states.begin(), states.end());
      std::vector<Envelope> results = inner("body", std::move(inputs));
      goes_on = decided(results[0]);
      for (std::size_t k = 1; k < results.size(); ++k) {
        if (k <= states.size()) {
          states[k - 1] = results[k];
        } else {
          collected[k - 1 - states.size()].push_back(results[k]);
        }
      }
    }
    if (!goes_on) {
      return anything(results_);
    }
    for (std::size_t k = 0; k < collected.size(); ++k) {
      states.push_back(joined(collected[k], 0, false, results_[states.size()]));
    }
    return states;
  }

  std::vector<Envelope> scan() const {
    const std::size_t own = own_operands(node_);
    const auto scanned = static_cast<std::size_t>(node_.attributes.integer("num_scan_inputs"));
    std::vector<Envelope> states(
        operands_.begin(), operands_.begin() + static_cast<std::ptrdiff_t>(own - scanned));
    const Shape& whole = operands_[states.size()].low.shape();
    const std::int64_t count = whole[axis("scan_input_axes", 0, whole.size())];
    std::vector<std::vector<Envelope>> collected(results_.size() - states.size());
    for (std::int64_t i = 0; i < count; ++i) {
      std::vector<Envelope> inputs = states;
      for (std::size_t k = 0; k < scanned; ++k) {
        const Envelope& e = operands_[states.size() + k];
        const std::size_t along = axis("scan_input_axes", k, e.low.shape().size());
        const std::int64_t at = flag("scan_input_directions", k) ? count - 1 - i : i;
        inputs.push_back({slice(e.low, along, at), slice(e.high, along, at)});
      }
      const std::vector<Envelope> results = inner("body", std::move(inputs));
      for (std::size_t k = 0; k < results.size(); ++k) {
        if (k < states.size()) {
          states[k] = results[k];
        } else {
          collected[k - states.size()].push_back(results[k]);
        }
      }
    }
    for (std::size_t k = 0; k < collected.size(); ++k) {
      const TensorType& type = results_[states.size()];
      states.push_back(joined(collected[k], axis("scan_output_axes", k, type.shape.size()),
                              flag("scan_output_directions", k), type));
    }
    return states;
  }

 private:
  std::vector<Envelope> inner(const std::string& attribute, std::vector<Envelope> own) const {
    const Graph graph = inner_graph(node_, attribute);
    const std::vector<std::string> names = captured_names(node_);
    const std::size_t first = own_operands(node_);
    for (std::size_t i = own.size(); i < graph.inputs().size(); ++i) {
      const auto name = std::find(names.begin(), names.end(), graph.name(graph.inputs()[i]));
      own.push_back(operands_[first + static_cast<std::size_t>(name - names.begin())]);
    }
    return run_(graph, own);
  }

  std::size_t axis(const char* name, std::size_t place, std::size_t rank) const {
    const auto axes = node_.attributes.integers(name, {});
    const std::int64_t stated = place < axes.size() ? axes[place] : 0;
    return static_cast<std::size_t>(stated < 0 ? stated + static_cast<std::int64_t>(rank)
                                               : stated);
  }
  bool flag(const char* name, std::size_t place) const {
    const auto flags = node_.attributes.integers(name, {});
    return place < flags.size() && flags[place] != 0;
  }

  /// Copies between a slice and its place in the whole.
  template <class Copy>
  static void for_each_block(const Shape& whole, std::size_t along, std::int64_t at,
                             const Copy& copy) {
    const auto begin = whole.begin();
    const std::int64_t inner =
        element_count({begin + static_cast<std::ptrdiff_t>(along) + 1, whole.end()});
    const std::int64_t outer =
        element_count({begin, begin + static_cast<std::ptrdiff_t>(along)});
    for (std::int64_t i = 0; i < outer; ++i) {
      copy((i * whole[along] + at) * inner, i * inner, inner);
    }
  }

  static Tensor slice(const Tensor& whole, std::size_t along, std::int64_t at) {
    Shape shape = whole.shape();
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(along));
    Tensor result(whole.dtype(), shape);
    const auto from = whole.view<float>();
    const auto to = result.mutable_view<float>();
    for_each_block(whole.shape(), along, at,
                   [&](std::int64_t in_whole, std::int64_t in_slice, std::int64_t elements) {
                     std::copy_n(from.begin() + in_whole, elements, to.begin() + in_slice);
                   });
    return result;
  }

  static void put(Tensor& whole, const Tensor& part, std::size_t along, std::int64_t at) {
    const auto from = part.view<float>();
    const auto to = whole.mutable_view<float>();
    for_each_block(whole.shape(), along, at,
                   [&](std::int64_t in_whole, std::int64_t in_slice, std::int64_t elements) {
                     std::copy_n(from.begin() + in_slice, elements, to.begin() + in_whole);
                   });
  }

  static Envelope joined(const std::vector<Envelope>& parts, std::size_t along, bool backward,
                         const TensorType& type) {
    Envelope result{Tensor(type.dtype, type.shape), Tensor(type.dtype, type.shape)};
    const auto count = static_cast<std::int64_t>(parts.size());
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = backward ? count - 1 - i : i;
      put(result.low, parts[static_cast<std::size_t>(i)].low, along, at);
      put(result.high, parts[static_cast<std::size_t>(i)].high, along, at);
    }
    return result;
  }

  const Node& node_;
  std::span<const Envelope> operands_;
  std::span<const TensorType> results_;
  const RunInner& run_;
};

}  // namespace

bool is_exact(const Envelope& e) {
  return e.low.byte_size() == e.high.byte_size() &&
         std::memcmp(e.low.data(), e.high.data(), e.low.byte_size()) == 0;
}

std::vector<Envelope> exactly(const Node& node, std::span<const Envelope> operands,
                              std::span<const TensorType> results) {
  std::vector<const Tensor*> values;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (node.inputs[i] && !is_exact(operands[i])) {
      // A condition that follows from one that is not known may be either.
      if (node.op == "Identity" && operands[i].low.dtype() == DType::kBool) {
        return {operands[i]};
      }
      throw std::logic_error("integers of " + node.op + " that are not known");
    }
    values.push_back(node.inputs[i] ? &operands[i].low : nullptr);
  }
  std::vector<Envelope> exact_ones;
  for (const Tensor& tensor : evaluate(node, values, results)) {
    exact_ones.push_back(exact(tensor));
  }
  return exact_ones;
}

std::vector<Envelope> envelopes_of_control(const Node& node, std::span<const Envelope> operands,
                                           std::span<const TensorType> results,
                                           const RunInner& run) {
  const Control control(node, operands, results, run);
  return node.op == "If"     ? control.branches()
         : node.op == "Loop" ? control.loop()
                             : control.scan();
}

}  // namespace tare::fuzz
