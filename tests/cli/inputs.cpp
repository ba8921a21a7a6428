#include "cli/inputs.h"

#include "tare/graph.h"
#include "tare/model_files.h"

#include "cli/program.h"
#include "support/files/files.h"
#include "support/files/hdf5_builder.h"
#include "tflite/tflite_builder.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace tare::test {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string random_bytes(unsigned seed) {
  std::mt19937 random(seed);
  std::string bytes;
  for (int i = 0; i < 2000; ++i) {
    bytes += static_cast<char>(random());
  }
  return bytes;
}

// ONNX by hand: a message is a sequence of (field number, bytes or small number).
std::string field(int number, const std::string& bytes) {
  std::string head{static_cast<char>(number << 3 | 2)};
  for (std::size_t size = bytes.size(); head.size() == 1 || size > 0; size >>= 7U) {
    head += static_cast<char>((size & 0x7FU) | (size > 0x7F ? 0x80U : 0U));
  }
  return head + bytes;
}
std::string field(int number, int value) {
  return {static_cast<char>(number << 3), static_cast<char>(value)};
}

/// A value of type f32 [1,4].
std::string value_info(const std::string& name) {
  const std::string shape = field(1, field(1, 1)) + field(1, field(1, 4));
  return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)));
}

std::string node(const std::string& input, const std::string& output, const std::string& op) {
  return field(1, input) + field(2, output) + field(3, "node_" + output) + field(4, op);
}

std::string unknown_op_model() {
  const std::string graph = field(1, node("x", "y", "Frobnicate")) +
                            field(1, node("y", "z", "Twist")) + field(2, "g") +
                            field(11, value_info("x")) + field(12, value_info("z"));
  return field(1, 8) + field(8, field(2, 17)) + field(7, graph);
}

/// s = x w [1,2], where s is not 0, and what an operator of somebody else makes of s.
std::string detector_model() {
  const std::vector<float> values{1, 0, 2, -1, 3, 1, 4, -1};
  const std::string weight =
      field(1, 4) + field(1, 2) + field(2, 1) + field(8, "w") +
      field(9, {reinterpret_cast<const char*>(values.data()), 4 * values.size()});
  const std::string product =
      field(1, "x") + field(1, "w") + field(2, "s") + field(4, "MatMul");
  const std::string graph =
      field(1, product) + field(1, node("s", "r", "Relu")) +
      field(1, node("r", "where", "NonZero")) + field(1, node("s", "z", "Frobnicate")) +
      field(2, "g") + field(5, weight) + field(11, value_info("x")) +
      field(12, value_info("where")) + field(12, value_info("z")) + field(12, field(1, "s"));
  return field(1, 8) + field(8, field(2, 17)) + field(7, graph);
}

/// z = x + w, where w [1,4] is in another file.
std::string outside_model(const std::string& location) {
  const std::string constant = field(1, 1) + field(1, 4) + field(2, 1) + field(8, "w") +
                               field(13, field(1, "location") + field(2, location)) +
                               field(14, 1);
  const std::string sum = field(1, "x") + field(1, "w") + field(2, "z") + field(4, "Add");
  const std::string graph = field(1, sum) + field(2, "g") + field(5, constant) +
                            field(11, value_info("x")) + field(12, value_info("z"));
  return field(1, 8) + field(8, field(2, 17)) + field(7, graph);
}

void make_outside(const fs::path& folder) {
  write(folder / "outside.onnx", outside_model("outside.bin"));
  const std::vector<float> values{1, 2, 3, 4, -1, -2, -3, -4};
  write(folder / "outside.bin",
        {reinterpret_cast<const char*>(values.data()), 4 * sizeof(float)});
  Hdf5Builder(folder / "outside.h5").dataset("x", H5T_NATIVE_FLOAT, {2, 4}, values.data());
}

/// Names that would ring bells, move the cursor, turn the direction of text, end lines, cells
/// and quotes, begin formulas, and that are no UTF-8.
void make_evil(const fs::path& folder) {
  const std::string evil =
      "\\x1b]0;t\\x07\\x0d\\n\\x09\\x00\\x7f\\xc2\\x9b\\xe2\\x80\\xae\\xe2\\x81\\xa6\\xff,"
      "\\\"z";
  const auto named = [&](const std::string& name) { return "\"" + name + evil + "\""; };
  const std::string weight = " : f32[4,4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2]\n";
  const std::string type = " : f32[1,4]\n";
  write_onnx(
      parse("graph \"g\" opset 17 (%x : f32[batch=1,4]) -> (%" + named("=y") + ") {\n" +
            "const %" + named("-w") + weight + "const %v" + weight + named("=1+1") + ": %" +
            named("@h") + " = MatMul(%x, %" + named("-w") + ")" + type + named("+r") + ": %" +
            named("+r") + " = Relu(%" + named("@h") + ")" + type + named("-s") + ": %" +
            named("s") + " = Softmax(%" + named("+r") + ")" + type + named("@2") + ": %" +
            named("=y") + " = MatMul(%" + named("s") + ", %v)" + type + "}"),
      folder / "evil.onnx");
  std::vector<float> values(16 * 4);
  std::iota(values.begin(), values.end(), -20.0F);
  Hdf5Builder(folder / "evil.h5").dataset("x", H5T_NATIVE_FLOAT, {16, 4}, values.data());
}

