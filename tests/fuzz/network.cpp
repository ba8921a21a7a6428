#include "fuzz/network.h"

#include "tare/error.h"

#include "fuzz/computed_shapes.h"
#include "fuzz/inner_graphs.h"
#include "fuzz/layers.h"
#include "fuzz/other_layers.h"
#include "fuzz/sequences.h"
#include "support/files/samples_in_memory.h"
#include "support/files/samples_of_several_shapes.h"
#include "support/other_shapes.h"

#include <algorithm>
#include <utility>

namespace tare::fuzz {
namespace {

constexpr std::size_t kChoicesOfShapes = 3;

/// Draws inputs, layers and outputs.
class NetworkDrawing {
 public:
  NetworkDrawing(Choices& choices, const NetworkKind& kind) : d_(choices, kind) {
    d_.count = kind.has_open_extents ? kChoicesOfShapes : 1;
  }

  Network draw() {
    draw_inputs();
    if (d_.kind.has_state) {
      draw_state();
    }
    for (std::int64_t i = d_.choose.between(1, 9); i > 0; --i) {
      draw_step(d_);
    }
    std::vector<ValueId> outputs = draw_outputs();
    if (d_.kind.has_state) {
      outputs.push_back(next_state());
      network_.state = {{"h", d_.graph.name(outputs.back())}};
    }
    d_.graph.set_outputs(outputs);
    d_.graph.erase_unused();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      name_extents(outputs[i], "y" + std::to_string(i) + "_");
    }
    network_.graph = std::move(d_.graph);
    return std::move(network_);
  }

 private:
  void draw_inputs() {
    const std::int64_t inputs = d_.choose.rarely(3) ? 2 : 1;
    const std::int64_t count = d_.choose.between(1, 8);
    Shape shape{1, d_.choose.between(1, 6), d_.choose.between(1, 6), d_.choose.between(1, 6)};
    if (d_.choose.rarely(6)) {
      shape.resize(2);
    } else if (d_.kind.has_sequences && !d_.choose.rarely(4)) {
      shape.resize(3);
    }
    const Shapes shapes = d_.kind.has_open_extents ? opened(shape) : d_.always(shape);
    for (std::int64_t i = 0; i < inputs; ++i) {
      const std::string name = i == 0 ? "x" : "y";
      const ValueId id = d_.input(name, shapes);
      name_extents(id, "d");
      d_.keep(id);
      d_.given.push_back(id);
      network_.samples[name] = draw_samples(shapes, count);
    }
  }

  std::vector<Tensor> draw_samples(const Shapes& shapes, std::int64_t count) {
    std::vector<Tensor> samples;
    if (d_.count == 1) {
      Shape all = shapes[0];
      all[0] = count;
      const Tensor rows = d_.numbers(all);
      for (std::int64_t i = 0; i < count; ++i) {
        samples.push_back(rows.rows(i, 1));
      }
      return samples;
    }
    for (std::int64_t i = 0; i < std::max<std::int64_t>(count, kChoicesOfShapes); ++i) {
      samples.push_back(d_.numbers(shapes[static_cast<std::size_t>(i) % shapes.size()]));
    }
    return samples;
  }

  /// Leaves open the batch, a length, or the size of images: all but the axis of channels.
  Shapes opened(const Shape& shape) {
    const std::size_t channels = shape.size() == 3 ? 2 : 1;
    Shapes shapes = d_.always(shape);
    const std::int64_t open = d_.choose.below(8);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const bool is_open = axis == 0 ? open < 4 : (open & 1) == 0 || axis % 2 == 1;
      for (std::size_t i = 0; i < shapes.size() && is_open && axis != channels; ++i) {
        shapes[i][axis] = d_.choose.between(1, axis == 0 ? 3 : 6);
      }
    }
    return shapes;
  }

  /// Names what differs from one choice of shapes to the other; equal extents are one
  /// dimension.
  void name_extents(ValueId value, const std::string& prefix) {
    std::vector<std::string> names;
    for (std::size_t axis = 0; axis < d_.rank_of(value); ++axis) {
      names.push_back(d_.is_fixed(value, axis) ? "" : prefix + std::to_string(axis));
    }
    if (std::any_of(names.begin(), names.end(),
                    [](const auto& name) { return !name.empty(); })) {
      d_.graph.dimension_names[d_.graph.name(value)] = std::move(names);
    }
  }

  /// Has an input that will be an output of the step before, and layers that mix it in.
  void draw_state() {
    const ValueId x = d_.values[0];
    const bool is_like = d_.choose.coin() && d_.is_fixed(x);
    const Shape shape = is_like ? d_.shape_of(x) : Shape{1, d_.choose.between(1, 5)};
    state_ = d_.input("h", d_.always(shape));
    d_.keep(state_);
    const ValueId mixed =
        is_like ? state_
                : d_.op("ReduceMean", {state_}, d_.always({}), {{"keepdims", std::int64_t{0}}});
    d_.keep(d_.op(d_.choose.coin() ? "Add" : "Mul", {x, mixed}, d_.shapes_of(x)));
  }

