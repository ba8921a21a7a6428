// Fields are in the order of their numbers, as protobuf writes them, so these are the bytes
// that it would write.
#include "onnx/model_message.h"

#include <limits>

#include <google/protobuf/io/coded_stream.h>

namespace tare {
namespace {

using google::protobuf::io::CodedOutputStream;

/// Of a field that has a length and so many bytes.
constexpr std::uint32_t tag(int field) {
  constexpr std::uint32_t kLengthDelimited = 2;
  return static_cast<std::uint32_t>(field) << 3U | kLengthDelimited;
}

std::size_t field_bytes(int field, std::size_t bytes) {
  return CodedOutputStream::VarintSize32(tag(field)) + CodedOutputStream::VarintSize64(bytes) +
         bytes;
}

void begin_field(int field, std::size_t bytes, CodedOutputStream& out) {
  out.WriteTag(tag(field));
  out.WriteVarint64(bytes);
}

}  // namespace

ModelMessage::ModelMessage(onnx::ModelProto model, std::span<const Tensor* const> constants) {
  onnx::GraphProto graph;
  graph.Swap(model.mutable_graph());
  model.clear_graph();
  onnx::ModelProto after_graph;
  after_graph.mutable_opset_import()->Swap(model.mutable_opset_import());
  after_graph.mutable_metadata_props()->Swap(model.mutable_metadata_props());
  after_graph.mutable_training_info()->Swap(model.mutable_training_info());
  after_graph.mutable_functions()->Swap(model.mutable_functions());
  before_graph_ = model.SerializePartialAsString();
  after_graph_ = after_graph.SerializePartialAsString();

  for (int i = 0; i < graph.initializer_size(); ++i) {
    const auto index = static_cast<std::size_t>(i);
    initializers_.push_back({graph.initializer(i).SerializePartialAsString(),
                             index < constants.size() ? constants[index] : nullptr});
  }
  graph.clear_initializer();
  onnx::GraphProto before;
  before.mutable_node()->Swap(graph.mutable_node());
  before.set_name(graph.name());
  graph.clear_name();
  before_initializers_ = before.SerializePartialAsString();
  after_initializers_ = graph.SerializePartialAsString();
}

std::size_t ModelMessage::bytes_of(const Initializer& initializer) {
  const Tensor* const constant = initializer.constant;
  return initializer.fields.size() +
         (constant == nullptr
              ? 0
              : field_bytes(onnx::TensorProto::kRawDataFieldNumber, constant->byte_size()));
}

std::size_t ModelMessage::graph_bytes() const {
  std::size_t result = before_initializers_.size() + after_initializers_.size();
  for (const Initializer& initializer : initializers_) {
    result += field_bytes(onnx::GraphProto::kInitializerFieldNumber, bytes_of(initializer));
  }
  return result;
}

std::size_t ModelMessage::bytes() const {
  return before_graph_.size() +
         field_bytes(onnx::ModelProto::kGraphFieldNumber, graph_bytes()) + after_graph_.size();
}

bool ModelMessage::write(google::protobuf::io::ZeroCopyOutputStream& stream) const {
  if (bytes() > std::numeric_limits<std::int32_t>::max()) {
    return false;
  }
  CodedOutputStream out(&stream);
  out.WriteString(before_graph_);
  begin_field(onnx::ModelProto::kGraphFieldNumber, graph_bytes(), out);
  out.WriteString(before_initializers_);
  for (const Initializer& initializer : initializers_) {
    begin_field(onnx::GraphProto::kInitializerFieldNumber, bytes_of(initializer), out);
    out.WriteString(initializer.fields);
    if (const Tensor* const constant = initializer.constant) {
      begin_field(onnx::TensorProto::kRawDataFieldNumber, constant->byte_size(), out);
      out.WriteRaw(constant->data(), static_cast<int>(constant->byte_size()));
    }
  }
  out.WriteString(after_initializers_);
  out.WriteString(after_graph_);
  return !out.HadError();
}

}  // namespace tare
