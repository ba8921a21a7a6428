// The arithmetic is that of TensorFlow Lite's kernels for 8 bits with a cell of 16: sums of
// gates are rescaled to Q3.12 one by one and added with saturation, functions of gates give
// Q0.15, and the cell has a power of two for its scale.
#include "tflite/integer_lstm.h"

#include "tflite/gate_functions.h"
#include "tflite/kernel_arithmetic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tare::tflite {
namespace {

enum IntegerLstmGate : std::size_t { kOfInput, kOfForgetting, kOfCell, kOfOutput, kGateCount };
// Operands; those of gates are in their order.
constexpr std::size_t kLstmInput = 0;
constexpr std::size_t kLstmFromInput = 1;
constexpr std::size_t kLstmFromState = 5;
constexpr std::size_t kLstmPeepholes = 9;  // there is none of the cell
constexpr std::size_t kLstmBiases = 12;
constexpr std::size_t kLstmProjection = 16;
constexpr std::size_t kLstmOutputState = 18;
constexpr std::size_t kLstmCellState = 19;
constexpr std::size_t kLstmNorms = 20;
constexpr std::size_t kLstmOperands = 24;
/// The tensor between operands and results that says how the hidden state is stored.
constexpr std::size_t kHidden = 4;

constexpr std::int64_t kShortLow = std::numeric_limits<std::int16_t>::min();
constexpr std::int64_t kShortHigh = std::numeric_limits<std::int16_t>::max();
constexpr int kGateIntegerBits = 3;
constexpr int kFractionBits = 15;  ///< of what gates' functions give
/// Every step is some seventy nodes.
constexpr std::int64_t kMostIntegerSteps = 1024;

struct IntegerLstm {
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::int64_t inputs = 0;
  std::int64_t cells = 0;
  std::vector<IntegerLstmGate> gates{};  ///< that have weights
  int cell_exponent = 0;                 ///< the cell's scale is 2 to this power
  std::int64_t cell_bound = kShortHigh;

  std::int64_t columns() const { return static_cast<std::int64_t>(gates.size()) * cells; }
  bool couples() const { return gates.front() != kOfInput; }
};

std::size_t peephole_of(IntegerLstmGate gate) {
  return kLstmPeepholes + std::min<std::size_t>(gate, 2);
}

void require_integers(const OperatorImport& op) {
  for (std::size_t i = kLstmProjection; i < kLstmOperands; ++i) {
    const bool is_state = i == kLstmOutputState || i == kLstmCellState;
    if (is_state && !op.input(i).is_variable) {
      op.unsupported("its state, operand " + std::to_string(i) + ", is computed", "a variable");
    }
    if (!is_state && op.has_input(i)) {
      op.unsupported(i < kLstmNorms ? "projects its hidden state" : "normalizes its gates");
    }
  }
  if (op.output().type.dtype != DType::kInt8 ||
      op.input(kLstmOutputState).type.dtype != DType::kInt8 ||
      op.input(kLstmCellState).type.dtype != DType::kInt16) {
    op.unsupported("has other integers than the kernels take", "i8, and a cell of i16");
  }
}

IntegerLstm read_integer_lstm(const OperatorImport& op, bool time_major, float cell_clip) {
  op.require_rank(kLstmInput, 3);
  op.require_rank(kLstmFromInput + kOfOutput, 2);
  const Shape& x = op.shape(kLstmInput);
  IntegerLstm lstm{.steps = x[time_major ? 0 : 1],
                   .batch = x[time_major ? 1 : 0],
                   .inputs = x[2],
                   .cells = op.shape(kLstmFromInput + kOfOutput)[0]};
  const Shape states{lstm.batch, lstm.cells};
  if (lstm.steps < 1 || lstm.batch < 1 || lstm.inputs < 1 || lstm.cells < 1 ||
      op.shape(kLstmOutputState) != states || op.shape(kLstmCellState) != states) {
    op.refuse("has states of shapes " + to_string(op.shape(kLstmOutputState)) + " and " +
                  to_string(op.shape(kLstmCellState)) + " for sequences of " + to_string(x),
              to_string(states));
  }
  if (lstm.steps > kMostIntegerSteps) {
    op.unsupported("has " + std::to_string(lstm.steps) + " steps",
                   std::to_string(kMostIntegerSteps) + " at most");
  }
  if (op.has_input(kLstmFromInput)) {
    lstm.gates.push_back(kOfInput);
  }
  lstm.gates.insert(lstm.gates.end(), {kOfForgetting, kOfCell, kOfOutput});
  const float scale = only_scale(op, op.input(kLstmCellState));
  const float exponent = std::log2(scale);
  lstm.cell_exponent = static_cast<int>(std::round(exponent));
  const bool is_power = std::abs(exponent - std::round(exponent)) < 1e-3F;
  if (!is_power || lstm.cell_exponent < -kFractionBits || lstm.cell_exponent > -9) {
    op.unsupported("its cell has scale " + std::to_string(scale), "a power from 2^-15 to 2^-9");
  }
  if (cell_clip > 0) {
    lstm.cell_bound =
        static_cast<std::int64_t>(std::min(cell_clip / scale, static_cast<float>(kShortHigh)));
  }
  return lstm;
}

class IntegerSteps {
 public:
  IntegerSteps(OperatorImport& op, const IntegerLstm& lstm)
      : op_(op),
        lstm_(lstm),
        state_{lstm.batch, lstm.cells},
        sigmoid_(table([](std::int16_t x) { return sigmoid_of_gate(x); })),
        tanh_(table([](std::int16_t x) { return tanh_of_gate(x, kGateIntegerBits); })),
        cell_tanh_(table([bits = kFractionBits + lstm.cell_exponent](std::int16_t x) {
          return tanh_of_gate(x, bits);
        })),
        from_state_(op_.number(weights(kLstmFromState, lstm.cells))),
        state_factors_(factors(kLstmFromState, only_scale(op, op.input(kLstmOutputState)))),
        peeps_(op.has_input(peephole_of(kOfOutput))) {
    const FileTensor* hidden = op.intermediate(kHidden);
    if (hidden == nullptr) {
      op.unsupported("does not say how its hidden state is stored");
    }
    const float part = std::ldexp(1.0F, -kFractionBits);
    hidden_factor_ = static_cast<double>(part / only_scale(op, *hidden) * part);
    hidden_zero_point_ = only_zero_point(op, *hidden);
    for (const IntegerLstmGate gate : lstm.gates) {
      if (peeps_ && gate != kOfCell) {
        const std::size_t i = peephole_of(gate);
        peepholes_[gate] = op.number(raw_constant(op, i, {lstm.cells}));
        const float cell_scale = std::ldexp(1.0F, lstm.cell_exponent);
        peephole_factors_[gate] =
            static_cast<double>(cell_scale * only_scale(op, op.input(i)) / gate_step());
      }
    }
  }

