#include "fuzz/inner_graphs.h"

#include "fuzz/computed_shapes.h"
#include "fuzz/layers.h"
#include "fuzz/network.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace tare::fuzz {
namespace {

const Attributes kWithoutAxes{{"keepdims", std::int64_t{0}}};

/// Values around a node's graphs that these read, each once.
struct Captured {
  std::vector<ValueId> values;
  std::vector<std::string> names;
};

/// A graph inside of a node. Its own inputs come first, then those for captured values.
class Inner {
 public:
  Inner(Drawing& outer, Captured& captured, bool may_nest = true)
      : d(outer.choose, inside(outer, may_nest)), outer_(outer), captured_(captured) {
    d.count = outer.count;
    d.is_within = true;
  }

  ValueId capture(ValueId around) {
    const std::string& name = outer_.graph.name(around);
    if (const auto found = d.graph.find_value(name)) {
      return *found;
    }
    if (std::find(captured_.values.begin(), captured_.values.end(), around) ==
        captured_.values.end()) {
      captured_.values.push_back(around);
      captured_.names.push_back(name);
    }
    const ValueId id = d.input(name, outer_.shapes_of(around));
    d.keep(id);
    if (std::find(outer_.given.begin(), outer_.given.end(), around) != outer_.given.end()) {
      d.given.push_back(id);
    }
    return id;
  }

  /// What the outer graph has to offer, and layers on it.
  void draw() {
    for (std::int64_t i = d.choose.below(3); i > 0; --i) {
      capture(outer_.any());
    }
    for (std::int64_t i = d.choose.between(1, 3); i > 0; --i) {
      draw_step(d);
    }
  }

  /// A computed value with the shapes of `like`; bounded where it comes back.
  ValueId result(ValueId like, bool is_bounded) {
    ValueId found = like;
    for (const ValueId value : d.values) {
      if (d.graph.producer(value) && d.shapes_of(value) == d.shapes_of(like)) {
        found = value;
      }
    }
    if (is_bounded) {
      return d.op("Tanh", {found}, d.shapes_of(like));
    }
    return found == like ? any_function(d, like) : found;
  }

  /// A result that iterations are to be collected of.
  std::optional<ValueId> collected() const {
    const auto found = std::find_if(d.values.rbegin(), d.values.rend(), [&](ValueId value) {
      return d.graph.producer(value) && d.rank_of(value) <= 3;
    });
    return found == d.values.rend() ? std::nullopt : std::optional(*found);
  }

  std::string text(const char* name, std::vector<ValueId> outputs) {
    d.graph.set_outputs(std::move(outputs));
    d.graph.erase_unused();
    d.graph.graph_name = name;
    return print(d.graph);
  }

  Drawing d;

 private:
  static NetworkKind inside(Drawing& outer, bool may_nest) {
    NetworkKind kind = outer.kind;
    kind.has_inner_graphs = may_nest && kind.has_inner_graphs && outer.choose.rarely(4);
    kind.has_state = false;
    return kind;
  }

