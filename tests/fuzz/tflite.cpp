// Models of TensorFlow Lite.

#include "tare/quantize.h"

#include "fuzz/models.h"
#include "fuzz/target.h"
#include "tflite/import.h"
#include "tflite/row_cases.h"

namespace tare::fuzz {
namespace {

std::vector<File> seeds() {
  std::vector<File> result{test::small_quantized_network(), test::small_moving_network(),
                           test::small_float_network()};
  for (const test::RowCase& row : test::row_cases()) {
    result.push_back(test::file_of(row));
  }
  return result;
}

void run(Bytes bytes) {
  Graph graph = tflite::import_model(tflite::ModelFile({bytes.begin(), bytes.end()}));
  must("verifying what was read", [&] { verify(graph); });
  if (elements(graph) > kFew) {
    return;
  }
  if (is_quantized(graph)) {
    graph = lower_quantized(std::move(graph), {}, Toolkit::builtin());
    must("verifying what was lowered", [&] { verify(graph); });
  }
  run_once(graph);
}

}  // namespace

FuzzTarget fuzz_tflite() {
  return {"tflite", seeds, run};
}

}  // namespace tare::fuzz
