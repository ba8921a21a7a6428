// Operators with a state that lasts from one call of an interpreter to the next. A graph is one
// call, and finds the state that the first one finds: zeros.
#include "tflite/bias.h"
#include "tflite/integer_lstm.h"
#include "tflite/integer_svdf.h"
#include "tflite/operators.h"

#include <algorithm>
#include <array>
#include <span>

namespace tare::tflite {
namespace {

void require_shape(const OperatorImport& op, std::size_t i, const Shape& shape) {
  if (op.shape(i) != shape) {
    op.refuse("operand " + std::to_string(i) + " has shape " + to_string(op.shape(i)),
              to_string(shape));
  }
}

void require_state(const OperatorImport& op, std::size_t i, const Shape& shape) {
  require_shape(op, i, shape);
  if (!op.input(i).is_variable) {
    op.unsupported("its state, operand " + std::to_string(i) + ", is computed", "a variable");
  }
}

/// What SVDF makes of the newest elements of its state: the last column of the weights in time,
/// each beside those of its unit. All others meet zeros.
Tensor newest_weights(const OperatorImport& op, std::int64_t rank) {
  const FileTensor& time = op.input(2);
  const std::int64_t filters = time.type.shape[0];
  const std::int64_t memory = time.type.shape[1];
  const Shape shape{filters / rank, filters};
  const std::size_t width = size_of(time.type.dtype);
  Tensor result(time.type.dtype, shape);
  const std::byte* from = time.constant->data();
  std::byte* to = result.mutable_data();
  for (std::int64_t filter = 0; filter < filters; ++filter) {
    std::copy_n(from + static_cast<std::size_t>((filter + 1) * memory - 1) * width, width,
                to + static_cast<std::size_t>(filter / rank * filters + filter) * width);
  }
  return result;
}

constexpr std::size_t kGates = 4;

/// Operands of an LSTM, by what TensorFlow Lite calls them, in the order in which ONNX has
/// gates: input, output, forget, cell.
struct GateOperands {
  std::array<std::size_t, kGates> input{1, 4, 2, 3};
  std::array<std::size_t, kGates> recurrent{5, 8, 6, 7};
  std::array<std::size_t, kGates> bias{12, 15, 13, 14};
  std::array<std::size_t, kGates - 1> peephole{9, 11, 10};
};

constexpr std::size_t kHiddenState = 18;
constexpr std::size_t kCellState = 19;

/// What integers of a bias stand for, in products of the scales of input and weights.
std::vector<float> real_bias(const OperatorImport& op, std::size_t i) {
  constexpr std::size_t kFirst = 12;
  constexpr std::size_t kToWeights = 11;
  const bool is_bias = i >= kFirst && i < kFirst + kGates;
  const auto& x = op.input(0).type.quant;
  if (!is_bias || !x || !op.has_input(i - kToWeights) || !op.input(i - kToWeights).type.quant) {
    op.unsupported("operand " + std::to_string(i) + " holds integers without a scale");
  }
  const float scale = x->scale[0] * op.input(i - kToWeights).type.quant->scale[0];
  std::vector<float> values = op.input(i).constant->to_float();
  std::transform(values.begin(), values.end(), values.begin(),
                 [&](float value) { return value * scale; });
  return values;
}

/// The real values of a constant operand.
std::vector<float> real_constant(const OperatorImport& op, std::size_t i) {
  const FileTensor& from = op.input(i);
  if (!from.constant) {
    op.unsupported("operand " + std::to_string(i) + " is computed", "a constant");
  }
  if (!from.type.quant) {
    return is_integer(from.type.dtype) ? real_bias(op, i) : from.constant->to_float();
  }
  if (from.type.quant->per_axis()) {
    op.unsupported("operand " + std::to_string(i) + " has scales along an axis");
  }
  std::vector<float> values;
  for (const std::int64_t q : from.constant->to_int64()) {
    values.push_back(static_cast<float>(q - from.type.quant->zero_point[0]) *
                     from.type.quant->scale[0]);
  }
  return values;
}

/// Constants of that shape behind each other, as ONNX has those of its gates; zeros where the
/// file has none.
template <std::size_t kCount>
std::vector<float> joined(const OperatorImport& op, const std::array<std::size_t, kCount>& of,
                          const Shape& shape) {
  std::vector<float> result;
  for (const std::size_t i : of) {
    if (!op.has_input(i)) {
      result.resize(result.size() + static_cast<std::size_t>(element_count(shape)));
      continue;
    }
    require_shape(op, i, shape);
    const std::vector<float> values = real_constant(op, i);
    result.insert(result.end(), values.begin(), values.end());
  }
  return result;
}

struct Lstm {
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::int64_t inputs = 0;
  std::int64_t hidden = 0;
  float clip = 0;  ///< of the cell; 0: none
  std::vector<float> w{};
  std::vector<float> r{};
  std::vector<float> b{};
  std::vector<float> peepholes{};  ///< empty: none