void make_samples(const fs::path& folder) {
  const std::vector<float> zeros(4 * 16 * 16);
  const auto file = [&](const char* name, const char* dataset, hid_t type,
                        const Extents& extents, const void* data) {
    Hdf5Builder(folder / name).dataset(dataset, type, extents, data);
  };
  file("no_samples.h5", "image", H5T_NATIVE_FLOAT, {0, 1, 16, 16}, nullptr);
  file("zeros.h5", "image", H5T_NATIVE_FLOAT, {4, 1, 16, 16}, zeros.data());
  std::vector<float> pixels = zeros;
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<float>((i * 7 + i / 256) % 256);
  }
  file("pixels.h5", "image", H5T_NATIVE_FLOAT, {4, 1, 16, 16}, pixels.data());
  file("other_name.h5", "picture", H5T_NATIVE_FLOAT, {4, 1, 16, 16}, zeros.data());
  file("other_shape.h5", "image", H5T_NATIVE_FLOAT, {4, 1, 8, 16}, zeros.data());
  const hid_t truth = H5Tenum_create(H5T_NATIVE_INT8);
  for (const std::int8_t value : {0, 1}) {
    H5Tenum_insert(truth, value == 0 ? "FALSE" : "TRUE", &value);
  }
  file("other_type.h5", "image", truth, {4, 1, 16, 16}, zeros.data());
  const hid_t text = H5Tcopy(H5T_C_S1);
  H5Tset_size(text, 4);
  file("text.h5", "image", text, {4, 1, 16, 16}, zeros.data());
  H5Tclose(text);
  H5Tclose(truth);
  std::vector<float> nan = zeros;
  nan[2 * 256 + 3 * 16 + 7] = std::numeric_limits<float>::quiet_NaN();
  file("nan.h5", "image", H5T_NATIVE_FLOAT, {4, 1, 16, 16}, nan.data());
}

void make_tflite(const fs::path& folder) {
  const auto bytes = small_quantized_network();
  const std::string model(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  write(folder / "small.tflite", model);
  write(folder / "truncated.tflite", model.substr(0, model.size() / 2));
  std::vector<std::int8_t> pixels(3 * 6 * 5 * 2);
  std::iota(pixels.begin(), pixels.end(), std::int8_t{-90});
  Hdf5Builder(folder / "small.h5").dataset("x", H5T_NATIVE_INT8, {3, 6, 5, 2}, pixels.data());
}

/// A network in float that reads integers.
void make_tokens(const fs::path& folder) {
  write_onnx(parse("graph \"g\" opset 17 (%x : i64[1,4]) -> (%y) {\n"
                   "%y = Cast(%x) {to=1} : f32[1,4]\n}"),
             folder / "tokens.onnx");
  const std::vector<std::int64_t> tokens(3 * 4, 1);
  Hdf5Builder(folder / "tokens.h5").dataset("x", H5T_NATIVE_INT64, {3, 4}, tokens.data());
}

/// Models that are legal and cannot be worked with.
/// Networks one behind the other, for sentences of their own length, and some of these in
/// groups.
void make_sentences(const fs::path& folder) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  const auto constant = [&](const std::string& name, int rows, int columns) {
    std::string text = "const %" + name + " : f32[" + std::to_string(rows) + "," +
                       std::to_string(columns) + "] = [";
    for (int i = 0; i < rows * columns; ++i) {
      text += (i > 0 ? ", " : "") + std::to_string(normal(random));
    }
    return text + "]\n";
  };
  write_onnx(parse("graph \"g\" opset 13 (%x : f32[N=1,length=5,8]) -> (%states) {\n" +
                   constant("w1", 8, 16) + constant("w2", 16, 8) +
                   "%a = MatMul(%x, %w1) : f32[1,5,16]\n%b = Relu(%a) : f32[1,5,16]\n"
                   "%states = MatMul(%b, %w2) : f32[1,5,8]\n}"),
             folder / "encoder.onnx");
  write_onnx(parse("graph \"g\" opset 13 (%states : f32[N=1,length=5,8]) -> (%scores) {\n" +
                   constant("w1", 8, 16) + constant("w2", 16, 3) +
                   "%a = MatMul(%states, %w1) : f32[1,5,16]\n%b = Relu(%a) : f32[1,5,16]\n"
                   "%m = ReduceMean(%b) {axes=[1], keepdims=0} : f32[1,16]\n"
                   "%scores = MatMul(%m, %w2) : f32[1,3]\n}"),
             folder / "classifier.onnx");
  Hdf5Builder file(folder / "sentences.h5");
  for (unsigned i = 0; i < 40; ++i) {
    const hsize_t length = 1 + i * 7 % 23;
    std::vector<float> values(length * 8);
    std::generate(values.begin(), values.end(), [&] { return normal(random); });
    const std::int64_t label = i % 3;
    const std::string group = "sentence_" + std::to_string(i) + "/";
    file.dataset(group + "x", H5T_NATIVE_FLOAT, {length, 8}, values.data())
        .dataset(group + "labels", H5T_NATIVE_INT64, {}, &label);
  }
}

