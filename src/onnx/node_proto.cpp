#include "onnx/node_proto.h"

#include "tare/error.h"

#include "onnx/tensor_proto.h"

namespace tare {
namespace {

using onnx::AttributeProto;

/// Files of IR version 1 do not say the type.
AttributeProto::AttributeType type_of(const AttributeProto& proto) {
  if (proto.type() != AttributeProto::UNDEFINED) {
    return proto.type();
  }
  if (proto.has_f()) return AttributeProto::FLOAT;
  if (proto.has_i()) return AttributeProto::INT;
  if (proto.has_s()) return AttributeProto::STRING;
  if (proto.has_t()) return AttributeProto::TENSOR;
  if (proto.floats_size() > 0) return AttributeProto::FLOATS;
  if (proto.ints_size() > 0) return AttributeProto::INTS;
  if (proto.strings_size() > 0) return AttributeProto::STRINGS;
  return AttributeProto::UNDEFINED;
}

struct ProtoFiller {
  AttributeProto& proto;

  void operator()(std::int64_t value) const {
    proto.set_type(AttributeProto::INT);
    proto.set_i(value);
  }
  void operator()(float value) const {
    proto.set_type(AttributeProto::FLOAT);
    proto.set_f(value);
  }
  void operator()(const std::string& value) const {
    proto.set_type(AttributeProto::STRING);
    proto.set_s(value);
  }
  void operator()(const std::vector<std::int64_t>& values) const {
    proto.set_type(AttributeProto::INTS);
    proto.mutable_ints()->Add(values.begin(), values.end());
  }
  void operator()(const std::vector<float>& values) const {
    proto.set_type(AttributeProto::FLOATS);
    proto.mutable_floats()->Add(values.begin(), values.end());
  }
  void operator()(const std::vector<std::string>& values) const {
    proto.set_type(AttributeProto::STRINGS);
    proto.mutable_strings()->Add(values.begin(), values.end());
  }
  void operator()(const Tensor& value) const {
    proto.set_type(AttributeProto::TENSOR);
    fill_proto(value, *proto.mutable_t());
  }
};

}  // namespace

Attribute to_attribute(const AttributeProto& proto, const std::filesystem::path& folder) {
  switch (type_of(proto)) {
    case AttributeProto::FLOAT:
      return proto.f();
    case AttributeProto::INT:
      return std::int64_t{proto.i()};
    case AttributeProto::STRING:
      return proto.s();
    case AttributeProto::TENSOR:
      return to_tensor(proto.t(), folder);
    case AttributeProto::FLOATS:
      return std::vector<float>(proto.floats().begin(), proto.floats().end());
    case AttributeProto::INTS:
      return std::vector<std::int64_t>(proto.ints().begin(), proto.ints().end());
    case AttributeProto::STRINGS:
      return std::vector<std::string>(proto.strings().begin(), proto.strings().end());
    case AttributeProto::GRAPH:
    case AttributeProto::GRAPHS:
      throw Error(ErrorCode::kUnsupported, "",
                  "sub-graphs are not supported (attribute '" + proto.name() + "')");
    case AttributeProto::UNDEFINED:
      throw Error(ErrorCode::kInvalidModel, "",
                  "attribute '" + proto.name() + "' has no value");
    default:
      throw Error(ErrorCode::kUnsupported, "",
                  "attribute '" + proto.name() + "' is of type " +
                      AttributeProto::AttributeType_Name(proto.type()) +
                      ", which is not supported");
  }
}

Attributes to_attributes(const onnx::NodeProto& node, const std::filesystem::path& folder) {
  Attributes result;
  for (const AttributeProto& proto : node.attribute()) {
    if (result.has(proto.name())) {
      throw Error(ErrorCode::kInvalidModel, "",
                  "attribute '" + proto.name() + "' is given twice");
    }
    result.set(proto.name(), to_attribute(proto, folder));
  }
  return result;
}

onnx::NodeProto to_node_proto(const std::string& name, const std::string& op,
                              const Attributes& attributes) {
  onnx::NodeProto node;
  node.set_name(name);
  node.set_op_type(op);
  for (const auto& [key, value] : attributes.items()) {
    AttributeProto& proto = *node.add_attribute();
    proto.set_name(key);
    std::visit(ProtoFiller{proto}, value);
  }
  return node;
}

}  // namespace tare
