
#include "tare/graph.h"
#include "tare/quant_table.h"
#include "tare/quantize.h"

#include "graph/arithmetic/element_type.h"
#include "graph/arithmetic/magnitude.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tare {
namespace {

bool is_one_of(std::string_view op, std::span<const std::string_view> ops) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

/// Every number of what these multiply, add and normalize with ends up in their results.
/// Elsewhere infinities may be meant: masks of transformers are made of them.
constexpr std::array<std::string_view, 12> kLayers{"Conv",
                                                   "ConvTranspose",
                                                   "Gemm",
                                                   "MatMul",
                                                   "LSTM",
                                                   "GRU",
                                                   "RNN",
                                                   "BatchNormalization",
                                                   "InstanceNormalization",
                                                   "LayerNormalization",
                                                   "PRelu",
                                                   "DequantizeLinear"};
/// What these do with NaN is what they are for.
constexpr std::array<std::string_view, 3> kChecks{"IsNaN", "IsInf", "Where"};

struct Counts {
  std::size_t nan = 0;
  std::size_t infinite = 0;
};

Counts count(const Tensor& tensor) {
  Counts counts;
  with_element_type(tensor.dtype(), [&](auto tag) {
    using Element = decltype(tag);
    const std::span elements(reinterpret_cast<const Element*>(tensor.data()),
                             static_cast<std::size_t>(tensor.size()));
    if constexpr (std::is_same_v<Element, float>) {  // of which there are many
      if (is_finite_throughout(elements)) {
        return;
      }
    }
    for (const Element element : elements) {
      const auto number = static_cast<double>(element);
      counts.nan += std::isnan(number) ? 1 : 0;
      counts.infinite += std::isinf(number) ? 1 : 0;
    }
  });
  return counts;
}

std::string text(std::size_t found, std::int64_t all, const char* what) {
  return std::to_string(found) + " of " + std::to_string(all) +
         (found == 1 ? " numbers is " : " numbers are ") + what;
}

class ConstantCheck {
 public:
  explicit ConstantCheck(const Graph& graph) : graph_(graph) {}

  std::vector<Warning> run() {
    for (const NodeId id : graph_.topological_order()) {
      const Node& node = graph_.node(id);
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        operand(node, i);
      }
    }
    return std::move(found_);
  }

 private:
  void operand(const Node& node, std::size_t i) {
    const Tensor* constant = graph_.constant(node.inputs[i]);
    if (constant == nullptr || !is_float(constant->dtype()) || is_one_of(node.op, kChecks) ||
        said_.contains(node.inputs[i])) {
      return;
    }
    const Counts counts = count(*constant);
    if (counts.nan > 0) {
      say(node, i, text(counts.nan, constant->size(), "NaN"));
    } else if (counts.infinite > 0 && is_one_of(node.op, kLayers)) {
      say(node, i, text(counts.infinite, constant->size(), "infinite"));
    } else if (node.op == "BatchNormalization" && i == 4) {
      variances(node, constant->to_double());
    }
  }

  /// A batch norm divides by the root of variance and epsilon.
  void variances(const Node& node, const std::vector<double>& numbers) {
    const double epsilon = node.attributes.real("epsilon", 1e-5F);
    const auto bad = std::count_if(numbers.begin(), numbers.end(),
                                   [&](double variance) { return variance + epsilon <= 0; });
    if (bad > 0) {
      say(node, 4,
          text(static_cast<std::size_t>(bad), static_cast<std::int64_t>(numbers.size()),
               "a variance that is not above 0"));
    }
  }

  void say(const Node& node, std::size_t i, std::string what) {
    said_.insert(node.inputs[i]);
    found_.push_back({"invalid_constants",
                      "constant '" + graph_.name(node.inputs[i]) + "' of node '" + node.name +
                          "' (" + node.op + ")",
                      std::move(what)});
  }

  const Graph& graph_;
  std::vector<Warning> found_;
  std::set<ValueId> said_;
};

}  // namespace

std::vector<Warning> invalid_constants(const Graph& graph) {
  return ConstantCheck(graph).run();
}

}  // namespace tare
