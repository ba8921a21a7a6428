// Loop, Scan -> LSTM, GRU, RNN
//
// Exporters write recurrent layers as loops where they do not recognise them. Engines run each
// operator of the body anew in each iteration, which takes ten times as long as the operator
// that ONNX has for the whole layer.
#include "tare/error.h"
#include "tare/graph.h"
#include "tare/pattern.h"

#include "prepare/linear_form.h"
#include "prepare/loop_body.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tare {
namespace {

struct Gate {
  LinearForm form;
  /// Of the state alone, where the operator keeps it apart; else empty.
  LinearForm of_state{};
};

/// What an iteration computes, as one of ONNX's cells.
struct Cell {
  std::string op;
  ValueId hidden;  ///< what the gates take of the last iteration
  ValueId new_hidden;
  ValueId memory{};  ///< of LSTM: the cell's own state
  ValueId new_memory{};
  /// Of a GRU that resets the state before the product: the reset state, which the candidate
  /// takes in place of the state.
  ValueId reset_hidden{};
  std::vector<Gate> gates{};  ///< in ONNX's order
  Attributes attributes{};
};

Pattern sum(const Pattern& a, const Pattern& b) {
  return op("Add").with_any_order(a, b);
}
Pattern product(const Pattern& a, const Pattern& b) {
  return op("Mul").with_any_order(a, b);
}
Pattern sigmoid_of(std::string_view name) {
  return op("Sigmoid").with(any().as(name));
}
Pattern tanh_of(std::string_view name) {
  return op("Tanh").with(any().as(name));
}

void negate(LinearForm& form) {
  const auto minus = [](double x) { return -x; };
  std::ranges::transform(form.bias, form.bias.begin(), minus);
  for (auto& [source, matrix] : form.products) {
    std::ranges::transform(matrix, matrix.begin(), minus);
  }
}

std::optional<Match> match_at(const Pattern& pattern, const Graph& graph, ValueId value) {
  const auto producer = graph.producer(value);
  return producer && graph.node(*producer).outputs[0] == value ? pattern.match(graph, *producer)
                                                               : std::nullopt;
}

/// h' = output * tanh(c'), c' = forget * c + input * tanh(cell)
std::optional<Cell> lstm(const LoopBody& loop, const LoopBody::State& state) {
  const Pattern memory = sum(product(sigmoid_of("forget"), any().as("memory")),
                             product(sigmoid_of("input"), tanh_of("cell")));
  const Pattern pattern =
      product(sigmoid_of("output"), op("Tanh").with(memory.as("new memory")));
  const auto match = match_at(pattern, loop.body, state.after);
  if (!match) {
    return std::nullopt;
  }
  Cell cell{.op = "LSTM", .hidden = state.before, .new_hidden = state.after};
  cell.memory = match->value("memory");
  cell.new_memory = match->value("new memory");
  for (const char* gate : {"input", "output", "forget", "cell"}) {
    const auto form = linear_form(loop.body, match->value(gate));
    if (!form) {
      return std::nullopt;
    }
    cell.gates.push_back({*form});
  }
  return cell;
}

/// The candidate of a GRU, tanh(x W + reset * (h R + b)) or tanh(x W + (reset * h) R).
bool add_candidate(const LoopBody& loop, ValueId candidate, Cell& cell) {
  const Graph& body = loop.body;
  const Pattern reset = sigmoid_of("reset");
  const Pattern linear = sum(any().as("of input"), product(reset, any().as("of state")));
  if (const auto match = match_at(linear, body, candidate)) {
    const auto of_input = linear_form(body, match->value("of input"));
    const auto of_state = linear_form(body, match->value("of state"));
    const auto gate = linear_form(body, match->value("reset"));
    if (of_input && of_state && gate) {
      cell.attributes.set("linear_before_reset", std::int64_t{1});
      cell.gates.push_back({*gate});
      cell.gates.push_back({*of_input, *of_state});
      return !of_input->products.contains(cell.hidden) && of_state->products.size() == 1 &&
             of_state->products.contains(cell.hidden);
    }
  }
  const auto form = linear_form(body, candidate);
  if (!form) {
    return false;
  }
  for (const auto& [source, matrix] : form->products) {
    const auto match = match_at(product(reset, any().as("hidden")), body, source);
    const bool is_reset = match && match->value("hidden") == cell.hidden;
    const auto gate = is_reset ? linear_form(body, match->value("reset")) : std::nullopt;
    if (gate) {
      cell.reset_hidden = source;
      cell.gates.push_back({*gate});
      cell.gates.push_back({*form});
      return std::none_of(cell.gates.begin(), cell.gates.end(), [&](const Gate& each) {
        const bool is_candidate = &each == &cell.gates.back();
        return each.form.products.contains(is_candidate ? cell.hidden : source);
      });
    }
  }
  return false;
}

/// h' = update * h + (1 - update) * candidate
std::optional<Cell> gru(const LoopBody& loop, const LoopBody::State& state) {
  const Pattern h = any().as("hidden");
  const Pattern update = sigmoid_of("update");
  const Pattern rest = op("Sub").with(scalar(1), update);
  const Pattern candidate = tanh_of("candidate");
  const Pattern usual = sum(product(update, h), product(rest, candidate)) |
                        sum(product(update, op("Sub").with(h, candidate)), candidate);
  const Pattern inverted = sum(product(rest, h), product(update, candidate)) |
                           sum(product(update, op("Sub").with(candidate, h)), h);
  auto match = match_at(usual, loop.body, state.after);
  const bool is_inverted = !match;
  match = match ? match : match_at(inverted, loop.body, state.after);
  if (!match || match->value("hidden") != state.before) {
    return std::nullopt;
  }
  Cell cell{.op = "GRU", .hidden = state.before, .new_hidden = state.after};
  auto form = linear_form(loop.body, match->value("update"));
  if (!form) {
    return std::nullopt;
  }
  if (is_inverted) {  // 1 - sigmoid(x) = sigmoid(-x)
    negate(*form);
  }
  cell.gates.push_back({*std::move(form)});
  return add_candidate(loop, match->value("candidate"), cell) ? std::optional(cell)
                                                              : std::nullopt;
}

/// h' = f(x W + h R + b)
std::optional<Cell> simple(const LoopBody& loop, const LoopBody::State& state) {
  const auto match =
      match_at(op_of({"Relu", "Tanh"}).with(any().as("sum")), loop.body, state.after);
  auto form = match ? linear_form(loop.body, match->value("sum")) : std::nullopt;
  if (!form) {
    return std::nullopt;
  }
  Cell cell{.op = "RNN", .hidden = state.before, .new_hidden = state.after};
  cell.attributes.set("activations",
                      std::vector<std::string>{loop.body.node(match->root()).op});
  cell.gates.push_back({*std::move(form)});
  return cell;
}

/// Writes the cell over the whole sequence.
class Layer {
 public:
  Layer(const Graph& graph, const Node& node, const LoopBody& loop, Cell cell)
      : graph_(graph), node_(node), loop_(loop), cell_(std::move(cell)), patch_(graph) {}

