// Integer graphs of another origin as a target is to run them.
#include "tare/config.h"
#include "tare/execute.h"
#include "tare/integer_graph.h"

#include "lower/lower.h"
#include "support/random/any_graph.h"

#include <set>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Storage types of values that are neither constants nor inputs nor outputs.
std::set<DType> types_inside(const Graph& integer) {
  std::set<DType> types;
  for (const ValueId value : integer.values()) {
    const TensorType& type = integer.type(value);
    const bool is_inside = !integer.is_input(value) && !integer.is_output(value) &&
                           integer.constant(value) == nullptr;
    if (is_inside && type.quant && size_of(type.dtype) == 1) {
      types.insert(type.dtype);
    }
  }
  return types;
}

class AnyTarget : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(AnyTarget, GetsTheSameResults) {
  FakeQuantizedBuilder b(GetParam());
  const Graph integer = lower(any_graph(b));
  for (const char* name : {"ort-cpu", "tensorrt"}) {
    const Target target = read_target(name);
    const Graph moved = for_target(integer, target);
    EXPECT_EQ(Executable(moved).run(b.samples), Executable(integer).run(b.samples))
        << name << '\n'
        << print(integer, 8) << print(moved, 8);
  }
}

INSTANTIATE_TEST_SUITE_P(Random, AnyTarget, ::testing::Range(0U, 100U));

/// Storage values that something takes for the integers they are.
constexpr const char* kTakenForIntegers =
    "graph \"g\" opset 17 (%x : i8[4] q(0.5, 3)) -> (%y, %n) {\n"
    "%s = Add(%x, %x) : i8[4] q(1, 3)\n"
    "%y = Relu(%s) : i8[4] q(1, 3)\n"
    "%n = Cast(%s) {to=6} : i32[4]\n}";

TEST(ForTarget, LeavesWhatIsTakenForIntegers) {
  const Graph integer = parse(kTakenForIntegers);
  const Graph moved = for_target(integer, read_target("ort-cpu"));
  EXPECT_EQ(types_inside(integer), std::set<DType>{DType::kInt8});
  EXPECT_TRUE(types_inside(moved).contains(DType::kUint8));
  const Tensor x = Tensor::of<std::int8_t>({4}, std::vector<std::int8_t>{-128, -5, 3, 127});
  EXPECT_EQ(Executable(moved).run(std::span(&x, 1)), Executable(integer).run(std::span(&x, 1)));
}

}  // namespace
}  // namespace tare::test
