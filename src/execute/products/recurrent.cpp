// LSTM, GRU and RNN as ONNX defines them in opset 14. What comes from the inputs does not
// depend on the state, so it is one matrix product for all steps of a sequence; only the
// product with the state is made step by step, for all sequences of a batch at once. Sequences
// of a batch may have different lengths: each ends by itself, and reversed ones start at their
// own ends.
//
// Cost for S steps, B sequences, I inputs and H hidden units with g gates: S B g H (I + H)
// multiplications for each direction. Memory: S B g H floats for what comes from the inputs.
#include "execute/products/recurrent.h"

#include "tare/error.h"

#include "execute/elements/dynamic_range.h"
#include "execute/operands.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tare {
namespace {

using Eigen::Index;
using ConstRow = Eigen::Map<const Eigen::Array<float, 1, Eigen::Dynamic>>;

float sigmoid(float x, float, float) {
  return 1 / (1 + std::exp(-x));
}
float tanh(float x, float, float) {
  return std::tanh(x);
}
float relu(float x, float, float) {
  return std::max(x, 0.0F);
}
float leaky_relu(float x, float alpha, float) {
  return x < 0 ? alpha * x : x;
}
float thresholded_relu(float x, float alpha, float) {
  return x < alpha ? 0 : x;
}
float scaled_tanh(float x, float alpha, float beta) {
  return alpha * std::tanh(beta * x);
}
float hard_sigmoid(float x, float alpha, float beta) {
  return std::clamp(alpha * x + beta, 0.0F, 1.0F);
}
float elu(float x, float alpha, float) {
  return x < 0 ? alpha * std::expm1(x) : x;
}
float softsign(float x, float, float) {
  return x / (1 + std::abs(x));
}
float softplus(float x, float, float) {
  return std::max(x, 0.0F) + std::log1p(std::exp(-std::abs(x)));
}
float affine(float x, float alpha, float beta) {
  return alpha * x + beta;
}

struct KnownActivation {
  Activation usual;
  int settings = 0;  ///< 1: alpha; 2: beta as well
};

const KnownActivation& known_activation(const std::string& name) {
  static const std::map<std::string, KnownActivation> all{
      {"Sigmoid", {{sigmoid}}},
      {"Tanh", {{tanh}}},
      {"Relu", {{relu}}},
      {"Softsign", {{softsign}}},
      {"Softplus", {{softplus}}},
      {"LeakyRelu", {{leaky_relu, 0.01F}, 1}},
      {"ThresholdedRelu", {{thresholded_relu, 1}, 1}},
      {"Elu", {{elu, 1}, 1}},
      {"ScaledTanh", {{scaled_tanh, 1, 1}, 2}},
      {"HardSigmoid", {{hard_sigmoid, 0.2F, 0.5F}, 2}},
      {"Affine", {{affine, 1, 0}, 2}}};
  const auto found = all.find(name);
  if (found == all.end()) {
    throw Error(ErrorCode::kUnsupported, "", "activation '" + name + "' is not supported");
  }
  return found->second;
}

/// Those of all directions. Settings are taken from the lists in order, by those that have
/// some.
std::vector<Activation> activations_of(const Cell& cell, const Attributes& attributes,
                                       std::size_t directions) {
  std::vector<std::string> names;
  if (attributes.has("activations")) {
    const auto* given =
        std::get_if<std::vector<std::string>>(&attributes.items().find("activations")->second);
    if (given == nullptr || given->size() != directions * cell.activations.size()) {
      throw Error(ErrorCode::kInvalidModel, "", "attribute 'activations' has another form")
          .expected(std::to_string(directions * cell.activations.size()) + " names");
    }
    names = *given;
  } else {
    for (std::size_t d = 0; d < directions; ++d) {
      names.insert(names.end(), cell.activations.begin(), cell.activations.end());
    }
  }
  const std::vector<float> alphas = attributes.reals("activation_alpha", {});
  const std::vector<float> betas = attributes.reals("activation_beta", {});
  auto alpha = alphas.begin();
  auto beta = betas.begin();
  std::vector<Activation> result;
  for (const std::string& name : names) {
    const KnownActivation& known = known_activation(name);
    Activation own = known.usual;
    if (known.settings >= 1 && alpha != alphas.end()) {
      own.alpha = *alpha++;
    }
    if (known.settings >= 2 && beta != betas.end()) {
      own.beta = *beta++;
    }
    result.push_back(own);
  }
  return result;
}

/// To the nearest of 256 steps that hold all of them and 0; `to` may be `from`.
void round_dynamically(const float* from, Index count, float* to) {
  const DynamicRange range(from, static_cast<std::size_t>(count));
  std::transform(from, from + count, to, [&](float x) { return range.real(range.storage(x)); });
}

/// Where the numbers of one time, or of one direction, of one sequence are.
struct Order {
  Index steps = 0;
  Index sequences = 0;
  Index directions = 1;
  bool sequences_first = false;  ///< layout 1

