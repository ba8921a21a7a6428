// Texts on the nodes of a model that is a file already, of which nothing else changes.
#include "onnx/annotate.h"

#include "tare/error.h"
#include "tare/model_files.h"

#include "onnx/model_file.h"
#include "onnx/parse_model.h"

#include <algorithm>
#include <map>
#include <string>

#include <google/protobuf/unknown_field_set.h>

namespace tare {
namespace {

using Texts = std::map<std::string, std::string>;

/// The number of NodeProto::metadata_props. They came with IR version 10, which Debian's onnx
/// library is too old for; readers of earlier versions skip the field.
constexpr int kMetadataProps = 9;

/// What of a node stands for the value X of the float network is called so.
constexpr const char* kQuantized = "_quantized";

class NodesToAnnotate {
 public:
  explicit NodesToAnnotate(std::span<const NodeTexts> all) {
    for (const NodeTexts& entry : all) {
      if (!entry.node.empty()) {
        by_name_.emplace(entry.node, &entry.texts);
      }
      by_result_.emplace(entry.result, &entry.texts);
      by_result_.emplace(entry.result + kQuantized, &entry.texts);
    }
  }

  /// Null: there is nothing to say.
  const Texts* find(const onnx::NodeProto& node) const {
    if (const auto named = by_name_.find(node.name()); named != by_name_.end()) {
      return named->second;
    }
    if (is_conversion(node)) {
      return nullptr;
    }
    for (const std::string& output : node.output()) {
      if (const auto found = by_result_.find(output); found != by_result_.end()) {
        return found->second;
      }
    }
    return nullptr;
  }

 private:
  /// These make values that are named after layers, and are none.
  static bool is_conversion(const onnx::NodeProto& node) {
    return node.op_type() == "QuantizeLinear" || node.op_type() == "DequantizeLinear";
  }

  std::map<std::string, const Texts*> by_name_;
  std::map<std::string, const Texts*> by_result_;
};

/// Texts of an earlier time under the same keys go.
void annotate(const Texts& texts, onnx::NodeProto& node) {
  auto& fields = *node.GetReflection()->MutableUnknownFields(&node);
  for (int i = fields.field_count(); i-- > 0;) {
    const auto& field = fields.field(i);
    onnx::StringStringEntryProto entry;
    if (field.number() == kMetadataProps &&
        field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED &&
        entry.ParseFromString(field.length_delimited()) && texts.contains(entry.key())) {
      fields.DeleteSubrange(i, 1);
    }
  }
  for (const auto& [key, text] : texts) {
    onnx::StringStringEntryProto entry;
    entry.set_key(key);
    entry.set_value(text);
    fields.AddLengthDelimited(kMetadataProps, entry.SerializeAsString());
  }
}

/// A copy refers to the same files by the same names.
void require_same_folder(const std::filesystem::path& model,
                         const std::filesystem::path& copy) {
  std::error_code none;
  const auto folder = [](const std::filesystem::path& file) {
    return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  };
  if (!external_files(model).empty() &&
      !std::filesystem::equivalent(folder(model), folder(copy), none)) {
    throw Error(ErrorCode::kIo, copy.string(),
                "is in another folder than '" + model.string() +
                    "', which has constants in files beside it")
        .expected("a file in the same folder");
  }
}

}  // namespace

void annotate_onnx(const std::filesystem::path& model, const std::filesystem::path& copy,
                   std::span<const NodeTexts> nodes) {
  onnx::ModelProto proto;
  try {
    proto = parse_model(InputFile(model));
  } catch (Error& error) {
    error.at(model.string());
    throw;
  }
  require_same_folder(model, copy);
  const NodesToAnnotate wanted(nodes);
  for (onnx::NodeProto& node : *proto.mutable_graph()->mutable_node()) {
    if (const Texts* texts = wanted.find(node)) {
      annotate(*texts, node);
    }
  }
  save_message(proto, copy);
}

}  // namespace tare
