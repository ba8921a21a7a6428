// If, Loop and Scan against plain loops. Their graphs are text, as importing makes it.
#include "tare/error.h"
#include "tare/execute.h"

#include "support/graphs.h"
#include "support/message.h"

#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// A graph around one node that holds graphs; quotes of inner texts are escaped.
Graph around(const std::string& inputs, const std::string& constants, const std::string& node,
             const std::string& outputs) {
  return parse("graph \"g\" opset 17 (" + inputs + ") -> (" + outputs + ") {\n" + constants +
               "\n" + node + "\n}");
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    result += c == '"' ? "\\\"" : c == '\n' ? "\\n" : std::string(1, c);
  }
  return result + "\"";
}

/// s' = s * w + i, until the sum of s' exceeds `most`.
std::string recurrence(const std::string& goes_on, bool collects) {
  return R"(graph "body" opset 17 (%i : i64[], %c : bool[], %s : f32[2], %w : f32[2],
                                   %most : f32[]) -> (%on, %next)" +
         std::string(collects ? ", %each" : "") + R"() {
    %x = Cast(%i) {to=1} : f32[]
    %p = Mul(%s, %w) : f32[2]
    %next = Add(%p, %x) : f32[2]
    %sum = ReduceSum(%next) {keepdims=0} : f32[]
    %less = Less(%sum, %most) : bool[]
    %on = )" +
         goes_on + R"( : bool[]
    %each = Identity(%next) : f32[2]
  })";
}

constexpr const char* kStates =
    "%m : i64[], %go : bool[], %s : f32[2], %w : f32[2], %most : f32[]";

std::string loop_of(const std::string& body, bool collects, int iterations) {
  return "%last" + std::string(collects ? ", %all" : "") +
         " = Loop(%m, %go, %s, %w, %most) {body=" + quoted(body) +
         ", captured=strings[\"w\", \"most\"]} : f32[2]" +
         (collects ? ", f32[" + std::to_string(iterations) + ",2]" : "");
}

std::vector<Tensor> states(std::int64_t iterations, bool go, float most) {
  return {Tensor::scalar(iterations), Tensor::scalar(go), Tensor::of<float>({2}, {1, -2}),
          Tensor::of<float>({2}, {0.5F, 2}), Tensor::scalar(most)};
}

/// The states after each iteration, by a plain loop.
std::vector<std::vector<float>> expected(int iterations, float most) {
  std::vector<std::vector<float>> all;
  std::vector<float> s{1, -2};
  for (int i = 0; i < iterations; ++i) {
    s = {s[0] * 0.5F + static_cast<float>(i), s[1] * 2 + static_cast<float>(i)};
    all.push_back(s);
    if (!(s[0] + s[1] < most)) {
      break;
    }
  }
  return all;
}

TEST(Loop, CollectsWhatEachIterationMakes) {
  const std::string all = recurrence("Or(%less, %c)", true);
  const Graph graph = around(kStates, "", loop_of(all, true, 5), "%last, %all");
  const std::vector<Tensor> results = Executable(graph).run(states(5, true, 0));
  std::vector<float> flat;
  for (const auto& state : expected(5, INFINITY)) {
    flat.insert(flat.end(), state.begin(), state.end());
  }
  EXPECT_EQ(results[1].to_float(), flat);
  EXPECT_EQ(results[0].to_float(), expected(5, INFINITY).back());
}

TEST(Loop, EndsWhenItsBodySaysSo) {
  const Graph graph =
      around(kStates, "", loop_of(recurrence("Identity(%less)", false), false, 0), "%last");
  for (const float most : {-1000.F, 0.F, 3.F, 1e9F}) {
    EXPECT_EQ(Executable(graph).run(states(9, true, most))[0].to_float(),
              expected(9, most).back());
  }
  EXPECT_EQ(Executable(graph).run(states(9, false, 0))[0].to_float(),
            (std::vector<float>{1, -2}));
  EXPECT_EQ(Executable(graph).run(states(0, true, 0))[0].to_float(),
            (std::vector<float>{1, -2}));
  EXPECT_EQ(Executable(graph).run(states(-3, true, 0))[0].to_float(),
            (std::vector<float>{1, -2}));
}

TEST(Loop, SaysWhereItEndsBeforeAllIsCollected) {
  const Graph graph =
      around(kStates, "", loop_of(recurrence("Identity(%less)", true), true, 5), "%last, %all");
  const std::string text = message_of([&] { Executable(graph).run(states(5, true, -1000)); },
                                      ErrorCode::kUnsupported);
  EXPECT_NE(text.find("ended after 1 iterations, expected 5"), std::string::npos) << text;
}

TEST(Loop, EndsWithAnErrorWhereNothingElseEndsIt) {
  const Graph graph = around("%go : bool[], %x : f32[]", "",
                             "%y = Identity(%x) : f32[]\n%z = Loop(_, %go, %x) {body=" +
                                 quoted(R"(graph "body" opset 17 (%i : i64[], %c : bool[],
                                     %s : f32[]) -> (%on, %t) {
                                       %on = Identity(%c) : bool[]
                                       %t = Identity(%s) : f32[]
                                     })") +
                                 "} : f32[]",
                             "%y, %z");
  const std::string text = message_of(
      [&] {
        Executable(graph).run(std::vector<Tensor>{Tensor::scalar(true), Tensor::scalar(1.F)});
      },
      ErrorCode::kUnsupported);
  EXPECT_NE(text.find("ended after 1000000 iterations"), std::string::npos) << text;
}

