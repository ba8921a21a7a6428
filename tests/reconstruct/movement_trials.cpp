#include "reconstruct/gradient_rule.h"
#include "reconstruct/gradient_trial.h"

#include <algorithm>
#include <cmath>

namespace tare::test {
namespace {

void transpose(Random& random, Trial& trial) {
  const Shape shape = random_shape(random, 2, 4);
  std::vector<std::int64_t> order(shape.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = static_cast<std::int64_t>(i);
  }
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(
        order[i - 1],
        order[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(i) - 1))]);
  }
  Shape result;
  for (const std::int64_t axis : order) {
    result.push_back(shape[static_cast<std::size_t>(axis)]);
  }
  trial.result("Transpose", {trial.input(numbers(random, shape))}, result, {{"perm", order}});
}

void concat(Random& random, Trial& trial) {
  Shape shape = random_shape(random, 1, 4);
  const auto axis =
      static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(shape.size()) - 1));
  std::vector<ValueId> operands;
  std::int64_t total = 0;
  for (std::int64_t i = random.integer(1, 3); i > 0; --i) {
    shape[axis] = random.integer(1, 3);
    total += shape[axis];
    operands.push_back(trial.input(numbers(random, shape)));
  }
  shape[axis] = total;
  trial.result("Concat", operands, shape, {{"axis", static_cast<std::int64_t>(axis)}});
}

/// Of which only some results are read.
void split(Random& random, Trial& trial) {
  Shape shape = random_shape(random, 1, 3);
  shape[0] = 4;
  Shape part = shape;
  part[0] = 2;
  const ValueId x = trial.input(numbers(random, shape));
  const NodeId node =
      trial.graph.add_node("split", "Split", {x}, {{"first", f32(part)}, {"second", f32(part)}},
                           {{"axis", std::int64_t{0}}});
  const auto& parts = trial.graph.node(node).outputs;
  trial.result("Mul", {parts[0], random.coin() ? parts[0] : parts[1]}, part);
}

void slice(Random& random, Trial& trial) {
  const Shape shape = random_shape(random, 1, 4);
  Shape result = shape;
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> ends;
  std::vector<std::int64_t> axes;
  std::vector<std::int64_t> steps;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::int64_t extent = shape[axis];
    const std::int64_t step = random.integer(1, 2);
    const std::int64_t first = random.integer(0, extent - 1);
    axes.push_back(static_cast<std::int64_t>(axis));
    if (random.coin()) {
      starts.push_back(random.coin() ? first : first - extent);
      ends.push_back(extent + 7);
      steps.push_back(step);
      result[axis] = (extent - first + step - 1) / step;
    } else {
      starts.push_back(first);
      ends.push_back(-extent - 1);
      steps.push_back(-step);
      result[axis] = first / step + 1;
    }
  }
  trial.result("Slice",
               {trial.input(numbers(random, shape)), trial.integers(starts),
                trial.integers(ends), trial.integers(axes), trial.integers(steps)},
               result);
}

void pad(Random& random, Trial& trial) {
  Shape shape = random_shape(random, 1, 4);
  Shape result = shape;
  std::vector<std::int64_t> pads(2 * shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    shape[i] += 1;
    pads[i] = random.integer(-1, 2);
    pads[i + shape.size()] = random.integer(0, 2);
    result[i] = shape[i] + pads[i] + pads[i + shape.size()];
  }
  trial.result("Pad", {trial.input(numbers(random, shape)), trial.integers(pads)}, result);
}

void expand(Random& random, Trial& trial) {
  const Shape shape = random_shape(random, 1, 4);
  trial.result("Expand",
               {trial.input(numbers(random, narrowed(random, shape))), trial.integers(shape)},
               shape);
}

void tile(Random& random, Trial& trial) {
  const Shape shape = random_shape(random, 1, 3);
  const auto repeats = random.integers(shape.size(), 1, 3);
  Shape result = shape;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    result[i] *= repeats[i];
  }
  trial.result("Tile", {trial.input(numbers(random, shape)), trial.integers(repeats)}, result);
}