  Drawing& outer_;
  Captured& captured_;
};

/// Compares the extreme of something that is given to every engine alike. Thresholds lie
/// between the numbers that there are, so no rounding decides.
ValueId of_data(Drawing& d, ValueId threshold) {
  const ValueId x = d.choose.of(d.given);
  const ValueId extreme =
      d.op(d.choose.coin() ? "ReduceMin" : "ReduceMax", {x}, d.always({}), kWithoutAxes);
  const ValueId sum =
      d.op("Add", {extreme, d.scalar(d.choose.coin() ? 1.5F : -1.5F)}, d.always({}));
  return d.op(d.choose.coin() ? "Less" : "Greater", {sum, threshold}, d.always({}), {},
              DType::kBool);
}

ValueId any_threshold(Drawing& d) {
  return d.scalar((static_cast<float>(d.choose.between(-100, 100)) + 0.5F) / 500);
}

struct Condition {
  ValueId value;
  bool is_of_data = false;
};

Condition any_condition(Drawing& d, ValueId x) {
  const std::int64_t type = d.choose.below(4);
  if (type == 0) {
    return {d.constant_of(Tensor::scalar(d.choose.coin()))};
  }
  if (type == 1 || d.given.empty()) {
    const std::int64_t axis = d.choose.below(static_cast<std::int64_t>(d.rank_of(x)));
    const bool is_scalar = d.choose.coin();
    const ValueId least = d.constant_of(Tensor::scalar<std::int64_t>(d.choose.between(1, 5)));
    return {d.op("Greater", {extent_of(d, x, axis, is_scalar), least},
                 d.always(is_scalar ? Shape{} : Shape{1}), {}, DType::kBool)};
  }
  return {of_data(d, any_threshold(d)), true};
}

/// A node whose last operands are what its graphs captured.
std::vector<ValueId> control(Drawing& d, const char* op, std::vector<ValueId> operands,
                             const Captured& captured, const std::vector<Shapes>& results,
                             Attributes attributes) {
  operands.insert(operands.end(), captured.values.begin(), captured.values.end());
  attributes.set("captured", captured.names);
  return d.ops(op, std::move(operands), results, std::move(attributes));
}

std::optional<ValueId> branches(Drawing& d, ValueId x) {
  const Condition condition = any_condition(d, x);
  // Where ONNX Runtime knows the condition it puts a branch in the place of the node, and loses
  // values of nodes further inside or around.
  if (d.kind.is_tame && d.is_within && !condition.is_of_data) {
    return {};
  }
  Captured captured;
  Attributes attributes;
  for (const char* name : {"then_branch", "else_branch"}) {
    Inner branch(d, captured, !d.kind.is_tame || condition.is_of_data);
    const ValueId own = branch.capture(x);
    branch.draw();
    const ValueId result = branch.result(own, false);
    attributes.set(name, branch.text(name, {result}));
  }
  return control(d, "If", {condition.value}, captured, {d.shapes_of(x)},
                 std::move(attributes))[0];
}

/// How often a loop runs its body.
struct Count {
  std::optional<ValueId> most;
  Integers iterations;  ///< for each choice of shapes
};

Count any_count(Drawing& d, ValueId x) {
  const std::int64_t type = d.choose.below(3);
  if (type == 0) {
    const std::int64_t most = d.choose.between(1, 4);
    return {d.constant_of(Tensor::scalar(most)), Integers(d.count, most)};
  }
  if (type == 1) {
    const std::int64_t axis = d.choose.below(static_cast<std::int64_t>(d.rank_of(x)));
    Integers iterations;
    for (const Shape& shape : d.shapes_of(x)) {
      iterations.push_back(shape[static_cast<std::size_t>(axis)]);
    }
    return {extent_of(d, x, axis, true), iterations};
  }
  return {};
}

/// Whether another iteration follows: as before, up to a number, or as long as data is above
/// what grows with the iterations.
ValueId goes_on(Drawing& d, ValueId iteration, ValueId before, bool has_count) {
  const std::int64_t type = has_count ? d.choose.below(3) : 1;
  if (type == 0) {
    return d.op("Identity", {before}, d.always({}), {}, DType::kBool);
  }
  if (type == 1 || d.given.empty()) {
    const ValueId most = d.constant_of(Tensor::scalar(d.choose.below(4)));
    return d.op("Less", {iteration, most}, d.always({}), {}, DType::kBool);
  }
  const ValueId real = d.op("Cast", {iteration}, d.always({}), {{"to", std::int64_t{1}}});
  return of_data(d, d.op("Mul", {real, d.scalar(0.3333F)}, d.always({})));
}

std::optional<ValueId> loop(Drawing& d, ValueId x) {
  const Count count = any_count(d, x);
  const bool collects = count.most && d.choose.coin();
  std::optional<ValueId> starts;
  if (!collects && d.choose.coin()) {
    starts = any_condition(d, x).value;
    if (d.rank_of(*starts) != 0) {
      starts.reset();
    }
  } else if (d.choose.coin()) {
    starts = d.constant_of(Tensor::scalar(true));
  }
  Captured captured;
  Inner body(d, captured);
  const ValueId iteration = body.d.input("iteration", d.always({}), DType::kInt64);
  const ValueId before = body.d.input("condition", d.always({}), DType::kBool);
  const ValueId state = body.d.input("state", d.shapes_of(x));
  body.d.keep(state);
  if (!d.given.empty()) {
    body.capture(d.given[0]);
  }
  body.draw();
  std::vector<ValueId> outputs;
  outputs.push_back(collects ? body.d.op("Identity", {before}, d.always({}), {}, DType::kBool)
                             : goes_on(body.d, iteration, before, count.most.has_value()));
  outputs.push_back(body.result(state, true));
  std::vector<Shapes> results{d.shapes_of(x)};
  const std::optional<ValueId> each = collects ? body.collected() : std::nullopt;
  if (each) {
    outputs.push_back(*each);
    results.push_back(body.d.shapes_of(*each));
    for (std::size_t i = 0; i < d.count; ++i) {
      results[1][i].insert(results[1][i].begin(), count.iterations[i]);
    }
  }
  const std::vector<ValueId> all =
      control(d, "Loop", {count.most.value_or(ValueId{}), starts.value_or(ValueId{}), x},
              captured, results, {{"body", body.text("body", outputs)}});
  if (each) {
    d.keep(all[1]);
  }
  return all[0];
}

std::optional<ValueId> scan(Drawing& d, ValueId x) {
  if (d.rank_of(x) < 3) {
    return {};
  }
  const std::int64_t axis = d.choose.between(1, static_cast<std::int64_t>(d.rank_of(x)) - 1);
  const Shapes slices = d.each(x, [&](Shape s) {
    s.erase(s.begin() + axis);
    return s;
  });
  const ValueId first = d.op("ReduceMean", {x}, slices,
                             {{"axes", Integers{axis}}, {"keepdims", std::int64_t{0}}});
  Captured captured;
  Inner body(d, captured);
  const ValueId state = body.d.input("state", slices);
  const ValueId slice = body.d.input("slice", slices);
  body.d.keep(body.d.op("Add", {state, slice}, slices));
  body.draw();
  const std::optional<ValueId> each = body.collected();
  const ValueId next = body.result(state, true);
  std::vector<Shapes> results{slices};
  std::vector<ValueId> outputs{next};
  Attributes attributes{{"num_scan_inputs", std::int64_t{1}},
                        {"scan_input_axes", Integers{axis}},
                        {"scan_input_directions", Integers{d.choose.below(2)}}};
  if (each) {
    const auto rank = static_cast<std::int64_t>(body.d.rank_of(*each));
    const std::int64_t place = d.choose.between(0, rank);
    attributes.set("scan_output_axes", Integers{place});
    attributes.set("scan_output_directions", Integers{d.choose.below(2)});
    outputs.push_back(*each);
    results.push_back(body.d.shapes_of(*each));
    for (std::size_t i = 0; i < d.count; ++i) {
      Shape& shape = results[1][i];
      shape.insert(shape.begin() + place, d.shapes_of(x)[i][static_cast<std::size_t>(axis)]);
    }
  }
  attributes.set("body", body.text("body", outputs));
  const std::vector<ValueId> all =
      control(d, "Scan", {first, x}, captured, results, std::move(attributes));
  d.keep(all[0]);
  return all.back();
}

}  // namespace

std::optional<ValueId> inner_layer(Drawing& d, ValueId x) {
  switch (d.choose.below(3)) {
    case 0:
      return branches(d, x);
    case 1:
      return loop(d, x);
    default:
      return scan(d, x);
  }
}

}  // namespace tare::fuzz