  /// The cell grows by less than 1 in each step, so few steps never reach the bound.
  bool can_clip() const { return clip > 0 && static_cast<float>(steps) > clip; }
};

/// An input gate without weights of its own is what the forget gate leaves: 1 - sigmoid(x) is
/// sigmoid(-x).
void couple_gates(std::vector<float>& of_gates, std::size_t gates) {
  constexpr std::size_t kForget = 2;
  const std::size_t each = of_gates.size() / gates;
  for (std::size_t i = 0; i < each; ++i) {
    of_gates[i] = -of_gates[kForget * each + i];
  }
}

void require_plain_gates(const OperatorImport& op) {
  const auto& options = op.options<schema::UnidirectionalSequenceLSTMOptions>();
  if (options.diagonal_recurrent_tensors()) {
    op.unsupported("has diagonal weights");
  }
  if (options.activation() != schema::Activation_TANH) {
    op.unsupported("has activation " + std::to_string(options.activation()), "TANH");
  }
  if (!(options.cell_clip() >= 0)) {
    op.refuse("bounds its cell by " + std::to_string(options.cell_clip()));
  }
}

Lstm lstm_of(const OperatorImport& op, bool time_major) {
  const auto& options = op.options<schema::UnidirectionalSequenceLSTMOptions>();
  op.require_rank(0, 3);
  for (const std::size_t i : {16U, 17U}) {
    if (op.has_input(i)) {
      op.unsupported("projects its hidden state");
    }
  }
  for (const std::size_t i : {20U, 21U, 22U, 23U}) {
    if (op.has_input(i)) {
      op.unsupported("normalizes its gates");
    }
  }
  const auto is_real = [](const FileTensor& tensor) {
    return tensor.type.dtype == DType::kFloat32 || tensor.type.quant;
  };
  if (!is_real(op.input(0)) || !is_real(op.output())) {
    op.unsupported("computes in plain integers", "float or quantized activations");
  }
  op.require_rank(8, 2);
  Lstm lstm{.steps = op.shape(0)[time_major ? 0 : 1],
            .batch = op.shape(0)[time_major ? 1 : 0],
            .inputs = op.shape(0)[2],
            .hidden = op.shape(8)[0],
            .clip = options.cell_clip()};
  require_state(op, kHiddenState, {lstm.batch, lstm.hidden});
  require_state(op, kCellState, {lstm.batch, lstm.hidden});
  const GateOperands operands;
  const bool couples = !op.has_input(operands.input[0]);
  for (const auto& weights : {operands.input, operands.recurrent}) {
    for (std::size_t gate = couples ? 1 : 0; gate < kGates; ++gate) {
      op.input(weights[gate]);  // is there
    }
  }
  lstm.w = joined(op, operands.input, {lstm.hidden, lstm.inputs});
  lstm.r = joined(op, operands.recurrent, {lstm.hidden, lstm.hidden});
  lstm.b = joined(op, operands.bias, {lstm.hidden});
  const auto is_there = [&](std::size_t i) { return op.has_input(i); };
  if (std::any_of(operands.peephole.begin(), operands.peephole.end(), is_there)) {
    lstm.peepholes = joined(op, operands.peephole, {lstm.hidden});
  }
  if (couples) {
    couple_gates(lstm.w, kGates);
    couple_gates(lstm.r, kGates);
    couple_gates(lstm.b, kGates);
    couple_gates(lstm.peepholes, kGates - 1);
  }
  return lstm;
}

ValueId swapped(OperatorImport& op, ValueId x, bool swaps) {
  if (!swaps) {
    return x;
  }
  Shape shape = op.shape_of(x);
  std::swap(shape[0], shape[1]);
  return op.add("Transpose", {x}, shape, {{"perm", std::vector<std::int64_t>{1, 0, 2}}});
}

/// One node; x and the result are steps, images, elements.
ValueId as_one_node(OperatorImport& op, const Lstm& lstm, ValueId x) {
  const std::int64_t gates = static_cast<std::int64_t>(kGates) * lstm.hidden;
  std::vector<float> biases = lstm.b;  // those of the input, then those of the state
  biases.resize(2 * biases.size());
  std::vector<ValueId> operands{x,
                                op.number(Tensor::of<float>({1, gates, lstm.inputs}, lstm.w)),
                                op.number(Tensor::of<float>({1, gates, lstm.hidden}, lstm.r)),
                                op.number(Tensor::of<float>({1, 2 * gates}, biases))};
  if (!lstm.peepholes.empty()) {
    const auto count = static_cast<std::int64_t>(lstm.peepholes.size());
    operands.insert(operands.end(), {ValueId{}, ValueId{}, ValueId{},
                                     op.number(Tensor::of<float>({1, count}, lstm.peepholes))});
  }
  const ValueId y = op.add("LSTM", operands, {lstm.steps, 1, lstm.batch, lstm.hidden},
                           {{"hidden_size", lstm.hidden}});
  return op.reshaped(y, {lstm.steps, lstm.batch, lstm.hidden});
}

/// One step of many nodes. The state is null before the first.
struct CellValues {
  ValueId hidden;
  ValueId cell;
};

class UnrolledLstm {
 public:
  UnrolledLstm(OperatorImport& op, const Lstm& lstm)
      : op_(op), lstm_(lstm), shape_{lstm.batch, lstm.hidden} {
    const std::int64_t gates = static_cast<std::int64_t>(kGates) * lstm.hidden;
    r_ = columns(lstm.r, gates, lstm.hidden);
    for (std::size_t i = 0; i < lstm.peepholes.size(); i += rows()) {
      const std::span<const float> row(lstm.peepholes.data() + i, rows());
      peepholes_.push_back(op.number(Tensor::of<float>({lstm.hidden}, row)));
    }
  }

