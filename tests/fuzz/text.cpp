// The textual form of graphs.
#include "tare/graph.h"

#include "fuzz/target.h"
#include "support/random/random_graph.h"

namespace tare::fuzz {
namespace {

std::vector<File> seeds() {
  std::vector<File> result;
  for (unsigned seed = 0; seed < 40; ++seed) {
    result.push_back(file_of(print(test::RandomGraph(seed).draw())));
  }
  result.push_back(file_of(
      "graph \"g\" opset 17 (%x : f32[batch=1,3]) -> (%y, %z) { # two kinds of values\n"
      "const %w : i8[3,1] q(axis=1, [0.5], [0], narrow, bits=4) = [-3, 0, 7]\n"
      "%q = Quantize(%x) : u8[1,3] q(0.25, 7)\n"
      "n: %y = MatMul(%q, %w) {accumulator_bits=16, a=[1, 2], b=floats[], c=f32[1][nan], "
      "d=1.5e3, e=\"\\x41\\n\"} : i32[1,1] q(0.125, 0)\n"
      "%z = Clip(%x, _, %x) : f32[1,3] u8 q(0.25, 7) @p\n"
      "}\n"));
  return result;
}

void run(Bytes bytes) {
  const Graph graph = parse(text_of(bytes));
  const std::string text = print(graph);
  const Graph again = must("parsing what was printed", [&] { return parse(text); });
  require(print(again) == text, "printed otherwise the second time");
  // Attributes compare as numbers, of which NaN is none.
  require(again == graph || !(graph == graph), "parsed as another graph");
  verify(graph);
}

}  // namespace

FuzzTarget fuzz_text() {
  return {"text", seeds, run};
}

}  // namespace tare::fuzz
