#include "onnx/parse_model.h"

#include "tare/error.h"
#include "tare/model_files.h"

#include "onnx/inlining.h"
#include "onnx/input_names.h"
#include "onnx/tensor_proto.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/wire_format_lite.h>

namespace tare {

namespace {

bool is_hdf5(const InputFile& file) {
  constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
  std::array<std::byte, kSignature.size()> first{};
  if (file.size() < first.size()) {
    return false;
  }
  file.read(0, first);
  return std::memcmp(first.data(), kSignature.data(), first.size()) == 0;
}

void require_model(bool is_parsed, const onnx::ModelProto& model, const InputFile& file) {
  if (!is_parsed && is_hdf5(file)) {
    throw Error(ErrorCode::kInvalidModel, "", "is not an ONNX model but HDF5")
        .hint("the model comes first, samples with '--data'");
  }
  if (!is_parsed) {
    throw Error(ErrorCode::kInvalidModel, "", "is not an ONNX model, or is cut short");
  }
  if (!model.has_graph()) {
    throw Error(ErrorCode::kInvalidModel, "", "is not an ONNX model: it has no graph");
  }
}

}  // namespace

onnx::ModelProto parse_model(const InputFile& file) {
  onnx::ModelProto model;
  const google::protobuf::LogSilencer silent;
  require_model(model.ParseFromFileDescriptor(file.descriptor()), model, file);
  return model;
}

namespace {

using google::protobuf::internal::WireFormatLite;
namespace io = google::protobuf::io;

/// Copies a model without the elements of its initializers, which are not read.
class WithoutWeights {
 public:
  /// `location`: what a tensor refers to instead, the file itself; empty: it just has none.
  explicit WithoutWeights(std::string location) : location_(std::move(location)) {}

  /// False where the bytes are no messages.
  bool copy(io::CodedInputStream& from, io::CodedOutputStream& to) const {
    constexpr std::array<int, 3> kPath{onnx::ModelProto::kGraphFieldNumber,
                                       onnx::GraphProto::kInitializerFieldNumber,
                                       onnx::TensorProto::kRawDataFieldNumber};
    return copy(kPath, from, to);
  }

 private:
  /// The fields of a message. The first on the path is a message, of whose fields the path goes
  /// on with one; the last is left out.
  bool copy(std::span<const int> path, io::CodedInputStream& from,
            io::CodedOutputStream& to) const {
    std::optional<onnx::TensorProto> elsewhere;
    while (const std::uint32_t tag = from.ReadTag()) {
      const bool is_on_path =
          WireFormatLite::GetTagFieldNumber(tag) == path[0] &&
          WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
      if (!is_on_path) {
        if (!WireFormatLite::SkipField(&from, tag, &to)) {
          return false;
        }
        continue;
      }
      int bytes = 0;
      if (!from.ReadVarintSizeAsInt(&bytes)) {
        return false;
      }
      if (path.size() > 1) {
        if (!copy_message(tag, bytes, path.subspan(1), from, to)) {
          return false;
        }
        continue;
      }
      elsewhere = reference(from.CurrentPosition(), bytes);
      if (!from.Skip(bytes)) {
        return false;
      }
    }
    if (elsewhere && !location_.empty()) {
      to.WriteString(elsewhere->SerializeAsString());  // fields that come last count
    }
    return from.ConsumedEntireMessage();
  }

  bool copy_message(std::uint32_t tag, int bytes, std::span<const int> path,
                    io::CodedInputStream& from, io::CodedOutputStream& to) const {
    std::string inner;
    {
      io::StringOutputStream stream(&inner);
      io::CodedOutputStream coded(&stream);
      const auto limit = from.PushLimit(bytes);
      if (!copy(path, from, coded)) {
        return false;
      }
      from.PopLimit(limit);
    }
    to.WriteVarint32(tag);
    to.WriteVarint32(static_cast<std::uint32_t>(inner.size()));
    to.WriteString(inner);
    return true;
  }

  onnx::TensorProto reference(int offset, int bytes) const {
    onnx::TensorProto result;
    result.set_data_location(onnx::TensorProto::EXTERNAL);
    const auto add = [&](const char* key, const std::string& value) {
      auto& entry = *result.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    };
    add("location", location_);
    add("offset", std::to_string(offset));
    add("length", std::to_string(bytes));
    return result;
  }

  std::string location_;
};

onnx::ModelProto parsed(const InputFile& file, const WithoutWeights& copier) {
  const google::protobuf::LogSilencer silent;
  std::string rest;
  bool is_whole = false;
  {
    io::FileInputStream stream(file.descriptor());
    io::CodedInputStream from(&stream);
    io::StringOutputStream to_stream(&rest);
    io::CodedOutputStream to(&to_stream);
    // Who skips does not see the end of the file.
    is_whole = copier.copy(from, to) &&
               static_cast<std::uint64_t>(from.CurrentPosition()) <= file.size();
  }
  onnx::ModelProto model;
  require_model(is_whole && model.ParseFromString(rest), model, file);
  return model;
}

}  // namespace

onnx::ModelProto parse_without_weights(const InputFile& file) {
  return parsed(file, WithoutWeights({}));
}

onnx::ModelProto parse_referring(const InputFile& file, const std::string& name) {
  return parsed(file, WithoutWeights(name));
}

std::vector<std::string> input_names(const std::filesystem::path& path) {
  const InputFile file(path);
  try {
    const onnx::ModelProto model = parse_without_weights(file);
    std::set<std::string> constants;
    for (const auto& constant : model.graph().initializer()) {
      constants.insert(constant.name());
    }
    std::vector<std::string> names;
    for (const auto& input : model.graph().input()) {
      if (!constants.contains(input.name())) {
        names.push_back(input.name());
      }
    }
    return names;
  } catch (Error& error) {
    error.at(path.string());
    throw;
  }
}

std::map<std::string, std::string> read_metadata(const std::filesystem::path& path) {
  const InputFile file(path);
  try {
    const onnx::ModelProto model = parse_without_weights(file);
    std::map<std::string, std::string> metadata;
    for (const auto& entry : model.metadata_props()) {
      metadata[entry.key()] = entry.value();
    }
    return metadata;
  } catch (Error& error) {
    error.at(path.string());
    throw;
  }
}

std::set<std::filesystem::path> external_files(const std::filesystem::path& path) {
  const InputFile file(path);
  try {
    const onnx::ModelProto model = parse_without_weights(file);
    std::set<std::filesystem::path> files;
    const auto add = [&](const onnx::TensorProto& tensor) {
      if (auto data = external_file(tensor, path.parent_path())) {
        files.insert(*std::move(data));
      }
    };
    for_each_graph(model.graph(), [&](const onnx::GraphProto& graph) {
      for (const onnx::TensorProto& tensor : graph.initializer()) {
        add(tensor);
      }
      for (const onnx::NodeProto& node : graph.node()) {
        for (const onnx::AttributeProto& attribute : node.attribute()) {
          add(attribute.t());
        }
      }
    });
    return files;
  } catch (Error& error) {
    error.at(path.string());
    throw;
  }
}

}  // namespace tare