  /// A value of the shape of the state, between -1 and 1.
  ValueId next_state() {
    for (auto value = d_.values.rbegin(); value != d_.values.rend(); ++value) {
      if (d_.graph.producer(*value) && d_.shapes_of(*value) == d_.shapes_of(state_)) {
        return d_.op("Tanh", {*value}, d_.shapes_of(state_));
      }
    }
    const ValueId mean =
        d_.op("ReduceMean", {d_.values.back()}, d_.always({}), {{"keepdims", std::int64_t{0}}});
    const ValueId sum = d_.op("Add", {state_, mean}, d_.shapes_of(state_));
    return d_.op("Tanh", {sum}, d_.shapes_of(state_));
  }

  std::vector<ValueId> draw_outputs() {
    std::vector<ValueId> outputs{d_.values.back()};
    if (d_.choose.rarely(4)) {
      const ValueId other = d_.any();
      if (other != outputs[0] && d_.graph.producer(other)) {
        outputs.push_back(other);
      }
    }
    if (!d_.graph.producer(outputs[0])) {
      outputs = {d_.op("Relu", {outputs[0]}, d_.shapes_of(outputs[0]))};
    }
    return outputs;
  }

  Drawing d_;
  Network network_;
  ValueId state_;
};

/// Whether the model is read as this network for such a sample, too.
bool is_the_same(const Graph& read, const std::map<std::string, Tensor>& sample) {
  std::vector<Tensor> inputs;
  for (const ValueId id : read.inputs()) {
    const auto found = sample.find(read.name(id));
    const TensorType& type = read.type(id);
    inputs.push_back(found == sample.end() ? Tensor(type.dtype, type.shape) : found->second);
  }
  try {
    (void)test::for_shapes_of(read, inputs);
    return true;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kUnsupported) {
      return false;
    }
    throw;
  }
}

}  // namespace

NetworkKind kind_of(std::int64_t number) {
  return {.has_inner_graphs = (number & 1) != 0,
          .has_sequences = (number & 2) != 0,
          .has_open_extents = (number & 4) != 0,
          .has_state = (number & 8) != 0,
          .has_other_layers = number != 0};
}

Network any_network(Choices& choices, const NetworkKind& kind) {
  return NetworkDrawing(choices, kind).draw();
}

std::unique_ptr<Dataset> samples_of(const Network& network) {
  if (network.graph.type(network.graph.inputs()[0]).shape[0] != 1 ||
      leaves_extents_open(network.graph)) {
    return std::make_unique<test::SamplesOfSeveralShapes>(network.samples);
  }
  std::map<std::string, Tensor> all;
  for (const auto& [name, samples] : network.samples) {
    Shape shape = samples[0].shape();
    shape[0] = static_cast<std::int64_t>(samples.size());
    std::vector<float> values;
    for (const Tensor& sample : samples) {
      const auto part = sample.view<float>();
      values.insert(values.end(), part.begin(), part.end());
    }
    all.emplace(name, Tensor::of<float>(shape, values));
  }
  return std::make_unique<test::SamplesInMemory>(std::move(all));
}

void leave_out_others(Network& network, const Graph& read) {
  std::map<std::string, std::vector<Tensor>> kept;
  for (std::size_t i = 0; i < network.samples.begin()->second.size(); ++i) {
    std::map<std::string, Tensor> sample;
    for (const auto& [name, all] : network.samples) {
      sample.emplace(name, all[i]);
    }
    if (test::takes(read, sample) && is_the_same(read, sample)) {
      for (auto& [name, tensor] : sample) {
        kept[name].push_back(std::move(tensor));
      }
    }
  }
  network.samples = std::move(kept);
}

void draw_step(Drawing& d) {
  const ValueId x = d.any();
  std::optional<ValueId> result;
  if (d.kind.has_inner_graphs && d.choose.rarely(4)) {
    result = inner_layer(d, x);
  } else if (d.kind.has_sequences && d.rank_of(x) == 3 && d.choose.coin()) {
    result = sequence_layer(d, x);
  } else if (d.kind.has_open_extents && d.choose.rarely(4)) {
    result = layer_of_extents(d, x);
  } else if (d.kind.has_other_layers && d.choose.rarely(4)) {
    result = other_layer(d, x);
  } else {
    result = any_layer(d, x);
  }
  if (result) {
    d.keep(*result);
  }
}

}  // namespace tare::fuzz
