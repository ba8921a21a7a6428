// Texts on the nodes of a file.
#include "onnx/annotate.h"

#include "tare/error.h"

#include "onnx/export/export_model.h"
#include "onnx/integer_evaluator.h"
#include "onnx/model_builder.h"
#include "onnx/model_file.h"
#include "support/files/files.h"
#include "support/message.h"

#include <map>
#include <string>
#include <vector>

#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

namespace tare::test {
namespace {

using Texts = std::map<std::string, std::string>;

constexpr int kMetadataProps = 9;  // as in the schema of IR version 10

/// What the nodes of a file say, by their names.
std::map<std::string, Texts> read_texts(const std::filesystem::path& path) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(bytes_of(path)));
  std::map<std::string, Texts> result;
  for (const onnx::NodeProto& node : model.graph().node()) {
    const auto& fields = node.GetReflection()->GetUnknownFields(node);
    for (int i = 0; i < fields.field_count(); ++i) {
      onnx::StringStringEntryProto entry;
      EXPECT_EQ(fields.field(i).number(), kMetadataProps);
      EXPECT_TRUE(entry.ParseFromString(fields.field(i).length_delimited()));
      EXPECT_TRUE(result[node.name()].emplace(entry.key(), entry.value()).second);
    }
  }
  return result;
}

class Annotations : public testing::Test {
 protected:
  void SetUp() override {
    ModelBuilder builder(13);
    builder.input("x", {1, 4}).node("Relu", {"x"}, {"a"}).node("Neg", {"a"}, {"b_quantized"});
    builder.node("Exp", {"b_quantized"}, {"y"}).output("y");
    write_bytes(file, builder.proto().SerializeAsString());
  }

  TemporaryFolder folder;
  std::filesystem::path file = folder / "model.onnx";
  std::filesystem::path copy = folder / "copy.onnx";
};

TEST_F(Annotations, AreOnTheNodeOfThatNameOrResult) {
  const std::vector<NodeTexts> texts{
      {.node = "Relu_a", .result = "", .texts = {{"k", "by name"}, {"l", "too"}}},
      {.node = "gone", .result = "b", .texts = {{"k", "by storage values"}}},
      {.node = "", .result = "y", .texts = {{"k", "by result"}}},
      {.node = "gone", .result = "nowhere", .texts = {{"k", "of no node"}}}};
  annotate_onnx(file, copy, texts);
  EXPECT_EQ(read_texts(copy),
            (std::map<std::string, Texts>{{"Relu_a", {{"k", "by name"}, {"l", "too"}}},
                                          {"Neg_b_quantized", {{"k", "by storage values"}}},
                                          {"Exp_y", {{"k", "by result"}}}}));
}

TEST_F(Annotations, ChangeNothingElse) {
  annotate_onnx(file, copy, {});
  EXPECT_EQ(bytes_of(copy), bytes_of(file));
  const std::vector<NodeTexts> texts{{.node = "Relu_a", .result = "", .texts = {{"k", "v"}}}};
  annotate_onnx(file, copy, texts);
  EXPECT_EQ(print(read_onnx(copy)), print(read_onnx(file)));
}

TEST_F(Annotations, TakeThePlaceOfThoseUnderTheSameKeys) {
  const auto say = [](const std::string& text) {
    return std::vector<NodeTexts>{{.node = "Relu_a", .result = "", .texts = {{"k", text}}}};
  };
  annotate_onnx(file, copy, say("before"));
  annotate_onnx(copy, copy, say("now"));
  EXPECT_EQ(read_texts(copy), (std::map<std::string, Texts>{{"Relu_a", {{"k", "now"}}}}));
}

TEST_F(Annotations, NeedTheFolderOfFilesThatHoldConstants) {
  ModelBuilder builder(13);
  builder.input("x", {1, 256}).constant("w", Tensor(DType::kFloat32, {256, 4}));
  const Graph graph = builder.node("MatMul", {"x", "w"}, {"y"}).output("y").read();
  save_model(export_model(graph, {}), file, 0);
  annotate_onnx(file, copy, {});
  EXPECT_EQ(print(read_onnx(copy)), print(read_onnx(file)));
  const TemporaryFolder other;
  EXPECT_NE(message_of([&] { annotate_onnx(file, other / "copy.onnx", {}); }, ErrorCode::kIo)
                .find("constants in files beside it"),
            std::string::npos);
}

TEST_F(Annotations, AreForModelsOfOnnx) {
  write_bytes(file, "no model");
  EXPECT_NE(message_of([&] { annotate_onnx(file, copy, {}); }, ErrorCode::kInvalidModel)
                .find("is not an ONNX model"),
            std::string::npos);
}

}  // namespace
}  // namespace tare::test
