// Tables, and what is made of them.

#include "tare/config.h"
#include "tare/quant_table.h"
#include "tare/quantize.h"

#include "fuzz/models.h"
#include "fuzz/scratch.h"
#include "fuzz/target.h"

namespace tare::fuzz {
namespace {

Config configuration() {
  Config config;
  config.objective = Objective::kCoverage;
  return config;
}

File written(const QuantizeResult& result) {
  write_table(Scratch::path("written.yaml"), result);
  return Scratch::read(Scratch::path("written.yaml"));
}

std::vector<File> seeds() {
  std::vector<File> result;
  for (const Effort effort : {Effort::kFast, Effort::kDefault}) {
    Config config = configuration();
    config.effort = effort;
    result.push_back(
        written(quantize(small_network(), small_samples(), config, Toolkit::builtin())));
  }
  return result;
}

void run(Bytes bytes) {
  const TableFile file(Scratch::write("table.yaml", bytes));
  (void)file.inputs();
  const QuantizeResult result =
      quantize(small_network(), file, configuration(), Toolkit::builtin());
  must("binding", [&] { return tare::bind(result.simulated, result.table); });
  must("running", [&] { run_once(result.integer); });
  const File text = must("writing", [&] { return written(result); });
  const QuantizeResult again = must("reading what was written", [&] {
    return quantize(small_network(), TableFile(Scratch::path("written.yaml")), configuration(),
                    Toolkit::builtin());
  });
  require(again.integer == result.integer, "another graph the second time");
  require(written(again) == text, "other bytes the second time");
}

}  // namespace

FuzzTarget fuzz_table() {
  return {"table", seeds, run};
}

}  // namespace tare::fuzz