  /// x has steps first.
  ValueId run(ValueId x) {
    const Shape all{lstm_.steps, lstm_.batch, lstm_.columns()};
    const ValueId w = op_.number(weights(kLstmFromInput, lstm_.inputs));
    x = op_.add("Add", {op_.add("MatMul", {x, w}, all), op_.indices(biases())}, all);
    const auto into_gates = factors(kLstmFromInput, only_scale(op_, op_.input(kLstmInput)));
    x = bounded(op_, rescaled(op_, x, into_gates), kShortLow, kShortHigh);
    std::vector<ValueId> results;
    for (std::int64_t step = 0; step < lstm_.steps; ++step) {
      sums_ = op_.add("Gather", {x, op_.number(Tensor::scalar(step))},
                      Shape{lstm_.batch, lstm_.columns()}, {{"axis", std::int64_t{0}}});
      results.push_back(op_.reshaped(advance(), {1, lstm_.batch, lstm_.cells}));
    }
    return op_.concatenated(results, 0);
  }

 private:
  static float gate_step() { return std::ldexp(1.0F, -12); }

  /// By the bits of its operand; negative indices count from the end, so they need no shift.
  template <class Function>
  ValueId table(Function function) {
    constexpr std::int64_t kCount = 1 << 16;
    std::vector<std::int64_t> values(kCount);
    for (std::int64_t i = 0; i < kCount; ++i) {
      values[static_cast<std::size_t>(i)] = function(static_cast<std::int16_t>(i));
    }
    return op_.indices(values);
  }

  ValueId looked_up_in(ValueId table, ValueId x) {
    return op_.add("Gather", {table, x}, op_.shape_of(x), {{"axis", std::int64_t{0}}});
  }

  /// Those of all gates beside each other: a row for each of what they multiply.
  Tensor weights(std::size_t first, std::int64_t width) {
    std::vector<std::int64_t> rows;
    for (const IntegerLstmGate gate : lstm_.gates) {
      const Tensor one = raw_constant(op_, first + gate, {lstm_.cells, width});
      const auto values = one.view<std::int64_t>();
      rows.insert(rows.end(), values.begin(), values.end());
    }
    return columns_for_rows(Tensor::of<std::int64_t>({lstm_.columns(), width}, rows));
  }