void gather(Random& random, Trial& trial) {
  const Shape shape = random_shape(random, 1, 3);
  const auto axis =
      static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(shape.size()) - 1));
  const Shape places = random_shape(random, 1, 2);
  const auto indices = random.integers(static_cast<std::size_t>(element_count(places)),
                                       -shape[axis], shape[axis] - 1);
  Shape result = shape;
  result.erase(result.begin() + static_cast<std::ptrdiff_t>(axis));
  result.insert(result.begin() + static_cast<std::ptrdiff_t>(axis), places.begin(),
                places.end());
  trial.result("Gather",
               {trial.input(numbers(random, shape)),
                trial.constant(Tensor::of<std::int64_t>(places, indices))},
               result, {{"axis", static_cast<std::int64_t>(axis)}});
}

void gather_elements(Random& random, Trial& trial) {
  const Shape shape = random_shape(random, 1, 3);
  const auto axis =
      static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(shape.size()) - 1));
  Shape result = shape;
  result[axis] = random.integer(1, 6);
  const auto indices =
      random.integers(static_cast<std::size_t>(element_count(result)), 0, shape[axis] - 1);
  trial.result("GatherElements",
               {trial.input(numbers(random, shape)),
                trial.constant(Tensor::of<std::int64_t>(result, indices))},
               result, {{"axis", static_cast<std::int64_t>(axis)}});
}

void depth_to_space(Random& random, Trial& trial) {
  const std::int64_t c = random.integer(1, 3);
  const std::int64_t h = random.integer(1, 3);
  const std::int64_t w = random.integer(1, 3);
  trial.result(
      "DepthToSpace", {trial.input(numbers(random, {1, 4 * c, h, w}))}, {1, c, 2 * h, 2 * w},
      {{"blocksize", std::int64_t{2}}, {"mode", std::string(random.coin() ? "DCR" : "CRD")}});
}

void space_to_depth(Random& random, Trial& trial) {
  const std::int64_t c = random.integer(1, 3);
  const std::int64_t h = random.integer(1, 3);
  const std::int64_t w = random.integer(1, 3);
  trial.result("SpaceToDepth", {trial.input(numbers(random, {2, c, 2 * h, 2 * w}))},
               {2, 4 * c, h, w}, {{"blocksize", std::int64_t{2}}});
}

/// To another shape of as many elements.
OperatorTrials reshaping(std::string op) {
  return {
      op, [=](Random& random, Trial& trial) {
        const Shape shape = random_shape(random, 2, 4);
        const ValueId x = trial.input(numbers(random, shape));
        if (op == "Reshape") {
          trial.result(op, {x, trial.integers({element_count(shape)})}, {element_count(shape)});
        } else if (op == "Flatten") {
          trial.result(op, {x}, {shape[0], element_count(shape) / shape[0]});
        } else if (op == "Unsqueeze") {
          Shape result = shape;
          result.insert(result.begin() + 1, 1);
          trial.result(op, {x, trial.integers({1})}, result);
        } else if (op == "Squeeze") {
          Shape single = shape;
          single[1] = 1;
          Shape result = shape;
          result.erase(result.begin() + 1);
          trial = {};
          trial.result(op, {trial.input(numbers(random, single)), trial.integers({1})}, result);
        } else {
          trial.result(op, {x}, shape);
        }
      }};
}

void cast(Random& random, Trial& trial) {
  const Shape shape = random_shape(random, 1, 3);
  trial.result("Cast", {trial.input(numbers(random, shape))}, shape, {{"to", std::int64_t{1}}});
}

}  // namespace

std::vector<OperatorTrials> movement_trials() {
  return {reshaping("Identity"),
          reshaping("Reshape"),
          reshaping("Flatten"),
          reshaping("Squeeze"),
          reshaping("Unsqueeze"),
          {"Transpose", transpose},
          {"Concat", concat},
          {"Split", split},
          {"Slice", slice},
          {"Pad", pad},
          {"Expand", expand},
          {"Tile", tile},
          {"Gather", gather},
          {"GatherElements", gather_elements},
          {"DepthToSpace", depth_to_space},
          {"SpaceToDepth", space_to_depth},
          {"Cast", cast}};
}

}  // namespace tare::test
