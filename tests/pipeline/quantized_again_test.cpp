#include "tare/onnx.h"

#include "io/folder.h"
#include "lower/same_structure.h"
#include "pipeline/digits.h"

#include <gtest/gtest.h>

namespace tare {
namespace {

class QuantizedAgain : public InFolder {
 protected:
  /// The integer graph of the file that holds `quantized`.
  Graph integer_of(const Graph& quantized) const {
    write_onnx(quantized, path("q.onnx"));
    return lower_quantized(load_model(path("q.onnx"), {}, nullptr), {}, Toolkit::builtin());
  }
};

TEST_F(QuantizedAgain, OurFilesGiveTheIntegerGraphTheyCameFrom) {
  const Digits digits;
  for (const char* setting : {"weights.granularity=per_axis", "weights.granularity=per_tensor",
                              "activations.storage=int8"}) {
    const Config config = read_config({}, {setting}, Toolkit::builtin().calibrator_names());
    const QuantizeResult result =
        quantize(digits.model, *digits.data, config, Toolkit::builtin(), {.samples = 20});
    for (const Form form : {Form::kQdq, Form::kQoperator, Form::kInteger}) {
      const Graph again = integer_of(export_form(result.integer, form));
      EXPECT_EQ(testing::SameStructure(result.integer, again).difference(), "")
          << setting << print(result.integer, 8) << print(again, 8);
    }
  }
}

}  // namespace
}  // namespace tare
