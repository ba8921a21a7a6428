// Networks with structure, changed so that they are networks still: each is quantized on
// samples of its own and compared with what it was, or refused. A folder of other models to
// begin with may be named by TARE_FUZZ_MODELS.

#include "tare/config.h"
#include "tare/integer_graph.h"
#include "tare/model_files.h"
#include "tare/process.h"
#include "tare/quantize.h"

#include "fuzz/models.h"
#include "fuzz/mutate_model.h"
#include "fuzz/scratch.h"
#include "fuzz/target.h"
#include "support/files/samples_in_memory.h"
#include "support/random/random.h"

#include <algorithm>
#include <cstdlib>

namespace tare::fuzz {
namespace {

/// Larger networks take the time of many.
constexpr std::int64_t kElements = 2'000'000;
constexpr std::size_t kMemory = std::size_t{1} << 30U;
constexpr std::int64_t kSamples = 3;

File written(const Graph& graph) {
  write_onnx(graph, Scratch::path("seed.onnx"));
  return Scratch::read(Scratch::path("seed.onnx"));
}

std::string constant(const std::string& name, const Shape& shape) {
  static test::Random random(1);
  std::string text = "const %" + name + " : f32" + to_string(shape) + " = [";
  for (const float number : random.tensor(shape).to_float()) {
    text += (text.back() == '[' ? "" : ", ") + std::to_string(number);
  }
  return text + "]\n";
}

/// A residual block, a depthwise one with groups, and a classifier.
std::string convolutions() {
  return "graph \"g\" opset 17 (%x : f32[batch=1,3,8,8]) -> (%y) {\n" +
         constant("w0", {4, 3, 3, 3}) + constant("b0", {4}) + constant("w1", {4, 1, 3, 3}) +
         constant("w2", {8, 2, 1, 1}) + constant("s", {8}) + constant("o", {8}) +
         constant("m", {8}) + "const %v : f32[8] = [1, 2, 1, 1, 3, 1, 1, 0.5]\n" +
         constant("w3", {5, 8}) + constant("b3", {5}) +
         "%c0 = Conv(%x, %w0, %b0) {pads=[1, 1, 1, 1]} : f32[1,4,8,8]\n"
         "%r0 = Relu(%c0) : f32[1,4,8,8]\n"
         "%c1 = Conv(%r0, %w1) {group=4, pads=[2, 2, 2, 2], dilations=[2, 2]} : f32[1,4,8,8]\n"
         "%a = Add(%c1, %r0) : f32[1,4,8,8]\n"
         "%c2 = Conv(%a, %w2) {group=2, strides=[2, 2]} : f32[1,8,4,4]\n"
         "%n = BatchNormalization(%c2, %s, %o, %m, %v) : f32[1,8,4,4]\n"
         "%h = HardSwish(%n) : f32[1,8,4,4]\n"
         "%p = MaxPool(%h) {kernel_shape=[2, 2], strides=[2, 2]} : f32[1,8,2,2]\n"
         "%g = GlobalAveragePool(%p) : f32[1,8,1,1]\n%f = Flatten(%g) {axis=1} : f32[1,8]\n"
         "%d = Gemm(%f, %w3, %b3) {transB=1} : f32[1,5]\n"
         "%y = Softmax(%d) {axis=-1} : f32[1,5]\n}";
}

/// A decoder: what is small grows again, beside what was before.
std::string decoder() {
  return "graph \"g\" opset 17 (%x : f32[batch=1,4,4,4]) -> (%y, %z) {\n" +
         constant("w0", {4, 2, 2, 2}) + constant("w1", {4, 4, 1, 1}) +
         "const %e : f32[4] = [1, 1, 2, 2]\nconst %i : i64[2] = [2, 2]\n"
         "const %p : i64[8] = [0, 0, 1, 1, 0, 0, 1, 1]\n"
         "%t = ConvTranspose(%x, %w0) {strides=[2, 2]} : f32[1,2,8,8]\n"
         "%u = Resize(%x, _, %e) {mode=\"nearest\"} : f32[1,4,8,8]\n"
         "%l, %q = Split(%u, %i) {axis=1} : f32[1,2,8,8], f32[1,2,8,8]\n"
         "%m = Mul(%l, %t) : f32[1,2,8,8]\n"
         "%c = Concat(%m, %q) {axis=1} : f32[1,4,8,8]\n"
         "%o = Conv(%c, %w1) : f32[1,4,8,8]\n%s = Sigmoid(%o) : f32[1,4,8,8]\n"
         "%y = DepthToSpace(%s) {blocksize=2} : f32[1,1,16,16]\n"
         "%d = Pad(%s, %p) : f32[1,4,10,10]\n"
         "%z = AveragePool(%d) {kernel_shape=[3, 3]} : f32[1,4,8,8]\n}";
}

/// Attention with a mask, behind a recurrent layer.
std::string attention() {
  return "graph \"g\" opset 17 (%x : f32[batch=1,6,8]) -> (%y) {\n" +
         constant("w", {1, 32, 8}) + constant("r", {1, 32, 8}) + constant("q", {8, 8}) +
         constant("k", {8, 8}) + constant("v", {8, 8}) + constant("g", {8}) +
         constant("b", {8}) +
         "const %m : f32[6] = [0, 0, 0, 0, -10000, -10000]\nconst %e : i64[1] = [1]\n"
         "const %n : f32[] = [2.8284271]\n"
         "%t = Transpose(%x) {perm=[1, 0, 2]} : f32[6,1,8]\n"
         "%h = LSTM(%t, %w, %r) {hidden_size=8} : f32[6,1,1,8]\n"
         "%s = Squeeze(%h, %e) : f32[6,1,8]\n"
         "%a = Transpose(%s) {perm=[1, 0, 2]} : f32[1,6,8]\n"
         "%c = Add(%a, %x) : f32[1,6,8]\n"
         "%l = LayerNormalization(%c, %g, %b) {axis=-1} : f32[1,6,8]\n"
         "%qq = MatMul(%l, %q) : f32[1,6,8]\n%kk = MatMul(%l, %k) : f32[1,6,8]\n"
         "%vv = MatMul(%l, %v) : f32[1,6,8]\n"
         "%kt = Transpose(%kk) {perm=[0, 2, 1]} : f32[1,8,6]\n"
         "%d = MatMul(%qq, %kt) : f32[1,6,6]\n%dn = Div(%d, %n) : f32[1,6,6]\n"
         "%dm = Add(%dn, %m) : f32[1,6,6]\n%p = Softmax(%dm) {axis=-1} : f32[1,6,6]\n"
         "%o = MatMul(%p, %vv) : f32[1,6,8]\n%y = ReduceMean(%o) {axes=[1]} : f32[1,1,8]\n}";
}

std::vector<File> seeds() {
  std::vector<File> result;
  for (const std::string& text : {convolutions(), decoder(), attention()}) {
    result.push_back(written(parse(text)));
  }
  result.push_back(Scratch::read(std::filesystem::path(TARE_SOURCE_DIR) / "data/digits.onnx"));
  if (const char* folder = std::getenv("TARE_FUZZ_MODELS")) {
    std::vector<std::filesystem::path> files(std::filesystem::directory_iterator(folder), {});
    std::sort(files.begin(), files.end());
    std::transform(files.begin(), files.end(), std::back_inserter(result), Scratch::read);
  }
  return result;
}

/// Samples of the shapes that the graph wants. Those of other types than f32 are zeros.
test::SamplesInMemory samples_for(const Graph& graph) {
  std::map<std::string, Tensor> values;
  for (const ValueId input : graph.inputs()) {
    Shape shape = graph.type(input).shape;
    const std::int64_t batch = shape.empty() ? 1 : shape[0];
    shape.resize(std::max<std::size_t>(shape.size(), 1));
    shape[0] = kSamples * std::max<std::int64_t>(batch, 1);
    const bool is_real = graph.type(input).dtype == DType::kFloat32;
    values.emplace(graph.name(input), is_real ? test::Random(7).tensor(shape)
                                              : Tensor(graph.type(input).dtype, shape));
  }
  return test::SamplesInMemory(std::move(values));
}

bool is_small(const Graph& graph) {
  std::int64_t sum = 0;
  for (const ValueId value : graph.values()) {
    sum += std::min(element_count(graph.type(value).shape), kElements);
  }
  return sum < kElements;
}

void run(Bytes bytes) {
  set_memory_limit(kMemory);
  const Toolkit& toolkit = Toolkit::builtin();
  const auto path = Scratch::write("mutant.onnx", bytes);
  const Graph graph = load_model(path, {}, nullptr);
  if (graph.inputs().empty() || !is_small(graph)) {
    return;
  }
  const test::SamplesInMemory samples = samples_for(graph);
  const QuantizeResult result = tare::quantize(graph, samples, {}, toolkit, {.threads = 2});
  must("verifying integers", [&] { verify(result.integer); });
  const auto file = Scratch::path("mutant.int8.onnx");
  const Target& target = result.simulated.target;
  must("writing", [&] {
    write_onnx(export_form(result.integer, Form::kQdq, target), file, file_metadata(result));
  });
  if (!is_quantized(graph)) {
    (void)compare_models({.real = graph,
                          .quantized = load_model(file, {}, &samples),
                          .factors = read_factors(file),
                          .numerics = {}},
                         samples, {}, toolkit, {.threads = 2});
  }
}

}  // namespace

FuzzTarget fuzz_mutants() {
  return {"mutants", seeds, run, mutate_model};
}

}  // namespace tare::fuzz
