// Configurations, in files and on the command line.
#include "tare/config.h"

#include "tare/quantize.h"
#include "tare/simulate.h"

#include "equalize/equalize.h"
#include "fuzz/models.h"
#include "fuzz/scratch.h"
#include "fuzz/target.h"

#include <algorithm>

namespace tare::fuzz {
namespace {

/// A file, and after each byte of 0 a text of `--set`.
std::vector<File> seeds() {
  using namespace std::string_literals;
  std::vector<File> result;
  result.push_back(
      Scratch::read(std::filesystem::path(TARE_SOURCE_DIR) / "configs/default.yaml"));
  for (const std::string& text : {
           "layers:\n- {match: {op: Conv, name: 'a*?'}, keep_float: true}\n"
           "- {match: {pattern: \"Add(Relu|@Conv(any, constant), Mul?(computed))\"}, "
           "weights: {bits: 4, granularity: per_tensor}}\n"s,
           "activations: {calibrator: {name: percentile, percentile: 99.9}}\n"s,
           "objective: size\nrequantize: {rounding: tflite_double}\ndims: {batch: 2}\n"s,
           "accumulator: {bits: 16, overflow: wrap, avoid_overflow: true}\nplugins: [a.so]\n"s,
           "\0target=qnn\0layers=[{match: {op: Add}, weights: {storage: int8}}]"s,
           "version: 1\n\0activations.calibrator=kl\0calibration.samples=10"s,
       }) {
    result.push_back(file_of(text));
  }
  return result;
}

void run(Bytes bytes) {
  const std::string all = text_of(bytes);
  const std::size_t end = std::min(all.find('\0'), all.size());
  std::vector<std::string> overrides;
  for (std::size_t first = end; first < all.size();) {
    const std::size_t next = std::min(all.find('\0', first + 1), all.size());
    overrides.push_back(all.substr(first + 1, next - first - 1));
    first = next;
  }
  const auto path = Scratch::write("config.yaml", bytes.first(end));
  const Toolkit& toolkit = Toolkit::builtin();
  const Config config = read_config(path, overrides, toolkit.calibrator_names());
  must("reading the plug-ins", [&] { return read_plugins(path, overrides); });
  static const Graph prepared = prepare(small_network(), toolkit);
  const Target target = must("the target", [&] { return read_target(config.target); });
  (void)simulate(prepared, config, target, toolkit.patterns);
}

}  // namespace

FuzzTarget fuzz_config() {
  return {"config", seeds, run};
}

}  // namespace tare::fuzz
