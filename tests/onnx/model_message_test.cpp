#include "onnx/model_message.h"

#include "tare/graph.h"
#include "tare/model_files.h"

#include "onnx/export/export_model.h"
#include "onnx/integer_evaluator.h"
#include "support/files/models.h"

#include <memory>
#include <string>
#include <vector>

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>

namespace tare::test {
namespace {

std::vector<const Tensor*> all_of(const ExportedModel& model) {
  std::vector<const Tensor*> constants;
  for (const Tensor& tensor : model.constants) {
    constants.push_back(&tensor);
  }
  return constants;
}

/// What protobuf writes once the message holds the bytes of its constants.
std::string by_protobuf(ExportedModel model) {
  for (std::size_t i = 0; i < model.constants.size(); ++i) {
    const Tensor& tensor = model.constants[i];
    model.proto.mutable_graph()
        ->mutable_initializer(static_cast<int>(i))
        ->set_raw_data(tensor.data(), tensor.byte_size());
  }
  return model.proto.SerializeAsString();
}

TEST(ModelMessage, HasTheBytesThatProtobufWrites) {
  for (const TestModel& file : test_models()) {
    ExportedModel model = export_model(read_onnx(file.model, {.evaluate = evaluate_integers}),
                                       {{"key", "value"}});
    model.proto.add_functions()->set_name("f");
    const std::string expected = by_protobuf(model);
    const std::vector<const Tensor*> constants = all_of(model);
    const ModelMessage message(model.proto, constants);
    EXPECT_EQ(message.bytes(), expected.size());
    std::string written;
    google::protobuf::io::StringOutputStream stream(&written);
    EXPECT_TRUE(message.write(stream));
    EXPECT_TRUE(written == expected) << file.name;
  }
}

TEST(ModelMessage, IsNotWrittenWhereProtobufCouldNotReadIt) {
  ExportedModel model;
  constexpr int kCount = 3;
  // Nobody reads its bytes.
  const Tensor large = Tensor::over(DType::kInt8, {1 << 30}, std::make_shared<std::byte[]>(1));
  for (int i = 0; i < kCount; ++i) {
    model.proto.mutable_graph()->add_initializer()->set_name("w");
  }
  const std::vector<const Tensor*> constants(kCount, &large);
  std::string written;
  google::protobuf::io::StringOutputStream stream(&written);
  EXPECT_FALSE(ModelMessage(model.proto, constants).write(stream));
  EXPECT_TRUE(written.empty());
}

}  // namespace
}  // namespace tare::test