  std::variant<Patch, Refusal> write() {
    hidden_size_ = static_cast<std::size_t>(loop_.body.type(cell_.hidden).shape.back());
    const LoopBody::Element* element = input();
    if (element == nullptr || !has_its_shapes(*element)) {
      return Refusal{"its gates take something else than one element of a sequence"};
    }
    const auto iterations = count_iterations(graph_, node_, loop_, *element);
    if (const auto* refusal = std::get_if<Refusal>(&iterations)) {
      return *refusal;
    }
    const Shape& whole = graph_.type(element->sequence).shape;
    if (std::get<std::int64_t>(iterations) != whole[element->axis]) {
      return Refusal{"it does not read the whole sequence"};
    }
    std::vector<ValueId> operands = weights(element->value);
    operands.insert(operands.begin(), in_time_order(*element));
    operands.push_back({});  // lengths
    for (const LoopBody::State* state : {state_of(cell_.hidden), state_of(cell_.memory)}) {
      if (state != nullptr) {
        operands.push_back(with_direction(state->initial, node_.name + "/initial"));
      }
    }
    cell_.attributes.set("hidden_size", static_cast<std::int64_t>(hidden_size_));
    Shape last = loop_.body.type(cell_.hidden).shape;
    last.insert(last.begin(), 1);
    Shape all = last;
    all.insert(all.begin(), whole[element->axis]);
    std::vector<NamedType> types{{node_.name, type(all)}, {node_.name + "/last", type(last)}};
    if (cell_.memory) {
      types.push_back({node_.name + "/last_memory", type(last)});
    }
    const std::vector<ValueId> results =
        patch_.add_multi(cell_.op, operands, types, cell_.attributes);
    return replace_results(results);
  }

