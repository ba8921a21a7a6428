// Walks a quantized network as the code generator of an accelerator would: one line for each
// region, with the integers that its kernel needs, and for each node that stays on the host.
//
//   offload QUANTIZED
//   offload FLOAT SAMPLES.h5
//
// Models are ONNX or TensorFlow Lite.

#include "tare/arithmetic.h"
#include "tare/config.h"
#include "tare/dataset.h"
#include "tare/graph.h"
#include "tare/integer_graph.h"
#include "tare/quantize.h"

#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace {

using namespace tare;

/// What lies in device memory, numbered in the order in which it is written.
using Buffers = std::map<ValueId, std::size_t>;

Graph integer_graph(const std::vector<std::string>& arguments) {
  Config config;
  config.requantize.rounding = RequantizeRounding::kUpward;  // in fixed point
  if (arguments.size() == 1) {
    return lower_quantized(load_model(arguments[0], {}, nullptr), config, Toolkit::builtin());
  }
  const auto data = open_dataset(arguments[1]);
  const Graph model = load_model(arguments[0], {}, data.get());
  return quantize(model, *data, config, Toolkit::builtin()).integer;
}

/// Of parameters for each channel the first ones, and how many there are.
std::string parameters(const QuantParams& quant) {
  QuantParams first = quant;
  first.axis.reset();
  first.scale = {first.scale[0]};
  first.zero_point = {first.zero_point[0]};
  return to_string(first) + (quant.per_axis() ? " x" + std::to_string(quant.scale.size()) : "");
}

std::string described(const Graph& graph, ValueId value, const Buffers& buffers) {
  const TensorType& type = graph.type(value);
  const auto buffer = buffers.find(value);
  return (buffer != buffers.end() ? "%" + std::to_string(buffer->second) + " " : "") +
         std::string(name_of(type.dtype)) + to_string(type.shape) +
         (type.quant ? " " + parameters(*type.quant) : "");
}

std::string described(const Graph& graph, const std::vector<ValueId>& values,
                      const Buffers& buffers) {
  std::string text;
  for (const ValueId value : values) {
    text += (text.empty() ? "" : ", ") + described(graph, value, buffers);
  }
  return text;
}

/// How accumulators become storage values: times an integer, then shifted to the right.
std::string rescaling(const Graph& graph, const Node& requantize) {
  const auto& from = graph.type(requantize.inputs[0]).quant->scale;
  const auto to = static_cast<double>(graph.type(requantize.outputs[0]).quant->scale[0]);
  const auto [significand, exponent] = fixed_point_factor(static_cast<double>(from[0]) / to);
  return "  * " + std::to_string(significand) + " >> " + std::to_string(31 - exponent) +
         (from.size() > 1 ? " x" + std::to_string(from.size()) : "");
}

void write_region(const Graph& graph, const OffloadRegion& region, const Buffers& buffers) {
  std::string ops;
  std::string factor;
  for (const NodeId id : region.nodes) {
    const Node& node = graph.node(id);
    ops += (ops.empty() ? "" : "+") + node.op;
    if (node.op == "Requantize") {
      factor = rescaling(graph, node);
    }
  }
  std::vector<ValueId> operands = region.inputs;
  operands.insert(operands.end(), region.constants.begin(), region.constants.end());
  std::cout << "device  " << described(graph, region.outputs, buffers) << " = " << ops << "("
            << described(graph, operands, buffers) << ")" << factor << '\n';
}

void write_host_node(const Graph& graph, const Node& node, const Buffers& buffers) {
  std::vector<ValueId> operands;
  for (const ValueId operand : node.inputs) {
    if (operand) {
      operands.push_back(operand);
    }
  }
  std::cout << "host    " << described(graph, node.outputs, buffers) << " = " << node.op << "("
            << described(graph, operands, buffers) << ")\n";
}

void generate(const Graph& graph) {
  const std::vector<OffloadRegion> regions = partition(graph, integer_patterns());
  std::map<NodeId, const OffloadRegion*> region_of;
  for (const OffloadRegion& region : regions) {
    for (const NodeId node : region.nodes) {
      region_of[node] = &region;
    }
  }
  Buffers buffers;
  const auto add_buffers = [&](const auto& values) {
    for (const ValueId value : values) {
      buffers.emplace(value, buffers.size());
    }
  };
  add_buffers(graph.inputs());
  std::size_t on_host = 0;
  for (const NodeId id : graph.topological_order()) {
    const auto found = region_of.find(id);
    if (found == region_of.end()) {
      ++on_host;
      add_buffers(graph.node(id).outputs);
      write_host_node(graph, graph.node(id), buffers);
    } else if (found->second->match.root() == id) {
      add_buffers(found->second->outputs);
      write_region(graph, *found->second, buffers);
    }
  }
  std::cout << "regions on the device: " << regions.size() << ", nodes on the host: " << on_host
            << '\n';
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2 || count > 3) {
    std::cerr << "usage: offload QUANTIZED.onnx | offload FLOAT.onnx SAMPLES.h5\n";
    return EXIT_FAILURE;
  }
  try {
    generate(integer_graph({arguments + 1, arguments + count}));
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