  Index row(Index time, Index sequence) const {
    return sequences_first ? sequence * steps + time : time * sequences + sequence;
  }
  Index state(Index direction, Index sequence) const {
    return sequences_first ? sequence * directions + direction
                           : direction * sequences + sequence;
  }
  Index result(Index time, Index direction, Index sequence) const {
    return sequences_first ? row(time, sequence) * directions + direction
                           : (time * directions + direction) * sequences + sequence;
  }
};

enum Operands : std::size_t { kX, kW, kR, kB, kLengths, kHidden, kCell, kPeepholes };

class Recurrent final : public Kernel {
 public:
  Recurrent(const Cell& cell, const KernelRequest& request) : cell_(cell), gates_(cell.gates) {
    const Attributes& attributes = request.attributes();
    const std::string direction = attributes.text("direction", "forward");
    if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
      throw Error(ErrorCode::kInvalidModel, "", "has direction '" + direction + "'")
          .expected("forward, reverse or bidirectional");
    }
    order_.directions = direction == "bidirectional" ? 2 : 1;
    starts_reversed_ = direction == "reverse";
    order_.sequences_first = attributes.integer("layout", 0) != 0;
    const Shape& x = required(request, kX).shape();
    (void)required(request, kW);
    const Shape& r = required(request, kR).shape();
    if (x.size() != 3 || r.size() != 3) {
      throw Error(ErrorCode::kInvalidModel, "",
                  "operands have shapes " + to_string(x) + " and " + to_string(r))
          .expected("rank 3");
    }
    order_.steps = x[order_.sequences_first ? 1 : 0];
    order_.sequences = x[order_.sequences_first ? 0 : 1];
    inputs_ = x[2];
    hidden_ = r[2];
    check_shapes(request);
    options_.clip = attributes.real("clip", 0);
    options_.couples_gates = attributes.integer("input_forget", 0) != 0;
    options_.linear_before_reset = attributes.integer("linear_before_reset", 0) != 0;
    activations_ =
        activations_of(cell, attributes, static_cast<std::size_t>(order_.directions));
  }

  std::size_t scratch_bytes() const override {
    const Index rows = order_.steps * order_.sequences * gates_ +  // from the input
                       order_.sequences * (gates_ + 4);            // of one step
    const Index rounded = cell_.quantizes_operands ? order_.steps * order_.sequences : 0;
    return static_cast<std::size_t>(rows * hidden_ + rounded * inputs_) * sizeof(float);
  }

  void run(const Buffers& buffers) const override {
    for (Index direction = 0; direction < order_.directions; ++direction) {
      run(buffers, direction);
    }
  }