  /// All hidden states: steps, images, elements.
  ValueId run(ValueId x) {
    const std::int64_t gates = static_cast<std::int64_t>(kGates) * lstm_.hidden;
    const Shape shape{lstm_.steps, lstm_.batch, gates};
    const ValueId w = columns(lstm_.w, gates, lstm_.inputs);
    const ValueId b = op_.number(Tensor::of<float>({gates}, lstm_.b));
    const ValueId from_input = op_.add("Add", {op_.add("MatMul", {x, w}, shape), b}, shape);
    CellValues state;
    std::vector<ValueId> results;
    for (std::int64_t t = 0; t < lstm_.steps; ++t) {
      const ValueId sums = op_.add("Gather", {from_input, op_.number(Tensor::scalar(t))},
                                   {lstm_.batch, gates}, {{"axis", std::int64_t{0}}});
      state = step(sums, state);
      results.push_back(op_.reshaped(state.hidden, {1, lstm_.batch, lstm_.hidden}));
    }
    return op_.concatenated(results, 0);
  }

 private:
  std::size_t rows() const { return static_cast<std::size_t>(lstm_.hidden); }

  /// The transpose of weights in `rows` rows.
  ValueId columns(const std::vector<float>& weights, std::int64_t rows, std::int64_t width) {
    std::vector<float> result(weights.size());
    for (std::int64_t i = 0; i < rows * width; ++i) {
      result[static_cast<std::size_t>(i % width * rows + i / width)] =
          weights[static_cast<std::size_t>(i)];
    }
    return op_.number(Tensor::of<float>({width, rows}, result));
  }

  ValueId each(const char* op, ValueId a, ValueId b) { return op_.add(op, {a, b}, shape_); }

  /// A gate, by its number in the order of ONNX, which may look at the cell.
  ValueId gate(ValueId sums, std::int64_t k, ValueId cell) {
    const std::vector<std::int64_t> first{k * lstm_.hidden};
    const std::vector<std::int64_t> last{(k + 1) * lstm_.hidden};
    ValueId sum = op_.add(
        "Slice", {sums, op_.indices(first), op_.indices(last), op_.indices({1})}, shape_);
    const bool is_candidate = k == 3;
    if (!is_candidate && cell && !peepholes_.empty()) {
      sum = each("Add", sum, each("Mul", cell, peepholes_[static_cast<std::size_t>(k)]));
    }
    return op_.add(is_candidate ? "Tanh" : "Sigmoid", {sum}, shape_);
  }