 private:
  static TensorType type(Shape shape) {
    return {.dtype = DType::kFloat32, .shape = std::move(shape), .quant = {}, .point = {}};
  }

  /// The only element that gates take beside the state; null: another number, or other values.
  const LoopBody::Element* input() const {
    std::set<ValueId> sources;
    for (const Gate& gate : cell_.gates) {
      for (const LinearForm* form : {&gate.form, &gate.of_state}) {
        for (const auto& [source, matrix] : form->products) {
          sources.insert(source);
        }
      }
    }
    sources.erase(cell_.hidden);
    sources.erase(cell_.reset_hidden);
    if (sources.size() != 1) {
      return nullptr;
    }
    const auto found =
        std::find_if(loop_.elements.begin(), loop_.elements.end(),
                     [&](const auto& element) { return element.value == *sources.begin(); });
    return found == loop_.elements.end() ? nullptr : &*found;
  }

  /// [batch, features] in each iteration, [batch, hidden] of float32 as the state.
  bool has_its_shapes(const LoopBody::Element& element) const {
    const TensorType& input = loop_.body.type(element.value);
    const TensorType& hidden = loop_.body.type(cell_.hidden);
    const bool widths =
        std::all_of(cell_.gates.begin(), cell_.gates.end(),
                    [&](const Gate& gate) { return gate.form.bias.size() == hidden_size_; });
    return widths && input.shape.size() == 2 && hidden.shape.size() == 2 &&
           input.shape[0] == hidden.shape[0] && hidden.dtype == DType::kFloat32 &&
           input.dtype == DType::kFloat32 &&
           (!cell_.memory || loop_.body.type(cell_.memory) == hidden);
  }

  /// W [1, gates * hidden, features], R [1, gates * hidden, hidden], B [1, 2 * gates * hidden]
  std::vector<ValueId> weights(ValueId input) {
    const auto features = static_cast<std::size_t>(loop_.body.type(input).shape[1]);
    std::vector<float> of_input;
    std::vector<float> of_state;
    std::vector<float> bias;
    std::vector<float> state_bias;
    const auto append = [&](const LinearForm& form, ValueId source, std::size_t width,
                            std::vector<float>& to) {
      const auto found = form.products.find(source);
      if (found == form.products.end()) {
        to.resize(to.size() + hidden_size_ * width, 0.0F);
      } else {
        to.insert(to.end(), found->second.begin(), found->second.end());
      }
    };
    for (const Gate& gate : cell_.gates) {
      const bool is_apart = !gate.of_state.bias.empty();
      const ValueId state =
          cell_.reset_hidden && gate.form.products.contains(cell_.reset_hidden)
              ? cell_.reset_hidden
              : cell_.hidden;
      append(gate.form, input, features, of_input);
      append(is_apart ? gate.of_state : gate.form, state, hidden_size_, of_state);
      bias.insert(bias.end(), gate.form.bias.begin(), gate.form.bias.end());
      state_bias.resize(bias.size(), 0.0F);
      std::ranges::copy(gate.of_state.bias,
                        state_bias.end() - static_cast<std::ptrdiff_t>(hidden_size_));
    }
    bias.insert(bias.end(), state_bias.begin(), state_bias.end());
    const auto rows = static_cast<std::int64_t>(cell_.gates.size() * hidden_size_);
    const auto constant = [&](const char* name, const Shape& shape,
                              const std::vector<float>& values) {
      return patch_.add_constant(node_.name + name, Tensor::of(shape, values));
    };
    return {constant("/W", {1, rows, static_cast<std::int64_t>(features)}, of_input),
            constant("/R", {1, rows, static_cast<std::int64_t>(hidden_size_)}, of_state),
            constant("/B", {1, 2 * rows}, bias)};
  }

