// Any small network, any samples, any configuration: what is quantized is what was to be.

#include "tare/quantize.h"

#include "tare/config.h"
#include "tare/execute.h"
#include "tare/integer_graph.h"
#include "tare/model_files.h"

#include "execute/run/feed.h"
#include "fuzz/envelope.h"
#include "fuzz/network.h"
#include "fuzz/scratch.h"
#include "fuzz/settings.h"
#include "support/other_shapes.h"
#include "support/same_structure.h"

#include <algorithm>
#include <random>

namespace tare::fuzz {
namespace {

std::vector<File> seeds() {
  std::vector<File> result;
  std::mt19937 random(1);
  for (std::size_t i = 0; i < 60; ++i) {
    File file(20 + 4 * i);
    std::generate(file.begin(), file.end(), [&] { return static_cast<std::byte>(random()); });
    result.push_back(file);
  }
  return result;
}

struct Case {
  Graph network;
  Config config;
  std::unique_ptr<Dataset> data;
};

QuantizeResult quantized(const Case& c, int threads) {
  return tare::quantize(c.network, *c.data, c.config, Toolkit::builtin(), {.threads = threads});
}

File table_of(const QuantizeResult& result) {
  write_table(Scratch::path("table.yaml"), result);
  return Scratch::read(Scratch::path("table.yaml"));
}

/// The same with another number of threads, and from the table that was written.
void require_the_same_again(const Case& c, const QuantizeResult& result) {
  const QuantizeResult other =
      must("quantizing with two threads", [&] { return quantized(c, 2); });
  require(other.table == result.table, "another table with two threads");
  require(other.integer == result.integer, "another graph with two threads");
  const File text = table_of(result);
  const QuantizeResult again = must("quantizing by the table", [&] {
    return tare::quantize(c.network, TableFile(Scratch::path("table.yaml")), c.config,
                          Toolkit::builtin());
  });
  require(print(again.integer) == print(result.integer), "another graph by the table");
  require(table_of(again) == text, "another table by the table");
}

void require_held(const std::vector<Envelope>& bounds, const std::vector<Tensor>& results,
                  const std::string& what) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].dtype() == DType::kFloat32) {
      const auto outside = first_outside(bounds[i], results[i]);
      require(outside.empty(),
              what + " leaves the bounds of result " + std::to_string(i) + ": " + outside);
    }
  }
}

/// Integers against the simulation of them, and that against the float network.
void require_close(const Case& c, const QuantizeResult& result) {
  const Graph bound =
      must("binding", [&] { return tare::bind(result.simulated, result.table); });
  const Executable integer =
      must("making integers ready", [&] { return Executable(result.integer); });
  const Executable simulated = must("making it ready", [&] { return Executable(bound); });
  const Executable real =
      must("making it ready", [&] { return Executable(result.simulated.source); });
  const RequantizeMode& mode = result.simulated.arithmetic.usual.requantize;
  const std::size_t count = std::min<std::size_t>(c.data->size(), 3);
  for (std::size_t i = 0; i < count; ++i) {
    const std::vector<Tensor> inputs = Feed(bound, *c.data, 0).read(i);
    const Graph here = test::for_shapes_of(bound, inputs);
    const auto ties = envelopes(here, result.table, mode, Difference::kTies, inputs);
    require_held(ties, simulated.run(inputs), "the simulated graph");
    require_held(ties, integer.run(inputs), "the integer graph");
    require_held(envelopes(here, result.table, mode, Difference::kRounding, inputs),
                 real.run(inputs), "the float graph");
  }
}

/// Files cannot say that a product of dequantized values is to stay in float.
bool has_float_product_of_integers(const Graph& integer) {
  const auto is_dequantized = [&](ValueId value) {
    const auto producer = integer.producer(value);
    return producer && integer.node(*producer).op == "Dequantize";
  };
  const std::vector<NodeId> nodes = integer.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) {
    const Node& node = integer.node(id);
    const bool is_product = node.op == "MatMul" || node.op == "Gemm" || node.op == "Conv" ||
                            node.op == "ConvTranspose";
    return is_product && is_dequantized(node.inputs[0]) && is_dequantized(node.inputs[1]);
  });
}

void require_read_back(const Case& c, const QuantizeResult& result) {
  const auto file = Scratch::path("exported.onnx");
  for (const Form form : {Form::kQdq, Form::kQoperator, Form::kInteger}) {
    const std::string name = "form " + std::to_string(static_cast<int>(form));
    const Graph exported = must(name, [&] { return export_form(result.integer, form); });
    must("writing " + name, [&] { write_onnx(exported, file, file_metadata(result)); });
    const Graph read =
        must("reading " + name, [&] { return load_model(file, {}, c.data.get()); });
    const Graph again = must("lowering " + name, [&] {
      return lower_quantized(read, c.config, Toolkit::builtin());
    });
    const std::string difference = test::structural_difference(result.integer, again);
    require(difference.empty() || has_float_product_of_integers(result.integer),
            name + " reads back as another graph: " + difference + "\n" +
                (difference.empty() ? "" : print(again)));
    const Target target = read_target(c.config.target);
    must("writing for the target",
         [&] { write_onnx(export_form(result.integer, form, target), file); });
    const Graph own = must("reading what was written for the target",
                           [&] { return load_model(file, {}, c.data.get()); });
    must("running it", [&] { return Executable(own).run(Feed(own, *c.data, 0).read(0)); });
  }
}

/// As a file says it where extents are open, as it is what makes a graph for others, and where
/// nodes hold graphs, of which a file may make less.
Graph read_back(const Graph& network, const Dataset& data) {
  const auto file = Scratch::path("network.onnx");
  must("writing the network", [&] { write_onnx(network, file); });
  return must("reading the network", [&] { return load_model(file, {}, &data); });
}

void run(Bytes bytes) {
  Choices choices(bytes);
  std::vector<std::string> settings = any_settings(choices);
  const std::int64_t number = choices.below(16);
  if (number != 0 && choices.coin()) {
    settings.emplace_back("objective=coverage");  // else little is quantized in small networks
  }
  Config config = read_config({}, settings, Toolkit::builtin().calibrator_names());
  const NetworkKind kind = kind_of(number);
  Network network = any_network(choices, kind);
  must("verifying the network", [&] { verify(network.graph); });
  Graph graph = kind.has_open_extents || kind.has_inner_graphs
                    ? read_back(network.graph, *samples_of(network))
                    : network.graph;
  leave_out_others(network, graph);
  std::unique_ptr<Dataset> data = samples_of(network);
  if (!network.state.empty()) {
    config.state = network.state;
    config.steps = choices.between(1, 4);
    data = with_states(graph, std::move(data), config, 1);
  }
  const Case c{std::move(graph), config, std::move(data)};
  const QuantizeResult result = quantized(c, 1);
  try {
    must("verifying what was quantized", [&] { verify(result.integer); });
    require_close(c, result);
    require_the_same_again(c, result);
    require_read_back(c, result);
  } catch (const Finding& finding) {
    std::string text = finding.what();
    for (const std::string& setting : settings) {
      text += "\n--set " + setting;
    }
    const Graph bound = tare::bind(result.simulated, result.table);
    throw Finding(text + "\n" + print(c.network) + print(bound) + print(result.integer));
  }
}

}  // namespace

FuzzTarget fuzz_quantize() {
  return {"quantize", seeds, run};
}

}  // namespace tare::fuzz