 private:
  void check_shapes(const KernelRequest& request) const {
    const Index directions = order_.directions;
    const Shape states = order_.sequences_first ? Shape{order_.sequences, directions, hidden_}
                                                : Shape{directions, order_.sequences, hidden_};
    const auto expect = [&](std::size_t operand, const Shape& shape) {
      if (request.has_input(operand)) {
        expect_shape(request.inputs[operand], shape);
      }
    };
    expect(kW, {directions, gates_ * hidden_, inputs_});
    expect(kR, {directions, gates_ * hidden_, hidden_});
    expect(kB, {directions, 2 * gates_ * hidden_});
    expect(kLengths, {order_.sequences});
    expect(kHidden, states);
    expect(kCell, states);
    expect(kPeepholes, {directions, 3 * hidden_});
    for (std::size_t i = 0; i < request.outputs.size(); ++i) {
      expect_shape(request.outputs[i],
                   i > 0 ? states
                   : order_.sequences_first
                       ? Shape{order_.sequences, order_.steps, directions, hidden_}
                       : Shape{order_.steps, directions, order_.sequences, hidden_});
    }
  }

  static const float* operand(const Buffers& buffers, std::size_t i) {
    return i < buffers.inputs.size() ? reinterpret_cast<const float*>(buffers.inputs[i])
                                     : nullptr;
  }

  Index length(const Buffers& buffers, Index sequence) const {
    if (kLengths >= buffers.inputs.size() || buffers.inputs[kLengths] == nullptr) {
      return order_.steps;
    }
    const Index result =
        reinterpret_cast<const std::int32_t*>(buffers.inputs[kLengths])[sequence];
    if (result < 0 || result > order_.steps) {
      throw Error(ErrorCode::kInvalidData, "",
                  "a sequence has length " + std::to_string(result))
          .expected("at most " + std::to_string(order_.steps));
    }
    return result;
  }

  /// The states of one direction, or zeros.
  void start(const float* states, Index direction, Rows& rows) const {
    for (Index s = 0; s < order_.sequences; ++s) {
      if (states == nullptr) {
        rows.row(s) = 0;
      } else {
        rows.row(s) = ConstRow(states + order_.state(direction, s) * hidden_, hidden_);
      }
    }
  }
  void finish(const Rows& rows, Index direction, std::byte* states) const {
    for (Index s = 0; s < order_.sequences; ++s) {
      std::copy_n(rows.row(s).data(), hidden_,
                  reinterpret_cast<float*>(states) + order_.state(direction, s) * hidden_);
    }
  }