  ValueId in_time_order(const LoopBody::Element& element) {
    if (element.axis == 0) {
      return element.sequence;
    }
    std::vector<std::int64_t> order{static_cast<std::int64_t>(element.axis)};
    Shape shape = graph_.type(element.sequence).shape;
    const std::int64_t length = shape[element.axis];
    for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(shape.size()); ++axis) {
      if (axis != order[0]) {
        order.push_back(axis);
      }
    }
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(element.axis));
    shape.insert(shape.begin(), length);
    return patch_.add("Transpose", {element.sequence}, type(shape), node_.name + "/input",
                      {{"perm", order}});
  }

  ValueId axes(std::int64_t axis) {
    ValueId& constant = axes_[static_cast<std::size_t>(axis)];
    if (!constant) {
      constant = patch_.add_constant(node_.name + "/axes",
                                     Tensor::of({1}, std::vector<std::int64_t>{axis}));
    }
    return constant;
  }

  /// ONNX's states have an axis for the directions in front.
  ValueId with_direction(ValueId state, const std::string& name) {
    Shape shape = patch_.type(state).shape;
    shape.insert(shape.begin(), 1);
    return patch_.add("Unsqueeze", {state, axes(0)}, type(shape), name);
  }
  ValueId without_direction(ValueId value, std::int64_t axis, const std::string& name) {
    Shape shape = patch_.type(value).shape;
    shape.erase(shape.begin() + axis);
    return patch_.add("Squeeze", {value, axes(axis)}, type(shape), name);
  }

  const LoopBody::State* state_of(ValueId before) const {
    const auto found =
        std::find_if(loop_.states.begin(), loop_.states.end(),
                     [&](const auto& state) { return before && state.before == before; });
    return found == loop_.states.end() ? nullptr : &*found;
  }

  std::variant<Patch, Refusal> replace_results(const std::vector<ValueId>& results) {
    const auto is_read = [&](ValueId result) {
      return result && (!graph_.users(result).empty() || graph_.is_output(result));
    };
    const auto is_of_type = [&](ValueId result, ValueId by) {
      return graph_.type(result) == patch_.type(by);
    };
    const Refusal other_type{"its results are of other types than what its body computes"};
    for (const LoopBody::State& state : loop_.states) {
      if (!is_read(state.result)) {
        continue;
      }
      if (state.before != cell_.hidden && state.before != cell_.memory) {
        return Refusal{"more than its states and results of each iteration is read"};
      }
      const ValueId last = without_direction(results[state.before == cell_.hidden ? 1 : 2], 0,
                                             graph_.name(state.result));
      if (!is_of_type(state.result, last)) {
        return other_type;
      }
      patch_.replace(state.result, last);
    }
    for (const LoopBody::Collected& collected : loop_.collected) {
      if (!is_read(collected.result)) {
        continue;
      }
      if (collected.value != cell_.new_hidden || collected.axis != 0) {
        return Refusal{"it collects something else than its state"};
      }
      const ValueId all = without_direction(results[0], 1, graph_.name(collected.result));
      if (!is_of_type(collected.result, all)) {
        return other_type;
      }
      patch_.replace(collected.result, all);
    }
    return std::move(patch_);
  }

  const Graph& graph_;
  const Node& node_;
  const LoopBody& loop_;
  Cell cell_;
  Patch patch_;
  std::size_t hidden_size_ = 0;
  std::array<ValueId, 2> axes_{};  ///< constants with the number of the axis
};

std::variant<Patch, Refusal> as_layer(const Graph& graph, const Node& node) {
  auto read = loop_body(graph, node);
  if (auto* refusal = std::get_if<Refusal>(&read)) {
    return std::move(*refusal);
  }
  const LoopBody& loop = std::get<LoopBody>(read);
  const auto follows = [&](ValueId before, ValueId after) {
    return std::any_of(loop.states.begin(), loop.states.end(), [&](const auto& state) {
      return state.before == before && state.after == after;
    });
  };
  for (const LoopBody::State& state : loop.states) {
    for (const auto& cell_of : {lstm, gru, simple}) {
      auto cell = cell_of(loop, state);
      if (cell && (!cell->memory || follows(cell->memory, cell->new_memory))) {
        return Layer(graph, node, loop, *std::move(cell)).write();
      }
    }
  }
  return Refusal{"its body is no LSTM, GRU or RNN"};
}

std::variant<Patch, Refusal> recurrent_layer(const Graph& graph, const Match& match) {
  try {
    return as_layer(graph, graph.node(match.root()));
  } catch (const Error& error) {  // of a body that may never run, or that nothing runs
    if (error.code() == ErrorCode::kInternal) {
      throw;
    }
    return Refusal{error.faults().front().what};
  }
}

}  // namespace
}  // namespace tare

TARE_RULE(recurrent_loop) {
  using namespace tare;
  return {.name = "recurrent_loop",
          .summary = "writes a loop over the cells of an LSTM, GRU or RNN as that operator",
          .benefit = 80,
          .pattern =
              [] {
                return op_of({"Loop", "Scan"});
              },
          .rewrite = recurrent_layer};
}
