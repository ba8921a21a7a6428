#include "onnx/model_file.h"

#include "tare/process.h"

#include "base/check.h"
#include "base/output_file.h"
#include "onnx/model_message.h"

#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

namespace tare {
namespace {

constexpr std::size_t kLeastExternalBytes = 1024;
/// Readers map external data into memory by pages.
constexpr std::size_t kPage = 4096;

onnx::TensorProto& initializer(ExportedModel& model, std::size_t i) {
  return *model.proto.mutable_graph()->mutable_initializer(static_cast<int>(i));
}

void refer_to_external(onnx::TensorProto& proto, const std::string& location,
                       std::size_t offset, std::size_t length) {
  proto.set_data_location(onnx::TensorProto::EXTERNAL);
  const auto entry = [&](const char* key, const std::string& value) {
    auto& added = *proto.add_external_data();
    added.set_key(key);
    added.set_value(value);
  };
  entry("location", location);
  entry("offset", std::to_string(offset));
  entry("length", std::to_string(length));
}

std::size_t next_page(std::size_t end) {
  return (end + kPage - 1) / kPage * kPage;
}

/// Where constants go.
struct Placed {
  std::vector<const Tensor*> inside{};  ///< the constants in the model; null for the others
  std::vector<std::size_t> offsets{};   ///< of the others, outside of it
  std::size_t bytes = 0;                ///< outside
};

/// Puts the small constants into the model, or all of them where they are not more than
/// `most_constant_bytes`, and lets it refer to the others in a file called `location`.
Placed place_constants(ExportedModel& model, const std::string& location,
                       std::size_t most_constant_bytes) {
  const std::size_t bytes = std::accumulate(
      model.constants.begin(), model.constants.end(), std::size_t{0},
      [](std::size_t sum, const Tensor& tensor) { return sum + tensor.byte_size(); });
  Placed placed;
  placed.inside.resize(model.constants.size());
  placed.offsets.resize(model.constants.size());
  for (std::size_t i = 0; i < model.constants.size(); ++i) {
    const Tensor& tensor = model.constants[i];
    if (bytes <= most_constant_bytes || tensor.byte_size() < kLeastExternalBytes) {
      placed.inside[i] = &tensor;
      continue;
    }
    placed.offsets[i] = next_page(placed.bytes);
    placed.bytes = placed.offsets[i] + tensor.byte_size();
    refer_to_external(initializer(model, i), location, placed.offsets[i], tensor.byte_size());
  }
  return placed;
}

std::filesystem::path data_path(std::filesystem::path model) {
  model += ".data";
  return model;
}

/// Lets protobuf write to an OutputFile, which keeps the reason of a failure.
class OutputStream final : public google::protobuf::io::CopyingOutputStream {
 public:
  explicit OutputStream(OutputFile& file) : file_(file) {}
  bool Write(const void* bytes, int size) override {
    file_.append(
        std::span(static_cast<const std::byte*>(bytes), static_cast<std::size_t>(size)));
    return !file_.failed();
  }

 private:
  OutputFile& file_;
};

/// `message` writes itself to a stream; false where it cannot.
void serialize(const std::function<bool(google::protobuf::io::ZeroCopyOutputStream&)>& message,
               OutputFile& file) {
  constexpr int kBlock = 1 << 20;
  OutputStream stream(file);
  google::protobuf::io::CopyingOutputStreamAdaptor adaptor(&stream, kBlock);
  const bool complete = message(adaptor) && adaptor.Flush();
  file.require_written();
  check(complete, "protobuf did not write a model");
}

}  // namespace

void save_model(ExportedModel model, const std::filesystem::path& path,
                std::size_t most_constant_bytes) {
  OutputFile file(path);
  // Beside the file itself, where `path` is a link to it.
  const std::filesystem::path outside_path = data_path(output_target(path));
  const Placed placed =
      place_constants(model, outside_path.filename().string(), most_constant_bytes);
  const ModelMessage message(std::move(model.proto), placed.inside);
  serialize([&](auto& stream) { return message.write(stream); }, file);
  if (placed.bytes == 0) {
    file.commit();
    return;
  }
  OutputFile data(outside_path);
  for (std::size_t i = 0; i < model.constants.size(); ++i) {
    if (placed.inside[i] == nullptr) {
      const Tensor& tensor = model.constants[i];
      data.resize(placed.offsets[i]);
      data.append(std::span(tensor.data(), tensor.byte_size()));
    }
  }
  data.commit();
  try {
    file.commit();
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(outside_path, ignored);
    throw;
  }
}

void save_message(const onnx::ModelProto& message, const std::filesystem::path& path) {
  OutputFile file(path);
  serialize([&](auto& stream) { return message.SerializeToZeroCopyStream(&stream); }, file);
  file.commit();
}

std::size_t saved_bytes(ExportedModel model, const std::filesystem::path& path,
                        std::size_t most_constant_bytes) {
  const std::filesystem::path file = path.empty() ? path : output_target(path);
  const Placed placed =
      place_constants(model, data_path(file).filename().string(), most_constant_bytes);
  return ModelMessage(std::move(model.proto), placed.inside).bytes() + placed.bytes;
}

}  // namespace tare