  void run(const Buffers& buffers, Index direction) const {
    const Index width = gates_ * hidden_;
    const Index sequences = order_.sequences;
    auto* free = reinterpret_cast<float*>(buffers.scratch);
    const auto take = [&](Index rows, Index columns) {
      Rows result(free, rows, columns);
      free += rows * columns;
      return result;
    };
    // Of an operand that may be absent.
    const auto own = [&](std::size_t i, Index size) {
      const float* all = operand(buffers, i);
      return all == nullptr ? nullptr : all + direction * size;
    };
    const float* bias = own(kB, 2 * width);
    const CellWeights weights{
        .of_state = {operand(buffers, kR) + direction * width * hidden_, width, hidden_},
        .bias = bias == nullptr ? nullptr : bias + width,
        .peepholes = own(kPeepholes, 3 * hidden_),
        .activations =
            std::span(activations_)
                .subspan(static_cast<std::size_t>(direction) * cell_.activations.size(),
                         cell_.activations.size()),
        .quantizes_state = cell_.quantizes_operands};
    Rows from_input = take(order_.steps * sequences, width);
    const ConstRows x(operand(buffers, kX), order_.steps * sequences, inputs_);
    const ConstRows w(operand(buffers, kW) + direction * width * inputs_, width, inputs_);
    std::vector<Index> lengths;
    for (Index s = 0; s < sequences; ++s) {
      lengths.push_back(length(buffers, s));
    }
    if (cell_.quantizes_operands) {
      const Index longest =
          lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
      const Index used = sequences * longest;
      Rows rounded = take(x.rows(), inputs_);
      round_dynamically(x.data(), used * inputs_, rounded.data());
      from_input.topRows(used).matrix().noalias() =
          rounded.topRows(used).matrix() * w.matrix().transpose();
    } else {
      from_input.matrix().noalias() = x.matrix() * w.matrix().transpose();
    }
    if (bias != nullptr) {
      from_input.rowwise() += ConstRow(bias, width);
    }
    std::vector<const float*> rows(static_cast<std::size_t>(sequences), from_input.data());
    std::vector<const float*> rows_before;
    CellStep step{rows,
                  take(sequences, hidden_),
                  take(sequences, hidden_),
                  take(sequences, width),
                  take(sequences, hidden_),
                  take(cell_.quantizes_operands ? sequences : 0, hidden_),
                  {}};
    start(operand(buffers, kHidden), direction, step.hidden);
    start(operand(buffers, kCell), direction, step.cell);
    const bool reversed = starts_reversed_ != (direction == 1);
    auto* results = reinterpret_cast<float*>(buffers.outputs[0]);
    for (Index i = 0; i < order_.steps; ++i) {
      const auto time = [&](Index s) {
        const Index length = lengths[static_cast<std::size_t>(s)];
        return reversed && i < length ? length - 1 - i : i;
      };
      const auto goes_on = [&](Index s) { return i < lengths[static_cast<std::size_t>(s)]; };
      rows_before = rows;
      step.from_input_before = rows_before;
      for (Index s = 0; s < sequences; ++s) {
        rows[static_cast<std::size_t>(s)] =
            goes_on(s) ? from_input.row(order_.row(time(s), s)).data() : nullptr;
      }
      cell_.step(weights, options_, step);
      for (Index s = 0; s < sequences; ++s) {
        float* to = results + order_.result(time(s), direction, s) * hidden_;
        if (goes_on(s)) {
          std::copy_n(step.hidden.row(s).data(), hidden_, to);
        } else {
          std::fill_n(to, hidden_, 0.0F);
        }
      }
    }
    if (buffers.outputs.size() > 1) {
      finish(step.hidden, direction, buffers.outputs[1]);
    }
    if (buffers.outputs.size() > 2) {
      finish(step.cell, direction, buffers.outputs[2]);
    }
  }

  Cell cell_;
  Index gates_;
  Order order_;
  Index inputs_ = 0;
  Index hidden_ = 0;
  bool starts_reversed_ = false;
  CellOptions options_;
  std::vector<Activation> activations_;
};

}  // namespace

void add_state(const CellWeights& weights, Index count, CellStep& step) {
  if (weights.quantizes_state) {
    for (Index row = 0; row < step.hidden.rows(); ++row) {
      const bool has_ended = step.from_input_before[static_cast<std::size_t>(row)] == nullptr;
      if (has_ended) {
        step.rounded.row(row) = 0;
      } else {
        step.rounded.row(row) = step.hidden.row(row);
      }
    }
    round_dynamically(step.rounded.data(), step.rounded.size(), step.rounded.data());
  }
  const Rows& hidden = weights.quantizes_state ? step.rounded : step.hidden;
  step.gates.leftCols(count).matrix().noalias() =
      hidden.matrix() * weights.of_state.topRows(count).matrix().transpose();
  if (weights.bias != nullptr) {
    step.gates.leftCols(count).rowwise() += ConstRow(weights.bias, count);
  }
}

std::unique_ptr<Kernel> make_recurrent(const Cell& cell, const KernelRequest& request) {
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    const DType wanted = i == kLengths ? DType::kInt32 : DType::kFloat32;
    if (request.has_input(i) && request.inputs[i].dtype() != wanted) {
      return nullptr;
    }
  }
  return std::make_unique<Recurrent>(cell, request);
}

}  // namespace tare
