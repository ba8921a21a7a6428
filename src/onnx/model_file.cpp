#include "onnx/model_file.h"

#include "tare/error.h"

#include <fstream>
#include <numeric>
#include <string>
#include <utility>

#include <unistd.h>

namespace tare {
namespace {

constexpr std::size_t kLeastExternalBytes = 1024;
/// Readers map external data into memory by pages.
constexpr std::size_t kPage = 4096;

/// A file that appears under its name only when it is complete.
class PendingFile {
 public:
  explicit PendingFile(std::filesystem::path path) : path_(std::move(path)), temporary_(path_) {
    std::error_code status;
    const auto kind = std::filesystem::status(path_, status).type();
    // Renaming would replace a device by a file.
    if (kind != std::filesystem::file_type::not_found &&
        kind != std::filesystem::file_type::regular) {
      throw Error(ErrorCode::kIo, path_.string(), "is not a file that could be replaced");
    }
    temporary_ += ".part" + std::to_string(::getpid());
    stream_.open(temporary_, std::ios::binary | std::ios::trunc);
    if (!stream_) {
      throw Error(ErrorCode::kIo, path_.string(), "cannot be written");
    }
  }
  ~PendingFile() {
    std::error_code ignored;
    std::filesystem::remove(temporary_, ignored);
  }
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  std::ofstream& stream() { return stream_; }

  void close() {
    stream_.close();
    if (!stream_) {
      throw Error(ErrorCode::kIo, path_.string(), "writing failed; the disk may be full");
    }
  }

  void rename() {
    std::error_code status;
    std::filesystem::rename(temporary_, path_, status);
    if (status) {
      throw Error(ErrorCode::kIo, path_.string(), "cannot be replaced: " + status.message());
    }
  }

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  std::ofstream stream_;
};

onnx::TensorProto& initializer(ExportedModel& model, std::size_t i) {
  return *model.proto.mutable_graph()->mutable_initializer(static_cast<int>(i));
}

void store_inside(const Tensor& tensor, onnx::TensorProto& proto) {
  proto.set_raw_data(tensor.data(), tensor.byte_size());
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

/// Writes the large constants to `file` and lets the model refer to them.
void store_outside(ExportedModel& model, const std::string& location, std::ofstream& file) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < model.constants.size(); ++i) {
    const Tensor& tensor = model.constants[i];
    if (tensor.byte_size() < kLeastExternalBytes) {
      store_inside(tensor, initializer(model, i));
      continue;
    }
    const std::size_t offset = (end + kPage - 1) / kPage * kPage;
    file << std::string(offset - end, '\0');
    file.write(reinterpret_cast<const char*>(tensor.data()),
               static_cast<std::streamsize>(tensor.byte_size()));
    refer_to_external(initializer(model, i), location, offset, tensor.byte_size());
    end = offset + tensor.byte_size();
  }
}

void serialize(const onnx::ModelProto& proto, PendingFile& file,
               const std::filesystem::path& path) {
  if (!proto.SerializeToOstream(&file.stream())) {
    throw Error(ErrorCode::kIo, path.string(), "writing failed; the disk may be full");
  }
  file.close();
}

}  // namespace

void save_model(ExportedModel model, const std::filesystem::path& path,
                std::size_t most_constant_bytes) {
  const std::size_t bytes = std::accumulate(
      model.constants.begin(), model.constants.end(), std::size_t{0},
      [](std::size_t sum, const Tensor& tensor) { return sum + tensor.byte_size(); });
  PendingFile file(path);
  if (bytes <= most_constant_bytes) {
    for (std::size_t i = 0; i < model.constants.size(); ++i) {
      store_inside(model.constants[i], initializer(model, i));
      model.constants[i] = {};
    }
    serialize(model.proto, file, path);
    file.rename();
    return;
  }
  std::filesystem::path data_path = path;
  data_path += ".data";
  PendingFile data(data_path);
  store_outside(model, data_path.filename().string(), data.stream());
  data.close();
  serialize(model.proto, file, path);
  data.rename();
  try {
    file.rename();
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(data_path, ignored);
    throw;
  }
}

}  // namespace tare
