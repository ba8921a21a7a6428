#include "tare/execute.h"
#include "tare/model_files.h"

#include "lower/forms/forms.h"
#include "support/config.h"
#include "support/files/digits.h"
#include "support/files/folder.h"
#include "support/same_structure.h"

#include <gtest/gtest.h>

namespace tare::test {
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
    const Config config = config_with({setting});
    const QuantizeResult result =
        quantize(digits.model, *digits.data, config, Toolkit::builtin(), {.samples = 20});
    for (const Form form : {Form::kQdq, Form::kQoperator, Form::kInteger}) {
      const Graph again = integer_of(export_form(result.integer, form));
      EXPECT_EQ(structural_difference(result.integer, again), "")
          << setting << print(result.integer, 8) << print(again, 8);
    }
  }
}

/// int8 activations become uint8 there, and nothing is rounded once more.
TEST_F(QuantizedAgain, IsWrittenAsTheTargetWantsIt) {
  const Digits digits;
  const Toolkit& toolkit = Toolkit::builtin();
  const auto config = [&](const char* setting) { return config_with({setting}); };
  const Graph first = quantize(digits.model, *digits.data, config("activations.storage=int8"),
                               toolkit, {.samples = 20})
                          .integer;
  write_onnx(to_qdq(first), path("q.onnx"));
  const Graph model = load_model(path("q.onnx"), {}, nullptr);
  const Tensor sample = digits.data->read(digits.data->inputs()[0].name, 0, 1);
  for (const char* target : {"target=ort-cpu", "target=qnn"}) {
    const QuantizeResult again =
        quantize(model, *digits.data, config(target), toolkit, {.samples = 20});
    EXPECT_TRUE(again.table.empty()) << target;
    for (const NodeId id : again.integer.nodes()) {
      const Node& node = again.integer.node(id);
      const auto& quant = again.integer.type(node.outputs[0]).quant;
      EXPECT_FALSE(quant && quant->storage == DType::kInt8) << node.name;
    }
    EXPECT_EQ(Executable(again.integer).run(std::span(&sample, 1)),
              Executable(first).run(std::span(&sample, 1)))
        << target;
  }
}

}  // namespace
}  // namespace tare::test