  std::vector<std::int64_t> biases() {
    std::vector<std::int64_t> all;
    for (const IntegerLstmGate gate : lstm_.gates) {
      const Tensor one = raw_constant(op_, kLstmBiases + gate, {lstm_.cells});
      const auto values = one.view<std::int64_t>();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

  /// From sums of products to gates, for each column; quotients in float32, as in the kernels.
  std::vector<double> factors(std::size_t first, float scale) const {
    std::vector<double> all;
    for (const IntegerLstmGate gate : lstm_.gates) {
      const float of_weights = only_scale(op_, op_.input(first + gate));
      all.insert(all.end(), static_cast<std::size_t>(lstm_.cells),
                 static_cast<double>(of_weights * scale / gate_step()));
    }
    return all;
  }

  ValueId sum_of(IntegerLstmGate gate) {
    const auto place = std::find(lstm_.gates.begin(), lstm_.gates.end(), gate);
    const std::int64_t first = (place - lstm_.gates.begin()) * lstm_.cells;
    return op_.add(
        "Slice",
        {sums_, op_.indices({first}), op_.indices({first + lstm_.cells}), op_.indices({1})},
        state_);
  }

  /// The output's gate peeps at the cell behind it, the others at the one before.
  ValueId opened(IntegerLstmGate gate) {
    ValueId x = sum_of(gate);
    if (peeps_ && cell_) {
      const ValueId peeped = op_.add("Mul", {cell_, peepholes_[gate]}, state_);
      x = op_.add("Add", {x, rescaled(op_, peeped, peephole_factors_[gate])}, state_);
      x = bounded(op_, x, kShortLow, kShortHigh);
    }
    return looked_up_in(sigmoid_, x);
  }

  ValueId input_gate(ValueId forgetting) {
    if (!lstm_.couples()) {
      return opened(kOfInput);
    }
    return op_.add("Sub", {op_.number(Tensor::scalar(kShortHigh)), forgetting}, state_);
  }

  /// The hidden state behind the next step. Before the first, states add nothing.
  ValueId advance() {
    if (hidden_) {
      const ValueId sums = op_.add("MatMul", {hidden_, from_state_}, op_.shape_of(sums_));
      sums_ = op_.add("Add", {sums_, rescaled(op_, sums, state_factors_)}, op_.shape_of(sums_));
      sums_ = bounded(op_, sums_, kShortLow, kShortHigh);
    }
    const ValueId forgetting = opened(kOfForgetting);
    const ValueId candidate = looked_up_in(tanh_, sum_of(kOfCell));
    const ValueId added =
        shifted_down(op_, op_.add("Mul", {input_gate(forgetting), candidate}, state_),
                     2 * kFractionBits + lstm_.cell_exponent);
    if (cell_) {
      const ValueId kept =
          shifted_down(op_, op_.add("Mul", {forgetting, cell_}, state_), kFractionBits);
      cell_ = op_.add("Add", {kept, added}, state_);
    } else {
      cell_ = added;
    }
    const bool is_bound = lstm_.cell_bound < kShortHigh;
    cell_ = bounded(op_, cell_, is_bound ? -lstm_.cell_bound : kShortLow, lstm_.cell_bound);
    const ValueId seen = looked_up_in(cell_tanh_, cell_);
    ValueId y = op_.add("Mul", {opened(kOfOutput), seen}, state_);
    // The kernels subtract this zero point, where others are added.
    y = with_number(op_, "Sub", rescaled(op_, y, hidden_factor_), hidden_zero_point_);
    y = bounded(op_, y, std::numeric_limits<std::int8_t>::min(),
                std::numeric_limits<std::int8_t>::max());
    const std::int64_t zero_point = only_zero_point(op_, op_.input(kLstmOutputState));
    hidden_ = with_number(op_, "Sub", y, zero_point);
    return y;
  }

  OperatorImport& op_;
  const IntegerLstm& lstm_;
  Shape state_;
  ValueId sigmoid_;
  ValueId tanh_;
  ValueId cell_tanh_;
  ValueId from_state_;
  std::vector<double> state_factors_;
  bool peeps_;
  double hidden_factor_ = 0;
  std::int64_t hidden_zero_point_ = 0;
  std::array<ValueId, kGateCount> peepholes_;
  std::array<double, kGateCount> peephole_factors_{};
  ValueId sums_;
  ValueId hidden_;  ///< less its zero point
  ValueId cell_;
};

ValueId steps_first(OperatorImport& op, ValueId x, bool are_first) {
  if (are_first) {
    return x;
  }
  const Shape from = op.shape_of(x);
  return op.add("Transpose", {x}, {from[1], from[0], from[2]},
                {{"perm", std::vector<std::int64_t>{1, 0, 2}}});
}

}  // namespace

bool is_integer_lstm(const OperatorImport& op) {
  return follows_tflite(op) && op.input(kLstmInput).type.dtype == DType::kInt8;
}

void integer_lstm(OperatorImport& op, bool time_major, float cell_clip) {
  require_integers(op);
  const IntegerLstm lstm = read_integer_lstm(op, time_major, cell_clip);
  IntegerSteps steps(op, lstm);
  const ValueId y = steps.run(steps_first(op, centred(op, kLstmInput), time_major));
  define_integers(op, steps_first(op, y, time_major));
}

}  // namespace tare::tflite
