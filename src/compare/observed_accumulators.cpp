// The sum of the positive products and that of the negative ones bound every partial sum, in
// whatever order. With S the sum of all products and A that of their magnitudes they are
// (S + A) / 2 and (S - A) / 2, so a product of magnitudes runs beside each product.
//
// That costs several times what running the graph does, so reports look at some samples only.

#include "tare/graph.h"
#include "tare/integer_graph.h"

#include "base/bytes.h"
#include "calibrate/statistics/shares.h"
#include "execute/run/sample_driver.h"
#include "graph/arithmetic/node_arithmetic.h"
#include "graph/arithmetic/storage_type.h"
#include "graph/operators/product.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>

namespace tare {
namespace {

/// One product of the graph, and where its S (bias included) and its A are shown.
struct Watched {
  NodeId node;
  ValueId sums;
  ValueId magnitudes;
  std::vector<std::int32_t> bias;    ///< one number in all, or for each result
  std::size_t elements_of_bias = 1;  ///< neighbours with the same one
};

class WatchedGraph {
 public:
  explicit WatchedGraph(const Graph& integer) : graph(integer) {
    for (const NodeId id : integer.topological_order()) {
      if (is_integer_product(integer, integer.node(id))) {
        watch(id, integer.node(id));
      }
    }
  }

  std::vector<ValueId> observed() const {
    std::vector<ValueId> values;
    for (const Watched& one : products) {
      values.push_back(one.sums);
      values.push_back(one.magnitudes);
    }
    return values;
  }

  Graph graph;
  std::vector<Watched> products;

 private:
  void watch(NodeId id, const Node& node) {
    Attributes attributes = node.attributes;
    set_accumulator(attributes, {});
    TensorType type = graph.type(node.outputs[0]);
    type.dtype =
        sum_type(graph.type(node.inputs[0]).dtype, graph.type(node.inputs[1]).dtype, {});
    type.quant->storage = type.dtype;
    Watched& added = products.emplace_back();
    added.node = id;
    const bool is_exact =
        !states_accumulator(node.attributes) && graph.type(node.outputs[0]).dtype == type.dtype;
    added.sums = !is_exact ? add(node.op, node.inputs, type, attributes) : node.outputs[0];
    added.magnitudes =
        add(node.op, {magnitude(node.inputs[0]), magnitude(node.inputs[1])}, type, attributes);
    added.bias = {0};
    if (node.inputs.size() > 2 && node.inputs[2]) {
      const auto bias = graph.constant(node.inputs[2])->view<std::int32_t>();
      added.bias.assign(bias.begin(), bias.end());
    }
    const bool has_positions = node.op == "Conv" || node.op == "ConvTranspose";
    for (std::size_t axis = 2; has_positions && axis < type.shape.size(); ++axis) {
      added.elements_of_bias *= static_cast<std::size_t>(type.shape[axis]);
    }
  }

  /// Distances from the zero point, unsigned and of as many bits.
  ValueId magnitude(ValueId factor) {
    if (const auto known = magnitudes_.find(factor); known != magnitudes_.end()) {
      return known->second;
    }
    TensorType type = graph.type(factor);
    const QuantParams params = *type.quant;
    type.dtype = size_of(type.dtype) == 1 ? DType::kUint8 : DType::kUint16;
    type.point.clear();
    type.quant->storage = type.dtype;
    type.quant->narrow_range = false;
    std::ranges::fill(type.quant->zero_point.mutable_view(), 0);
    const Tensor* constant = graph.constant(factor);
    const ValueId result =
        constant == nullptr
            ? add("Abs", {factor}, type, {})
            : graph.add_constant(graph.unique_name(graph.name(factor) + "_magnitude"),
                                 distances(*constant, params, type.dtype), type);
    magnitudes_.emplace(factor, result);
    return result;
  }

  static Tensor distances(const Tensor& storage, QuantParams params, DType dtype) {
    std::ranges::fill(params.scale.mutable_view(), 1.0F);
    Tensor result(dtype, storage.shape());
    const std::vector<float> values = dequantize(storage, params).to_float();
    with_storage(dtype, [&]<class T>(T) {
      std::transform(values.begin(), values.end(), result.mutable_view<T>().begin(),
                     [](float value) { return static_cast<T>(std::abs(value)); });
    });
    return result;
  }

