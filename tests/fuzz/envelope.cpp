#include "fuzz/envelope.h"

#include "tare/execute.h"

#include "fuzz/envelope_inner.h"
#include "fuzz/envelope_values.h"
#include "graph/arithmetic/node_arithmetic.h"
#include "graph/operators/inner_graphs.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iomanip>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>

namespace tare::fuzz {
namespace {

constexpr double kEpsilon = std::numeric_limits<float>::epsilon();

bool is_one_of(std::string_view op, std::initializer_list<std::string_view> ops) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

/// Sums of at most as many terms as their operand has elements; they grow with each operand.
bool is_linear(std::string_view op) {
  return is_one_of(op, {"Add", "AveragePool", "GlobalAveragePool", "ReduceMean", "ReduceSum"});
}

/// They grow with each operand.
bool is_monotone(std::string_view op) {
  return is_one_of(
      op, {"Relu",        "Clip",        "Sigmoid",   "Tanh",      "LeakyRelu", "MaxPool",
           "Concat",      "Reshape",     "Flatten",   "Transpose", "Pad",       "Slice",
           "Squeeze",     "Unsqueeze",   "Identity",  "Max",       "Min",       "Resize",
           "Gather",      "Split",       "ReduceMax", "ReduceMin", "Elu",       "Softplus",
           "HardSigmoid", "DepthToSpace"});
}

bool is_product(std::string_view op) {
  return is_one_of(op, {"Conv", "ConvTranspose", "Gemm", "MatMul", "Mul"});
}

/// Calls f(element, channel) for each element of a value with these parameters.
template <class F>
void for_each_element(const Shape& shape, const QuantParams& params, F&& f) {
  std::int64_t after = 1;
  std::int64_t channels = 1;
  if (params.axis) {
    for (std::size_t axis = static_cast<std::size_t>(*params.axis) + 1; axis < shape.size();
         ++axis) {
      after *= shape[axis];
    }
    channels = shape[static_cast<std::size_t>(*params.axis)];
  }
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    f(static_cast<std::size_t>(i), static_cast<std::size_t>(i / after % channels));
  }
}

class Interpreter {
 public:
  Interpreter(const Graph& graph, const QuantTable& table, const RequantizeMode& mode,
              Difference difference)
      : graph_(graph), table_(table), difference_(difference) {
    // Rounding twice goes half a step further.
    slack_ = mode.rounding == RequantizeRounding::kTfliteDouble ? 0.5 : 0;
  }
  Interpreter(const Graph& graph, const QuantTable& table, Difference difference, double slack)
      : graph_(graph), table_(table), difference_(difference), slack_(slack) {}

  std::vector<Envelope> run(std::span<const Envelope> inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      known_[graph_.inputs()[i]] = inputs[i];
    }
    for (const NodeId id : graph_.topological_order()) {
      const Node& node = graph_.node(id);
      if (!graph_attributes(node.op).empty()) {
        remember(node, of_control(node));
      } else if (graph_.type(node.outputs[0]).dtype != DType::kFloat32) {
        remember(node, of_integers(node));
      } else {
        for (const ValueId output : node.outputs) {
          known_[output] = result(node, output);
        }
      }
    }
    std::vector<Envelope> results;
    for (const ValueId output : graph_.outputs()) {
      results.push_back(of(output));
    }
    return results;
  }

 private:
  using Ends = std::vector<const Tensor*>;