  CellValues step(ValueId sums, const CellValues& before) {
    if (before.hidden) {
      const Shape shape = op_.shape_of(sums);
      sums = op_.add("Add", {sums, op_.add("MatMul", {before.hidden, r_}, shape)}, shape);
    }
    ValueId cell = each("Mul", gate(sums, 0, before.cell), gate(sums, 3, {}));
    if (before.cell) {
      cell = each("Add", each("Mul", gate(sums, 2, before.cell), before.cell), cell);
    }
    cell = op_.add("Clip", {cell, op_.number(-lstm_.clip), op_.number(lstm_.clip)}, shape_);
    const ValueId output = gate(sums, 1, cell);
    return {.hidden = each("Mul", output, op_.add("Tanh", {cell}, shape_)), .cell = cell};
  }

  OperatorImport& op_;
  const Lstm& lstm_;
  Shape shape_;  ///< of a gate
  ValueId r_;
  std::vector<ValueId> peepholes_;
};

/// ONNX bounds the sums in front of gates, and not the cell, so steps are spelled out.
ValueId unrolled(OperatorImport& op, const Lstm& lstm, ValueId x) {
  constexpr std::int64_t kMostSteps = 4096;
  if (lstm.steps > kMostSteps) {
    op.unsupported("bounds its cell in " + std::to_string(lstm.steps) + " steps");
  }
  return UnrolledLstm(op, lstm).run(x);
}

}  // namespace

void svdf(OperatorImport& op, std::string_view) {
  const auto& options = op.options<schema::SVDFOptions>();
  for (const std::size_t i : {0U, 1U, 2U}) {
    op.require_rank(i, 2);
  }
  const std::int64_t rank = options.rank();
  const std::int64_t filters = op.shape(1)[0];
  const std::int64_t memory = op.shape(2)[1];
  if (rank < 1 || filters % rank != 0 || memory < 1 || op.output_count() != 1) {
    op.refuse("has rank " + std::to_string(rank) + ", weights of shapes " +
              to_string(op.shape(1)) + " and " + to_string(op.shape(2)));
  }
  const std::int64_t batch = op.shape(0)[0];
  require_shape(op, 1, {filters, op.shape(0)[1]});
  require_shape(op, 2, {filters, memory});
  require_state(op, 4, {batch, filters * memory});
  const FileTensor& time = op.input(2);
  const auto is_per_axis = [](const FileTensor& of) {
    return of.type.quant && of.type.quant->per_axis();
  };
  if (!time.constant || is_per_axis(time) || is_per_axis(op.input(4))) {
    op.unsupported("its weights in time are computed, or have scales along an axis");
  }
  if (time.type.quant && time.type.quant->zero_point[0] != 0) {
    op.unsupported("its weights in time have a zero point");
  }
  const std::int64_t units = filters / rank;
  constexpr std::int64_t kMostWeights = 1 << 26;  // a few bytes are to reserve no memory
  if (units > kMostWeights / std::max<std::int64_t>(filters, 1)) {
    op.unsupported("has " + std::to_string(filters) + " filters");
  }
  if (is_integer_svdf(op)) {
    integer_svdf(op, rank);
    return;
  }
  const Attributes transposed{{"transB", std::int64_t{1}}};
  const std::vector<ValueId> features{op.value(0, Order::kFile), op.value(1, Order::kFile)};
  op.require_alike(features);
  const ValueId newest =
      op.rounded(4, op.add("Gemm", features, Shape{batch, filters}, transposed));
  std::vector<ValueId> operands{newest, op.elements(2, newest_weights(op, rank))};
  if (const ValueId b = bias(op, 3, op.input(4), time)) {
    require_bias_of(op, b, units);
    operands.push_back(b);
  }
  op.require_alike(operands);
  const ValueId y = op.add("Gemm", operands, Shape{batch, units}, transposed);
  // Of integers the kernels leave an activation to the range of the result.
  op.define(Order::kFile, op.output().type.quant ? y : op.activated(y, options.activation()));
}

void unidirectional_sequence_lstm(OperatorImport& op, std::string_view) {
  const auto& options = op.options<schema::UnidirectionalSequenceLSTMOptions>();
  require_plain_gates(op);
  const bool time_major = options.time_major();
  if (is_integer_lstm(op)) {
    integer_lstm(op, time_major, options.cell_clip());
    return;
  }
  const Lstm lstm = lstm_of(op, time_major);
  const ValueId x = swapped(op, op.value(0, Order::kFile), !time_major);
  const ValueId y = lstm.can_clip() ? unrolled(op, lstm, x) : as_one_node(op, lstm, x);
  op.define(Order::kFile, swapped(op, y, !time_major));
}

}  // namespace tare::tflite