void make_refused(const fs::path& folder) {
  write_onnx(parse("graph \"g\" opset 17 (%x : f32[1,1]) -> (%y) {\n"
                   "const %s : i64[2] = [1000000, 1000000]\n"
                   "expand: %e = Expand(%x, %s) : f32[1000000,1000000]\n"
                   "mean: %y = ReduceMean(%e) : f32[1,1]\n}"),
             folder / "large.onnx");
  const std::vector<float> one(1);
  Hdf5Builder(folder / "large.h5").dataset("x", H5T_NATIVE_FLOAT, {1, 1}, one.data());
  write_onnx(parse("graph \"g\" opset 17 (%x : f32[1,2,2,2]) -> (%y) {\n"
                   "const %w : f32[2,2,1,1] = [1, nan, 3, 4]\n"
                   "conv: %c = Conv(%x, %w) : f32[1,2,2,2]\n"
                   "relu: %y = Relu(%c) : f32[1,2,2,2]\n}"),
             folder / "nan_weight.onnx");
  const std::vector<float> ones(8, 1);
  Hdf5Builder(folder / "nan_weight.h5")
      .dataset("x", H5T_NATIVE_FLOAT, {1, 2, 2, 2}, ones.data());
  std::vector<float> pixels(4 * 16 * 16, 1);
  Hdf5Builder(folder / "masks.h5")
      .dataset("image", H5T_NATIVE_FLOAT, {4, 1, 16, 16}, pixels.data())
      .dataset("labels", H5T_NATIVE_FLOAT, {4, 1, 16, 16}, pixels.data());
}

}  // namespace

void make_inputs(const fs::path& folder) {
  const fs::path data = fs::path(TARE_SOURCE_DIR) / "data";
  fs::copy_file(data / "digits.onnx", folder / "digits.onnx");
  fs::copy_file(data / "digits_calibration.h5", folder / "calibration.h5");
  fs::copy_file(data / "digits_evaluation.h5", folder / "evaluation.h5");
  fs::copy(data / "pictures", folder / "pictures");
  const std::string model = bytes_of(data / "digits.onnx");
  const std::string samples = bytes_of(data / "digits_calibration.h5");
  write(folder / "truncated.onnx", model.substr(0, model.size() / 2));
  write(folder / "truncated.h5", samples.substr(0, samples.size() / 2));
  write(folder / "random.onnx", random_bytes(1));
  write(folder / "random.h5", random_bytes(2));
  write(folder / "random.yaml", random_bytes(3));
  write(folder / "unknown_op.onnx", unknown_op_model());
  write(folder / "detector.onnx", detector_model());
  write(folder / "truncated.yaml", "version: 1\nactivations: {symmetric: true");
  write(folder / "faults.yaml",
        "version: 1\ntarget: ort-cpu\nactivations:\n  calibrater: max\n  symmetric: perhaps\n");
  write(folder / "calibrator.yaml", "weights: {calibrator: percentil}\n");
  write(folder / "plugins.yaml", "version: 1\nplugins: [mine.so]\n");
  write(folder / "float.yaml", "layers:\n  - {match: {op: Gemm}, keep_float: true}\n");
  make_samples(folder);
  make_tflite(folder);
  make_tokens(folder);
  make_sentences(folder);
  make_outside(folder);
  make_evil(folder);
  make_refused(folder);
}

}  // namespace tare::test