TEST(Loop, GivesTheSameOnAnyThread) {
  const Graph graph =
      around(kStates, "const %w1 : f32[2] = [1, 1]",
             loop_of(recurrence("Or(%less, %c)", true), true, 7), "%last, %all");
  const Executable executable(graph);
  const std::vector<Tensor> alone = executable.run(states(7, true, 0));
  std::vector<std::vector<Tensor>> results(4);
  std::vector<std::thread> threads;
  for (auto& result : results) {
    threads.emplace_back([&] { result = executable.run(states(7, true, 0)); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const auto& result : results) {
    EXPECT_EQ(result, alone);
  }
}

TEST(If, RunsTheGraphThatItsConditionPicks) {
  const std::string half = R"(graph "then_branch" opset 17 (%x : f32[3], %k : f32[3]) -> (%y) {
    %y = Mul(%x, %k) : f32[3]
  })";
  const std::string other = R"(graph "else_branch" opset 17 (%x : f32[3]) -> (%y) {
    %y = Neg(%x) : f32[3]
  })";
  const Graph graph = around(
      "%c : bool[1], %x : f32[3]", "const %k : f32[3] = [0.5, 2, 3]",
      "%y = If(%c, %x, %k) {captured=strings[\"x\", \"k\"], then_branch=" + quoted(half) +
          ", else_branch=" + quoted(other) + "} : f32[3]",
      "%y");
  const Tensor x = Tensor::of<float>({3}, {1, 2, -4});
  const auto picked = [&](bool condition) {
    return Executable(graph)
        .run(std::vector<Tensor>{Tensor::scalar(condition).reshaped({1}), x})[0]
        .to_float();
  };
  EXPECT_EQ(picked(true), (std::vector<float>{0.5, 4, -12}));
  EXPECT_EQ(picked(false), (std::vector<float>{-1, -2, 4}));
}

/// Running sums over axis 1 of [2,T,3], collected along `axis` of the result.
std::vector<float> scanned(bool from_end, bool to_end, int axis) {
  const std::string body = R"(graph "body" opset 17 (%s : f32[2,3], %x : f32[2,3]) -> (%t, %y) {
    %t = Add(%s, %x) : f32[2,3]
    %y = Identity(%t) : f32[2,3]
  })";
  const std::string shape = axis == 0 ? "[4,2,3]" : axis == 1 ? "[2,4,3]" : "[2,3,4]";
  const Graph graph = around(
      "%s : f32[2,3], %x : f32[2,4,3]", "",
      "%t, %y = Scan(%s, %x) {num_scan_inputs=1, scan_input_axes=[1], scan_input_directions=[" +
          std::to_string(from_end) + "], scan_output_axes=[" +
          std::to_string(axis == 2 ? -1 : axis) + "], scan_output_directions=[" +
          std::to_string(to_end) + "], body=" + quoted(body) + "} : f32[2,3], f32" + shape,
      "%t, %y");
  std::vector<float> x(24);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i * i % 17);
  }
  return Executable(graph)
      .run(std::vector<Tensor>{Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}),
                               Tensor::of<float>({2, 4, 3}, x)})[1]
      .to_float();
}

TEST(Scan, TakesAndMakesSlicesAlongAnyAxisFromEitherEnd) {
  for (const bool from_end : {false, true}) {
    for (const bool to_end : {false, true}) {
      for (const int axis : {0, 1, 2}) {
        std::vector<float> wanted(24);
        for (int n = 0; n < 2; ++n) {
          for (int c = 0; c < 3; ++c) {
            auto sum = static_cast<float>(n * 3 + c + 1);
            for (int step = 0; step < 4; ++step) {
              const int from = from_end ? 3 - step : step;
              const int to = to_end ? 3 - step : step;
              const int i = (n * 4 + from) * 3 + c;
              sum += static_cast<float>(i * i % 17);
              const int place = axis == 0   ? (to * 2 + n) * 3 + c
                                : axis == 1 ? (n * 4 + to) * 3 + c
                                            : (n * 3 + c) * 4 + to;
              wanted[static_cast<std::size_t>(place)] = sum;
            }
          }
        }
        EXPECT_EQ(scanned(from_end, to_end, axis), wanted) << from_end << to_end << axis;
      }
    }
  }
}

TEST(Control, RefusesGraphsThatDoNotFitTheirNode) {
  const auto refusal = [](const std::string& node, const std::string& outputs) {
    const Graph graph = around(kStates, "", node, outputs);
    return message_of([&] { Executable{graph}; }, ErrorCode::kInvalidModel);
  };
  const std::string body = recurrence("Identity(%less)", true);
  EXPECT_NE(refusal("%last = Loop(%m, %go, %s, %w) {body=" + quoted(body) +
                        ", captured=strings[\"w\"]} : f32[2]",
                    "%last")
                .find("'most' is neither captured nor among the first inputs"),
            std::string::npos);
  EXPECT_NE(refusal("%last = Loop(%m, %go, %s, %w, %most) {body=\"no graph\", "
                    "captured=strings[\"w\", \"most\"]} : f32[2]",
                    "%last")
                .find("attribute 'body'"),
            std::string::npos);
  EXPECT_NE(refusal("%last, %all = Loop(%m, %go, %s, %most, %w) {body=" + quoted(body) +
                        ", captured=strings[\"w\", \"most\"]} : f32[2], f32[5,2]",
                    "%last, %all")
                .find("is of another type"),
            std::string::npos);
  EXPECT_NE(refusal("%last = Loop(%m) {body=" + quoted(body) +
                        ", captured=strings[\"w\", \"most\"]} : f32[2]",
                    "%last")
                .find("captures 2 values and has 1 operands"),
            std::string::npos);
}

}  // namespace
}  // namespace tare::test
