// ONNX models.

#include "tare/integer_graph.h"
#include "tare/model_files.h"
#include "tare/quantize.h"

#include "fuzz/change_proto.h"
#include "fuzz/models.h"
#include "fuzz/scratch.h"
#include "fuzz/target.h"
#include "support/same_structure.h"

#include <algorithm>

namespace tare::fuzz {
namespace {

File written(const Graph& graph) {
  write_onnx(graph, Scratch::path("seed.onnx"));
  return Scratch::read(Scratch::path("seed.onnx"));
}

/// A graph of one operator with two operands.
File with(const std::string& call, const std::string& constants, const std::string& result) {
  return written(parse("graph \"g\" opset 17 (%x : f32[batch=1,4,4,4]) -> (%y) {\n" +
                       constants + "\n%y = " + call + " : " + result + "\n}"));
}

/// A layer with one state and everything that it may read.
File recurrent(const std::string& op, int gates) {
  const auto constant = [](const std::string& name, int rows, int columns) {
    std::string text = "const %" + name + " : f32[1," + std::to_string(rows);
    text += columns > 0 ? "," + std::to_string(columns) + "] = [" : "] = [";
    for (int i = 0; i < rows * std::max(columns, 1); ++i) {
      text += i == 0 ? "0.5" : ", -0.25";
    }
    return text + "]\n";
  };
  return written(parse("graph \"g\" opset 17 (%x : f32[batch=1,4,4,4]) -> (%y, %h) {\n" +
                       constant("w", gates, 4) + constant("r", gates, 1) +
                       constant("b", 2 * gates, 0) + constant("i", 4, 1) +
                       "const %l : i32[4] = [1, 2, 3, 4]\n"
                       "const %s : i64[3] = [4, 4, 4]\n"
                       "%t = Reshape(%x, %s) : f32[4,4,4]\n"
                       "%y, %h = " +
                       op +
                       "(%t, %w, %r, %b, %l, %i) {direction=\"reverse\", hidden_size=1} : "
                       "f32[4,1,4,1], f32[1,4,1]\n}"));
}

std::vector<File> seeds() {
  std::vector<File> result{written(small_network())};
  const QuantizeResult quantized =
      tare::quantize(small_network(), small_samples(), {}, Toolkit::builtin());
  for (const Form form : {Form::kQdq, Form::kQoperator, Form::kInteger}) {
    result.push_back(written(export_form(quantized.integer, form)));
  }
  const std::string image = "f32[1,4,4,4]";
  result.push_back(with("Reshape(%x, %s)", "const %s : i64[2] = [0, -1]", "f32[1,64]"));
  result.push_back(with("NonZero(%x)", "", "i64[4,64]"));
  result.push_back(written(parse(R"(graph "g" opset 17 (%x : f32[batch=1,4,4,4]) -> (%y, %z) {
  const %w : f32[4,2] = [1, 2, 3, 4, 5, 6, 7, 8]
  const %o : f32[] = [0]
  const %f : i64[1] = [2]
  %z = MatMul(%x, %w) : f32[1,4,4,2]
  %a = Greater(%z, %o) : bool[1,4,4,2]
  %n = NonZero(%a) : i64[4,9]
  %t = Transpose(%n) {perm=[1, 0]} : i64[9,4]
  %g = GatherND(%z, %t) : f32[9]
  %y, %i = TopK(%g, %f) {axis=0} : f32[2], i64[2]
})")));
  result.push_back(with("Slice(%x, %a, %b, %c)",
                        "const %a : i64[1] = [1]\nconst %b : i64[1] = [3]\n"
                        "const %c : i64[1] = [2]",
                        "f32[1,4,2,4]"));
  result.push_back(
      with("Gather(%x, %i) {axis=1}", "const %i : i64[2] = [1, -1]", "f32[1,2,4,4]"));
  result.push_back(
      with("Pad(%x, %p)", "const %p : i64[8] = [0, 0, 1, 1, 0, 0, 1, 1]", "f32[1,4,6,6]"));
  result.push_back(with("Resize(%x, _, %s) {mode=\"nearest\"}",
                        "const %s : f32[4] = [1, 1, 2, 2]", "f32[1,4,8,8]"));
  result.push_back(with("MaxPool(%x) {kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1}", "",
                        "f32[1,4,2,2]"));
  result.push_back(with("Transpose(%x) {perm=[0, 3, 1, 2]}", "", image));
  result.push_back(
      with("ConvTranspose(%x, %w) {strides=[2, 2]}",
           "const %w : f32[4,1,2,2] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7]",
           "f32[1,1,8,8]"));
  result.push_back(with("ReduceMean(%x) {axes=[2, 3], keepdims=1}", "", "f32[1,4,1,1]"));
  result.push_back(
      with("Clip(%x, %a, %b)", "const %a : f32[] = [0]\nconst %b : f32[] = [6]", image));
  result.push_back(with("Softmax(%x) {axis=1}", "", image));
  result.push_back(with("Where(%c, %x, %x)", "const %c : bool[1] = [true]", image));
  result.push_back(with("Tile(%x, %r)", "const %r : i64[4] = [1, 2, 1, 1]", "f32[1,8,4,4]"));
  result.push_back(recurrent("LSTM", 4));
  result.push_back(recurrent("GRU", 3));
  result.push_back(recurrent("RNN", 1));
  return result;
}

/// What extents stood for the dimensions that have names, which files keep in their place.
std::map<std::string, std::int64_t> dimensions(const Graph& graph) {
  std::map<std::string, std::int64_t> result;
  for (const auto& [value, names] : graph.dimension_names) {
    const auto known = graph.find_value(value);
    for (std::size_t axis = 0; known && axis < names.size(); ++axis) {
      result.emplace(names[axis], graph.type(*known).shape.at(axis));
    }
  }
  return result;
}

void run(Bytes bytes) {
  const auto path = Scratch::write("model.onnx", bytes);
  const Graph graph = load_model(path, {}, nullptr);
  must("verifying what was read", [&] { verify(graph); });
  (void)read_metadata(path);
  if (elements(graph) > kFew) {
    return;
  }
  const auto copy = Scratch::path("written.onnx");
  must("writing", [&] { write_onnx(graph, copy); });
  const Graph again = must("reading what was written",
                           [&] { return load_model(copy, dimensions(graph), nullptr); });
  const std::string difference = test::structural_difference(graph, again);
  if (!difference.empty()) {
    throw Finding("not read back as written: " + difference + "\n" + print(graph, 8) + "\n" +
                  print(again, 8));
  }
  const Graph ready = ready_to_run(graph, {}, Toolkit::builtin());
  must("verifying what was prepared", [&] { verify(ready); });
  if (elements(ready) <= kFew) {
    run_once(ready);
  }
}

}  // namespace

FuzzTarget fuzz_onnx() {
  return {"onnx", seeds, run, change_model};
}

}  // namespace tare::fuzz
