// In which floating types operators are written, against the schemas of the onnx library.
#include "tare/execute.h"

#include "graph/operators/float_types.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <onnx/defs/schema.h>

namespace tare::test {
namespace {

using Constraint = std::vector<std::string>;

constexpr int kOldestWritten = 13;
constexpr int kNewestOfLibrary = 17;

bool has(const Constraint& types, const std::string& type) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

/// The types of what the operator computes on, which float32 is one of.
std::vector<Constraint> real_types(const onnx::OpSchema& schema) {
  std::vector<Constraint> result;
  for (const auto& constraint : schema.typeConstraintParams()) {
    // Mean and deviation of LayerNormalization, float32 always, have a parameter of their own.
    const bool is_statistic =
        schema.Name() == "LayerNormalization" && constraint.type_param_str == "U";
    if (has(constraint.allowed_type_strs, "tensor(float)") && !is_statistic) {
      result.push_back(constraint.allowed_type_strs);
    }
  }
  return result;
}

TEST(OperatorTypes, AreAmongThoseOfTheSchema) {
  const std::map<DType, std::string> names{{DType::kFloat16, "tensor(float16)"},
                                           {DType::kBfloat16, "tensor(bfloat16)"},
                                           {DType::kFloat64, "tensor(double)"}};
  int tried = 0;
  for (const std::string& op : executable_ops()) {
    const Node node{.name = "n", .op = op, .outputs = {ValueId{}}};
    for (int opset = kOldestWritten; opset <= kNewestOfLibrary; ++opset) {
      const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(op, opset, "");
      if (schema == nullptr || schema->Deprecated()) {
        continue;
      }
      for (const Constraint& types : real_types(*schema)) {
        for (const auto& [dtype, name] : names) {
          if (computes_in(node, dtype, opset)) {
            EXPECT_TRUE(has(types, name)) << op << " of opset " << opset << ", " << name;
            ++tried;
          }
        }
      }
    }
  }
  EXPECT_GT(tried, 1000);
}

}  // namespace
}  // namespace tare::test
