// Runs the samples through a quantized model, and compares each unit of the Lark, integer by
// integer, with what Tare computes for it.
//
//   lark_check MODEL.onnx LARK.yaml LARK.so SAMPLES.h5 COUNT
#include "reference.h"

#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>

#include <tare/tare.h>

using namespace tare;

namespace {

/// What the device runs at once: nodes of a graph, and what its operands and results are called
/// in the network around it.
struct Piece {
  std::shared_ptr<const Graph> graph;
  std::vector<NodeId> nodes;
  std::vector<ValueId> inputs, outputs;  ///< of `graph`
  std::vector<ValueId> read, written;    ///< of the network, in the same order

  bool convolves() const {
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](NodeId id) { return graph->node(id).op == "Conv"; });
  }
};

/// An operator of the file, which holds the graph that it stands for.
Piece piece_of(const Node& node) {
  const auto body = std::make_shared<const Graph>(parse(node.attributes.text("body")));
  return {body,
          body->topological_order(),
          {body->inputs().begin(), body->inputs().end()},
          {body->outputs().begin(), body->outputs().end()},
          node.inputs,
          node.outputs};
}

/// The units that are operators of the file, and those among its other operators.
std::vector<Piece> pieces_of(const Graph& integer, const Target& target) {
  std::vector<Piece> pieces;
  for (const NodeId id : integer.nodes()) {
    if (integer.node(id).op == "Region") {
      pieces.push_back(piece_of(integer.node(id)));
    }
  }
  const auto whole = std::make_shared<const Graph>(integer);
  std::vector<OffloadPattern> units;
  for (const FusedUnit& unit : target.units) {
    units.push_back({unit.name, parse_pattern(unit.pattern)});
  }
  for (const OffloadRegion& region : partition(integer, units)) {
    pieces.push_back(
        {whole, region.nodes, region.inputs, region.outputs, region.inputs, region.outputs});
  }
  return pieces;
}

}  // namespace

int main(int, char** arguments) try {
  Toolkit toolkit = Toolkit::builtin();
  load_plugins({arguments[3]}, toolkit);
  Config config;
  config.target = arguments[2];
  const auto data = open_dataset(arguments[4]);
  const Graph integer = lower_quantized(load_model(arguments[1], {}, data.get()),
                                        read_file_metadata(arguments[1]), config, toolkit);
  const std::vector<Piece> pieces = pieces_of(integer, target_of(config, toolkit));
  std::vector<ValueId> seen;
  for (const Piece& piece : pieces) {
    seen.insert(seen.end(), piece.read.begin(), piece.read.end());
    seen.insert(seen.end(), piece.written.begin(), piece.written.end());
  }
  Graph watched = integer;
  watched.set_outputs(seen);
  const Executable executable(watched);
  const auto count =
      std::min<std::size_t>(std::strtoul(arguments[5], nullptr, 10), data->size());
  std::size_t compared = 0;
  for (std::size_t sample = 0; sample < count; ++sample) {
    std::vector<Tensor> inputs;
    for (const ValueId input : integer.inputs()) {
      inputs.push_back(data->read(integer.name(input), sample, 1));
    }
    const std::vector<Tensor> results = executable.run(inputs);
    std::size_t next = 0;
    for (const Piece& piece : pieces) {
      std::map<ValueId, lark::Integers> known;
      for (const ValueId input : piece.inputs) {
        known[input] = results[next++].to_int64();
      }
      lark::Unit unit(*piece.graph, known);
      std::for_each(piece.nodes.begin(), piece.nodes.end(), [&](NodeId id) { unit.run(id); });
      for (const ValueId output : piece.outputs) {
        const lark::Integers expected = results[next++].to_int64();
        if (known.at(output) != expected) {
          std::cerr << "unit '" << piece.graph->name(output) << "' differs\n";
          return 1;
        }
        compared += expected.size();
      }
    }
  }
  const auto convolving =
      std::count_if(pieces.begin(), pieces.end(), [](const Piece& p) { return p.convolves(); });
  std::cout << pieces.size() << " units, " << convolving << " with convolutions, " << count
            << " samples, " << compared << " integers: equal\n";
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