  ValueId add(const std::string& op, std::vector<ValueId> inputs, const TensorType& type,
              Attributes attributes) {
    const std::string name = graph.unique_name(op + "_watched");
    const NodeId node =
        graph.add_node(name, op, std::move(inputs), {{name, type}}, std::move(attributes));
    return graph.node(node).outputs[0];
  }

  std::map<ValueId, ValueId> magnitudes_;
};

template <class Sum>
void include(const Watched& product, std::span<const Sum> s, std::span<const Sum> a,
             SumRange& range) {
  for (std::size_t first = 0; first < s.size(); first += product.elements_of_bias) {
    // Twice the sums of the negative and of the positive terms.
    std::int64_t low = 0;
    std::int64_t high = 0;
    const std::int64_t bias =
        product.bias[first / product.elements_of_bias % product.bias.size()];
    for (std::size_t i = first; i < first + product.elements_of_bias; ++i) {
      const std::int64_t sum = std::int64_t{s[i]} - bias;
      low = std::min(low, sum - a[i]);
      high = std::max(high, sum + a[i]);
    }
    SumRange own{low / 2, high / 2};
    own.add(bias, bias);
    range = {std::min(range.low, own.low), std::max(range.high, own.high)};
  }
}

void include(const Watched& product, const Tensor& sums, const Tensor& magnitudes,
             SumRange& range) {
  with_storage(sums.dtype(), [&]<class Sum>(Sum) {
    include<Sum>(product, sums.view<Sum>(), magnitudes.view<Sum>(), range);
  });
}

/// The state of one worker.
struct WorkerState {
  std::vector<std::optional<Tensor>> first;  ///< S or A of a product, whichever came first
  std::vector<SumRange> ranges;

  void take(const std::vector<Watched>& products, std::size_t index, const TensorView& view) {
    const std::size_t product = index / 2;
    std::optional<Tensor>& other = first[product];
    if (!other) {
      other = view.tensor();
      return;
    }
    const bool is_sums = index % 2 == 0;
    const Tensor own = view.tensor();
    include(products[product], is_sums ? own : *other, is_sums ? *other : own, ranges[product]);
    other.reset();
  }
};

void include(const SumRange& other, SumRange& range) {
  range = {std::min(range.low, other.low), std::max(range.high, other.high)};
}

/// Widens the ranges by what the samples of other processes showed.
void share(Communicator& team, std::vector<AccumulatorRange>& sums) {
  ByteWriter writer;
  for (const AccumulatorRange& own : sums) {
    writer.add(own.range);
  }
  for (const std::string& message : team.gather(writer.take(), Message::kErrors)) {
    ByteReader reader(message);
    for (AccumulatorRange& own : sums) {
      include(reader.get<SumRange>(), own.range);
    }
  }
}

}  // namespace

std::vector<AccumulatorRange> observed_accumulators(
    const Graph& integer, const Dataset& data, int threads, std::size_t samples,
    const std::function<void(std::size_t, std::size_t)>& progress, Communicator* team) {
  const WatchedGraph watched(integer);
  const std::vector<Watched>& products = watched.products;
  const Executable executable(watched.graph, {.observe = watched.observed()});
  const Feed feed = own_feed(integer, data, samples, 0, team);
  SampleDriver driver(executable, threads);
  std::vector<WorkerState> states(driver.workers());
  for (WorkerState& state : states) {
    state.first.resize(products.size());
    state.ranges.resize(products.size());
  }
  PassOptions pass;
  if (progress) {
    pass.progress = [&](std::size_t done) { progress(done, feed.samples()); };
  }
  driver.run(
      feed,
      [&](std::size_t worker, Executable::Workspace& workspace, std::size_t,
          std::span<const Tensor> inputs) {
        (void)executable.run(workspace, inputs, [&](std::size_t index, const TensorView& view) {
          states[worker].take(products, index, view);
        });
      },
      pass);
  std::vector<AccumulatorRange> result;
  for (std::size_t i = 0; i < products.size(); ++i) {
    AccumulatorRange& sums = result.emplace_back(AccumulatorRange{products[i].node, {}});
    for (const WorkerState& state : states) {
      include(state.ranges[i], sums.range);
    }
  }
  if (team != nullptr) {
    share(*team, result);
  }
  return result;
}

}  // namespace tare
