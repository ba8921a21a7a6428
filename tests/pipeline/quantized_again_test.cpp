#include "tare/onnx.h"

#include "io/folder.h"
#include "lower/same_structure.h"
#include "pipeline/digits.h"

#include <gtest/gtest.h>

namespace tare {
namespace {

class QuantizedAgain : public InFolder {
 protected:
  /// The integer graph of the file that holds `qdq`.
  Graph integer_of(const Graph& qdq) const {
    write_onnx(qdq, path("q.onnx"));
    return lower_qdq(load_model(path("q.onnx"), {}, nullptr), {}, Toolkit::builtin());
  }
};

TEST_F(QuantizedAgain, OurFilesGiveTheIntegerGraphTheyCameFrom) {
  const Digits digits;
  for (const char* setting : {"weights.granularity=per_axis", "weights.granularity=per_tensor",
                              "activations.storage=int8"}) {
    const Config config = read_config({}, {setting}, Toolkit::builtin().calibrator_names());
    const QuantizeResult result =
        quantize(digits.model, *digits.data, config, Toolkit::builtin(), {.samples = 20});
    const Graph again = integer_of(result.qdq);
    EXPECT_EQ(testing::SameStructure(result.integer, again).difference(), "")
        << print(result.integer, 8) << print(again, 8);
  }
}

}  // namespace
}  // namespace tare
