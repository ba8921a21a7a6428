// Scales of a legal model may be so far apart that their quotient is infinite in float32.
// Whatever the numerics: the zero point stays, and what is above it saturates, or the node is
// refused.
#include "tare/error.h"
#include "tare/execute.h"
#include "tare/graph.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

struct Operation {
  const char* name;
  const char* text;        ///< between `=` and the attributes
  const char* attributes;  ///< without numerics
};

class FarScales
    : public ::testing::TestWithParam<std::tuple<Operation, const char*, const char*>> {};

TEST_P(FarScales, KeepTheZeroPointAndSaturateAboveIt) {
  const auto& [operation, numerics, type] = GetParam();
  const std::string huge = " q(1267650600228229401496703205376, 0)";  // 2^100
  const std::string tiny = " q(7.888609052210118e-31, 3)";            // 2^-100
  std::string text = "graph \"g\" opset 17 (%x : ";
  text.append(type).append("[2,1,1,1]").append(huge).append(") -> (%y) {\n%y = ");
  text.append(operation.text).append(" {").append(operation.attributes).append("numerics=\"");
  text.append(numerics).append("\"} : ").append(type).append("[2,1,1,1]").append(tiny);
  text.append("\n}");
  const Graph graph = parse(text);
  Tensor input(graph.type(graph.inputs()[0]).dtype, {2, 1, 1, 1});
  input.mutable_data()[1] = std::byte{1};
  const std::vector<Tensor> inputs{input};
  try {
    const auto result = Executable(graph).run(inputs)[0].to_int64();
    EXPECT_EQ(result,
              (std::vector<std::int64_t>{3, input.dtype() == DType::kInt8 ? 127 : 255}));
  } catch (const Error& error) {
    EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, FarScales,
    ::testing::Combine(
        ::testing::Values(Operation{"LeakyRelu", "LeakyRelu(%x)", "alpha=0.1, "},
                          Operation{"HardSwish", "HardSwish(%x)", ""},
                          Operation{"Tanh", "Tanh(%x)", ""},
                          Operation{"Mul", "Mul(%x, %x)", ""},
                          Operation{"Add", "Add(%x, %x)", ""},
                          Operation{"PRelu", "PRelu(%x, %x)", ""},
                          Operation{"Concat", "Concat(%x)", "axis=1, "},
                          Operation{"ReduceMean", "ReduceMean(%x)", "axes=[2,3], "},
                          Operation{"MeanOfChannels", "ReduceMean(%x)", "axes=[1], "}),
        ::testing::Values("onnx", "tflite_ref", "tflite_builtin", "tflite_xnn", "tvm_upward",
                          "tvm_tonearest"),
        ::testing::Values("i8", "u8")),
    [](const auto& info) {
      return std::string(std::get<0>(info.param).name) + "_" + std::get<1>(info.param) + "_" +
             std::get<2>(info.param);
    });

}  // namespace
}  // namespace tare::test
