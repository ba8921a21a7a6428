// Runs the samples through a quantized model, and compares each unit of the Lark, integer by
// integer, with what Tare computes for it.
//
//   lark_check MODEL.onnx LARK.yaml LARK.so SAMPLES.h5 COUNT
#include "reference.h"

#include <cstdlib>
#include <exception>
#include <iostream>

#include <tare/tare.h>

using namespace tare;

int main(int, char** arguments) try {
  Toolkit toolkit = Toolkit::builtin();
  load_plugins({arguments[3]}, toolkit);
  Config config;
  config.target = arguments[2];
  const Target target = target_of(config, toolkit);
  const auto data = open_dataset(arguments[4]);
  const Graph integer = lower_quantized(load_model(arguments[1], {}, data.get()),
                                        read_file_metadata(arguments[1]), config, toolkit);
  std::vector<OffloadPattern> units;
  for (const FusedUnit& unit : target.units) {
    units.push_back({unit.name, parse_pattern(unit.pattern)});
  }
  const std::vector<OffloadRegion> regions = partition(integer, units);
  std::vector<ValueId> seen;
  for (const OffloadRegion& region : regions) {
    seen.insert(seen.end(), region.inputs.begin(), region.inputs.end());
    seen.insert(seen.end(), region.outputs.begin(), region.outputs.end());
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
    for (const OffloadRegion& region : regions) {
      std::map<ValueId, lark::Integers> known;
      for (const ValueId input : region.inputs) {
        known[input] = results[next++].to_int64();
      }
      lark::Unit unit(integer, known);
      std::for_each(region.nodes.begin(), region.nodes.end(), [&](NodeId id) { unit.run(id); });
      for (const ValueId output : region.outputs) {
        const lark::Integers expected = results[next++].to_int64();
        if (known.at(output) != expected) {
          std::cerr << "unit '" << integer.name(output) << "' differs\n";
          return 1;
        }
        compared += expected.size();
      }
    }
  }
  std::cout << regions.size() << " units, " << count << " samples, " << compared
            << " integers: equal\n";
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
