#include "execute/compile/program.h"

#include "support/graphs.h"
#include "support/params.h"
#include "support/random/random_network.h"
#include "support/sanitized.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Walks through the steps noting for each 64 bytes of memory which buffer was written there
/// last. Every operand must still be there when it is read.
void expect_operands_survive(const Program& program) {
  std::vector<std::size_t> owner(program.workspace_bytes / 64 + 1, 0);
  const auto expect_owned = [&](const Place& place, const std::string& where) {
    if (place.kind == Place::Kind::kBuffer) {
      const Buffer& buffer = program.buffers[place.index];
      for (std::size_t at = buffer.offset; at < buffer.offset + buffer.bytes; at += 64) {
        ASSERT_EQ(owner[at / 64], place.index) << where;
      }
    }
  };
  const auto take = [&](const Place& place) {
    if (place.kind == Place::Kind::kBuffer) {
      const Buffer& buffer = program.buffers[place.index];
      ASSERT_LE(buffer.offset + buffer.bytes, program.workspace_bytes);
      for (std::size_t at = buffer.offset; at < buffer.offset + buffer.bytes; at += 64) {
        owner[at / 64] = place.index;
      }
    }
  };
  const auto overlap = [&](const Place& a, const Place& b) {
    if (a.kind != Place::Kind::kBuffer || b.kind != Place::Kind::kBuffer) {
      return false;
    }
    const Buffer& x = program.buffers[a.index];
    const Buffer& y = program.buffers[b.index];
    return x.offset < y.offset + y.bytes && y.offset < x.offset + x.bytes;
  };
  for (const Step& step : program.steps) {
    for (const Place& input : step.inputs) {
      expect_owned(input, step.where);
    }
    for (const Place& output : step.outputs) {
      EXPECT_FALSE(overlap(output, step.scratch)) << step.where;
      for (std::size_t i = 0; i < step.inputs.size(); ++i) {
        EXPECT_TRUE(!overlap(output, step.inputs[i]) || (step.in_place && i == 0))
            << step.where;
      }
      take(output);
    }
    take(step.scratch);
    for (const Shown& shown : step.shown) {
      expect_owned(shown.place, step.where + " shown");
    }
  }
  for (const auto& output : program.outputs) {
    expect_owned(output.place, "output");
  }
}

TEST(Program, NeverOverwritesWhatIsStillRead) {
  Random random(1);
  for (int round = 0; round < 40; ++round) {
    const Graph graph = random_network(random, 25);
    ExecuteOptions options;
    if (random.coin()) {
      options.observe = graph.values();
    }
    expect_operands_survive(compile(graph, options));
  }
}

TEST(Program, NeedsNoReorderInsideOfAChannelsLastChain) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, 4, 8, 8}));
  const ValueId w = graph.add_constant("w", Tensor(DType::kFloat32, {4, 4, 1, 1}));
  const ValueId a = add(graph, "Conv", {x, w}, {1, 4, 8, 8});
  const ValueId b = add(graph, "MaxPool", {a}, {1, 4, 4, 4},
                        {{"kernel_shape", std::vector<std::int64_t>{2, 2}},
                         {"strides", std::vector<std::int64_t>{2, 2}}});
  const ValueId c = add(graph, "Conv", {b, w}, {1, 4, 4, 4});
  const ValueId d = add(graph, "GlobalAveragePool", {c}, {1, 4, 1, 1});
  graph.set_outputs({d});
  std::vector<std::string> steps;
  for (const Step& step : compile(graph, {}).steps) {
    steps.push_back(step.where);
  }
  EXPECT_EQ(steps, (std::vector<std::string>{"reorder of 'x'", "node 'Conv' (Conv)",
                                             "node 'MaxPool' (MaxPool)", "node 'Conv_1' (Conv)",
                                             "node 'GlobalAveragePool' (GlobalAveragePool)"}));
}

TEST(Program, ReordersAValueOnceForAllItsReaders) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, 4, 8, 8}));
  const ValueId w = graph.add_constant("w", Tensor(DType::kFloat32, {4, 4, 1, 1}));
  graph.set_outputs(
      {add(graph, "Conv", {x, w}, {1, 4, 8, 8}), add(graph, "Conv", {x, w}, {1, 4, 8, 8})});
  const Program program = compile(graph, {});
  EXPECT_EQ(std::count_if(program.steps.begin(), program.steps.end(),
                          [](const Step& step) { return step.where == "reorder of 'x'"; }),
            1);
}

TEST(Program, SkipsNodesThatNobodyNeeds) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 2}));
  add(graph, "NoSuchOperator", {x}, {2, 2});
  graph.set_outputs({add(graph, "MatMul", {x, x}, {2, 2})});
  EXPECT_EQ(compile(graph, {}).steps.size(), 1U);
}

/// VmRSS, the memory of this process, or VmHWM, the most that it had: in bytes.
double memory_of_process(const std::string& which) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(which)) {
      return 1024 * std::stod(line.substr(which.size() + 1));
    }
  }
  return 0;
}

TEST(Program, ExpressesWeightsOfOneLayerAtATime) {
  if (kIsSanitized) {
    GTEST_SKIP() << "memory that was freed is kept";
  }
  // Above 32 MB the C library maps every block, so what is freed is given back at once.
  constexpr std::int64_t kWidth = 3072;
  constexpr int kLayers = 8;
  const TensorType type{
      .dtype = DType::kInt8, .shape = {kWidth, kWidth}, .quant = i8(0.1F, 0), .point = {}};
  Graph graph;
  ValueId x = graph.add_input("x", f32({1, kWidth}));
  for (int i = 0; i < kLayers; ++i) {
    // What nobody wrote to would not be in memory before.
    Tensor ones(DType::kInt8, type.shape);
    const auto values = ones.mutable_view<std::int8_t>();
    std::fill(values.begin(), values.end(), std::int8_t{1});
    const ValueId weights = graph.add_constant("w" + std::to_string(i), std::move(ones), type);
    x = add(graph, "MatMul", {x, add(graph, "Dequantize", {weights}, type.shape)}, {1, kWidth});
  }
  graph.set_outputs({x});
  std::ofstream("/proc/self/clear_refs") << 5;  // forgets the most so far
  const double before = memory_of_process("VmRSS");
  const Program program = compile(graph, {});
  const double of_layers = (memory_of_process("VmHWM") - before) / (4.0 * kWidth * kWidth);
  // Packed, those of all layers, and in real values and while packing those of one or two. The
  // real values of all layers would be 8 more.
  EXPECT_LT(of_layers, kLayers + 3);
}

TEST(Exchanged, ComputesWhatTheGraphWithOtherConstantsDoes) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    Graph graph = random_network(random, 30);
    const Executable before(graph);
    const std::vector<Tensor> inputs{random.tensor({1, 5, 8, 8}), random.tensor({1, 5, 8, 8})};
    const std::vector<Tensor> results = before.run(inputs);
    std::vector<Exchange> exchanges;
    for (const ValueId value : graph.values()) {
      if (graph.constant(value) != nullptr && random.coin()) {
        const ValueId other = graph.add_constant(graph.unique_name("other"),
                                                 random.tensor(graph.type(value).shape));
        graph.replace_uses(value, other);
        exchanges.push_back({value, other});
      }
    }
    const Executable after = before.exchanged(graph, exchanges);
    EXPECT_EQ(after.run(inputs), Executable(graph).run(inputs)) << seed;
    EXPECT_EQ(before.run(inputs), results) << seed;
  }
}

}  // namespace
}  // namespace tare::test