  void remember(const Node& node, std::vector<Envelope> results) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      known_[node.outputs[i]] = std::move(results[i]);
    }
  }

  std::vector<Envelope> operands_of(const Node& node) {
    std::vector<Envelope> operands;
    for (const ValueId input : node.inputs) {
      operands.push_back(input ? of(input) : Envelope{});
    }
    return operands;
  }

  std::vector<TensorType> types_of(const Node& node) const {
    std::vector<TensorType> types;
    for (const ValueId output : node.outputs) {
      types.push_back(plain(output));
    }
    return types;
  }

  std::vector<Envelope> of_control(const Node& node) {
    return envelopes_of_control(
        node, operands_of(node), types_of(node),
        [&](const Graph& inner, std::span<const Envelope> inputs) {
          return Interpreter(inner, table_, difference_, slack_).run(inputs);
        });
  }

  /// Extents, and conditions, which may not be known.
  std::vector<Envelope> of_integers(const Node& node) {
    const std::vector<Envelope> operands = operands_of(node);
    if (node.op == "Shape") {
      const Tensor shape = Tensor::of<std::int64_t>(graph_.type(node.outputs[0]).shape,
                                                    graph_.type(node.inputs[0]).shape);
      return {{shape, shape}};
    }
    const bool is_greater = node.op == "Greater";
    if (is_greater || node.op == "Less") {
      // Least where the smaller side is large, most where it is small.
      const Envelope& small = operands[is_greater ? 1 : 0];
      const Envelope& large = operands[is_greater ? 0 : 1];
      const auto compared = [&](const Tensor& less, const Tensor& more) {
        const TensorType type = plain(node.outputs[0]);
        const Ends ends = is_greater ? Ends{&more, &less} : Ends{&less, &more};
        return evaluate(node, ends, std::span(&type, 1))[0];
      };
      return {{compared(small.high, large.low), compared(small.low, large.high)}};
    }
    return exactly(node, operands, types_of(node));
  }

  const Envelope& of(ValueId value) {
    const auto found = known_.find(value);
    if (found != known_.end()) {
      return found->second;
    }
    const Tensor& constant = *graph_.constant(value);
    return known_[value] = {constant, constant};
  }

  TensorType plain(ValueId value) const {
    return {.dtype = graph_.type(value).dtype,
            .shape = graph_.type(value).shape,
            .quant = {},
            .point = {}};
  }

  /// The node with operands made of those that hold reals.
  template <class Choose>
  Tensor with(const Node& node, Choose&& choose) {
    std::vector<Tensor> operands(node.inputs.size());
    Ends ends;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i]) {
        ends.push_back(nullptr);
        continue;
      }
      const Envelope& e = of(node.inputs[i]);
      operands[i] = e.low.dtype() == DType::kFloat32 ? choose(i, e) : e.low;
      ends.push_back(&operands[i]);
    }
    const TensorType type = plain(node.outputs[0]);
    return evaluate(node, ends, std::span(&type, 1))[0];
  }

  Envelope monotone(const Node& node) {
    return {with(node, [](std::size_t, const Envelope& e) { return e.low; }),
            with(node, [](std::size_t, const Envelope& e) { return e.high; })};
  }

  Envelope result(const Node& node, ValueId output) {
    const Shape& shape = graph_.type(output).shape;
    if (node.op == "SimulatedQuantize") {
      return quantized(of(node.inputs[0]), graph_.constant(node.inputs[0]) != nullptr,
                       graph_.type(output));
    }
    if (node.op == "SimulatedDequantize") {
      return dequantized(of(node.inputs[0]), *graph_.type(node.inputs[0]).quant);
    }
    if (is_one_of(node.op, {"LSTM", "GRU", "RNN"})) {
      return bounded(shape, 1 + 1e-5);  // products of what Sigmoid and Tanh give
    }
    if (node.op == "Cast" || node.op == "Where") {
      return of_choice(node, output);
    }
    if (node.outputs.size() > 1 || states_accumulator(node.attributes)) {
      return unknown(shape);
    }
    if (is_product(node.op)) {
      return product(node, output);
    }
    if (node.op == "Sub") {
      const Envelope e{
          with(node, [](std::size_t i, const Envelope& x) { return i == 0 ? x.low : x.high; }),
          with(node, [](std::size_t i, const Envelope& x) { return i == 0 ? x.high : x.low; })};
      return widened(e, with(sum(node), [](std::size_t, const Envelope& x) {
                       return map(magnitudes(x), [](double m) { return 4 * kEpsilon * m; });
                     }));
    }
    if (is_linear(node.op)) {
      const double terms =
          static_cast<double>(element_count(graph_.type(node.inputs[0]).shape));
      return widened(monotone(node), with(node, [&](std::size_t, const Envelope& x) {
                       return map(magnitudes(x),
                                  [&](double m) { return (terms + 3) * kEpsilon * m; });
                     }));
    }
    if (is_monotone(node.op)) {
      const Envelope e = monotone(node);
      // Functions are off by a few roundings of results of up to 1; what moves by nothing.
      const double absolute =
          is_one_of(node.op, {"Sigmoid", "Tanh", "Elu", "Softplus"}) ? 1e-6 : 0;
      return widened(e,
                     map(magnitudes(e), [&](double m) { return 4 * kEpsilon * m + absolute; }));
    }
    if (node.op == "Softmax") {
      return {Tensor(DType::kFloat32, shape), bounded(shape, 1 + 1e-5).high};
    }
    return unknown(shape);
  }

  /// Of integers, which are known: a number, or one of two.
  Envelope of_choice(const Node& node, ValueId output) {
    const bool is_known = is_exact(of(node.inputs[0]));
    return is_known ? monotone(node) : unknown(graph_.type(output).shape);
  }

  /// a + b in place of a - b.
  static Node sum(Node node) {
    node.op = "Add";
    return node;
  }

  /// By middles and radii: |ab - mn| <= |m| s + |n| r + r s for a in m +- r and b in n +- s.
  Envelope product(const Node& node, ValueId output) {
    const TensorType& type = graph_.type(output);
    const auto middle = [](const Envelope& e) {
      return map(e.low, e.high, [](double low, double high) { return (low + high) / 2; });
    };
    const auto radius = [](const Envelope& e) {
      return map(e.low, e.high, [](double low, double high) { return (high - low) / 2; });
    };
    // magnitude * magnitude - |middle| * |middle| is that bound; a bias adds its own radius.
    const Tensor middles =
        with(node, [&](std::size_t, const Envelope& e) { return middle(e); });
    const auto absolute = [&](const Envelope& e) {
      return map(middle(e), [](double x) { return std::abs(x); });
    };
    const Tensor inner =
        with(node, [&](std::size_t, const Envelope& e) { return absolute(e); });
    const Tensor outer = with(node, [&](std::size_t, const Envelope& e) {
      return map(absolute(e), radius(e), [](double m, double r) { return m + r; });
    });
    const double count =
        static_cast<double>(element_count(graph_.type(node.inputs[1]).shape)) + 3;
    Tensor error = map(outer, inner, [&](double o, double i) {
      return std::max(0.0, o - i) + 4 * count * kEpsilon * o;
    });
    // On the way to its end a real sum may leave float32.
    constexpr double kLarge = std::numeric_limits<float>::max() / 4;
    const QuantParams params = type.quant.value_or(QuantParams{});
    const auto largest = outer.view<float>();
    const auto room = error.mutable_view<float>();
    for_each_element(type.shape, params, [&](std::size_t i, std::size_t channel) {
      const double scale = static_cast<double>(params.scale[channel]);
      if (!(static_cast<double>(largest[i]) * scale < kLarge)) {
        room[i] = kInfinity;
      }
    });
    return widened({middles, middles}, error);
  }

  Envelope dequantized(const Envelope& e, const QuantParams& params) {
    const auto real = [&](const Tensor& storage, double sign) {
      Tensor result(DType::kFloat32, storage.shape());
      const auto in = storage.view<float>();
      const auto out = result.mutable_view<float>();
      for_each_element(storage.shape(), params, [&](std::size_t i, std::size_t channel) {
        const double scale = static_cast<double>(params.scale[channel]);
        const double zero = params.zero_point[channel];
        const double q = static_cast<double>(in[i]);
        out[i] =
            static_cast<float>(scale * (q - zero + sign * 2 * kEpsilon * std::abs(q - zero)));
      });
      return result;
    };
    return {real(e.low, -1), real(e.high, 1)};
  }

  Envelope quantized(const Envelope& e, bool constant, const TensorType& type) {
    const QuantParams& params = *type.quant;
    const auto found = table_.find(type.point);
    const PointResult* decided = found == table_.end() ? nullptr : &found->second;
    Envelope result{Tensor(DType::kFloat32, type.shape), Tensor(DType::kFloat32, type.shape)};
    const auto x_low = e.low.view<float>();
    const auto x_high = e.high.view<float>();
    const auto low = result.low.mutable_view<float>();
    const auto high = result.high.mutable_view<float>();
    const StorageRange range = params.range();
    // Constants are the same integers in every version.
    const std::vector<double> known =
        constant ? quantize(e.low, params).to_double() : std::vector<double>{};
    for_each_element(type.shape, params, [&](std::size_t i, std::size_t channel) {
      const double scale = static_cast<double>(params.scale[channel]);
      const double zero = params.zero_point[channel];
      const double steps_low = static_cast<double>(x_low[i]) / scale;
      const double steps_high = static_cast<double>(x_high[i]) / scale;
      const double stored_in_float = 2 * kEpsilon * std::abs(zero);
      // The one rounding of two has the range that both have in common, so its steps are no
      // larger than theirs: it goes no further than half of one of them from its operand.
      const double half = difference_ == Difference::kMerged ? 0.5 + stored_in_float : 0;
      const auto stored = [&](double steps, double further) {
        return std::clamp((further == 0 ? std::nearbyint(steps) : steps) + zero,
                          static_cast<double>(range.low), static_cast<double>(range.high)) +
               further;
      };
      // One rounding of the quotient, and one of the ratio of scales.
      const auto apart = [&](double steps) { return 4 * kEpsilon * std::abs(steps) + slack_; };
      double least = constant ? known[i] : stored(steps_low - apart(steps_low), -half);
      double most = constant ? known[i] : stored(steps_high + apart(steps_high), half);
      if (difference_ == Difference::kRounding) {
        // Weights that are not the nearest are at most one step from it; a corrected bias is
        // off by its correction.
        double moved = 0;
        if (constant && decided != nullptr) {
          moved = decided->rounding.empty() ? 0 : 1.5;
          const auto& corrections = decided->bias_correction;
          if (!corrections.empty()) {
            moved = std::abs(static_cast<double>(corrections[i % corrections.size()])) / scale;
          }
        }
        least = std::min(least, steps_low + zero - moved - apart(steps_low) - stored_in_float);
        most = std::max(most, steps_high + zero + moved + apart(steps_high) + stored_in_float);
      }
      low[i] = std::isnan(least) ? -kInfinity : static_cast<float>(least);
      high[i] = std::isnan(most) ? kInfinity : static_cast<float>(most);
    });
    return result;
  }

  const Graph& graph_;
  const QuantTable& table_;
  Difference difference_;
  double slack_ = 0;
  std::map<ValueId, Envelope> known_;
};

}  // namespace

std::vector<Envelope> envelopes(const Graph& bound, const QuantTable& table,
                                const RequantizeMode& mode, Difference difference,
                                std::span<const Tensor> inputs) {
  std::vector<Envelope> exact;
  for (const Tensor& input : inputs) {
    exact.push_back({input, input});
  }
  return Interpreter(bound, table, mode, difference).run(exact);
}

std::string first_outside(const Envelope& e, const Tensor& tensor) {
  const auto low = e.low.view<float>();
  const auto high = e.high.view<float>();
  const auto values = tensor.view<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] < low[i] || values[i] > high[i]) {
      std::ostringstream text;
      text << std::setprecision(9) << "element " << i << " is " << values[i] << ", not within ["
           << low[i] << "," << high[i] << "]";
      return text.str();
    }
  }
  return {};
}

}  // namespace tare::fuzz
