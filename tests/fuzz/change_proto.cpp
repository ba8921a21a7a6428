#include "fuzz/change_proto.h"

#include "tare/execute.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <onnx/onnx_pb.h>

namespace tare::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

class Changing {
 public:
  Changing(onnx::ModelProto& model, std::uint32_t seed) : model_(model), random_(seed) {
    words_ = executable_ops();
    for (const onnx::NodeProto& node : model.graph().node()) {
      words_.insert(words_.end(), node.input().begin(), node.input().end());
      words_.insert(words_.end(), node.output().begin(), node.output().end());
      for (const onnx::AttributeProto& attribute : node.attribute()) {
        words_.push_back(attribute.name());
      }
    }
    words_.emplace_back();
  }

  void once() {
    std::vector<Message*> all;
    collect(model_, all);
    Message& message = *all[below(all.size())];
    const auto& descriptor = *message.GetDescriptor();
    if (descriptor.field_count() == 0) {
      return;
    }
    // Fields that are there more often than others.
    std::vector<const FieldDescriptor*> present;
    message.GetReflection()->ListFields(message, &present);
    const FieldDescriptor& field =
        !present.empty() && below(4) != 0
            ? *present[below(present.size())]
            : *descriptor.field(
                  static_cast<int>(below(static_cast<std::size_t>(descriptor.field_count()))));
    if (field.is_repeated()) {
      change_list(message, field);
    } else {
      change_one(message, field);
    }
  }

 private:
  std::size_t below(std::size_t end) { return random_() % end; }

  static void collect(Message& message, std::vector<Message*>& all) {
    all.push_back(&message);
    std::vector<const FieldDescriptor*> fields;
    const Reflection& reflection = *message.GetReflection();
    reflection.ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
        continue;
      }
      if (!field->is_repeated()) {
        collect(*reflection.MutableMessage(&message, field), all);
        continue;
      }
      for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
        collect(*reflection.MutableRepeatedMessage(&message, field, i), all);
      }
    }
  }

  std::int64_t integer() {
    using Limits = std::numeric_limits<std::int64_t>;
    static constexpr std::array<std::int64_t, 16> kNotable{-1,
                                                           0,
                                                           1,
                                                           2,
                                                           3,
                                                           4,
                                                           7,
                                                           64,
                                                           1000,
                                                           1 << 20,
                                                           -1000,
                                                           1LL << 31U,
                                                           1LL << 33U,
                                                           Limits::max(),
                                                           Limits::min(),
                                                           -2};
    return below(4) == 0 ? static_cast<std::int64_t>(below(20)) - 5
                         : kNotable[below(kNotable.size())];
  }
  double real() {
    static constexpr std::array kNotable{0.0,
                                         1.0,
                                         -1.0,
                                         0.5,
                                         1e-45,
                                         3e38,
                                         1e300,
                                         -0.0,
                                         std::numeric_limits<double>::quiet_NaN(),
                                         std::numeric_limits<double>::infinity()};
    return kNotable[below(kNotable.size())];
  }
  float single() {
    const double value = real();
    return std::isfinite(value) ? static_cast<float>(std::clamp(value, -3e38, 3e38))
                                : static_cast<float>(value);
  }
  std::string text(std::string before) {
    if (below(4) != 0) {
      return words_[below(words_.size())];
    }
    if (!before.empty()) {
      before[below(before.size())] = static_cast<char>(random_());
      before.resize(below(2) == 0 ? before.size() : below(before.size() + 1));
    }
    return before;
  }

  void change_one(Message& message, const FieldDescriptor& field) {
    const Reflection& reflection = *message.GetReflection();
    if (below(8) == 0) {
      reflection.ClearField(&message, &field);
      return;
    }
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return reflection.SetInt32(&message, &field, static_cast<std::int32_t>(integer()));
      case FieldDescriptor::CPPTYPE_INT64:
        return reflection.SetInt64(&message, &field, integer());
      case FieldDescriptor::CPPTYPE_UINT64:
        return reflection.SetUInt64(&message, &field, static_cast<std::uint64_t>(integer()));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return reflection.SetFloat(&message, &field, single());
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return reflection.SetDouble(&message, &field, real());
      case FieldDescriptor::CPPTYPE_ENUM:
        return reflection.SetEnumValue(&message, &field, static_cast<int>(below(24)));
      case FieldDescriptor::CPPTYPE_STRING:
        return reflection.SetString(&message, &field,
                                    text(reflection.GetString(message, &field)));
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return copy_into(*reflection.MutableMessage(&message, &field));
      default:
        return;
    }
  }

  /// Another message of the same kind.
  void copy_into(Message& message) {
    std::vector<Message*> all;
    collect(model_, all);
    std::vector<Message*> alike;
    std::copy_if(all.begin(), all.end(), std::back_inserter(alike), [&](const Message* other) {
      return other != &message && other->GetDescriptor() == message.GetDescriptor();
    });
    if (!alike.empty()) {
      const std::string bytes = alike[below(alike.size())]->SerializePartialAsString();
      message.ParsePartialFromString(bytes);
    }
  }

  void change_list(Message& message, const FieldDescriptor& field) {
    const Reflection& reflection = *message.GetReflection();
    const int size = reflection.FieldSize(message, &field);
    const int at = size == 0 ? 0 : static_cast<int>(below(static_cast<std::size_t>(size)));
    const std::size_t kind = size == 0 ? 0 : below(5);
    if (kind == 1) {
      reflection.RemoveLast(&message, &field);
    } else if (kind == 2) {
      const int other = static_cast<int>(below(static_cast<std::size_t>(size)));
      reflection.SwapElements(&message, &field, at, other);
    } else if (kind == 0) {
      add(message, field);
    } else {
      change_element(message, field, at);
    }
  }

  void add(Message& message, const FieldDescriptor& field) {
    const Reflection& reflection = *message.GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return reflection.AddInt32(&message, &field, static_cast<std::int32_t>(integer()));
      case FieldDescriptor::CPPTYPE_INT64:
        return reflection.AddInt64(&message, &field, integer());
      case FieldDescriptor::CPPTYPE_UINT64:
        return reflection.AddUInt64(&message, &field, static_cast<std::uint64_t>(integer()));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return reflection.AddFloat(&message, &field, single());
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return reflection.AddDouble(&message, &field, real());
      case FieldDescriptor::CPPTYPE_STRING:
        return reflection.AddString(&message, &field, text(""));
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return copy_into(*reflection.AddMessage(&message, &field));
      default:
        return;
    }
  }

  void change_element(Message& message, const FieldDescriptor& field, int at) {
    const Reflection& reflection = *message.GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return reflection.SetRepeatedInt32(&message, &field, at,
                                           static_cast<std::int32_t>(integer()));
      case FieldDescriptor::CPPTYPE_INT64:
        return reflection.SetRepeatedInt64(&message, &field, at, integer());
      case FieldDescriptor::CPPTYPE_FLOAT:
        return reflection.SetRepeatedFloat(&message, &field, at, single());
      case FieldDescriptor::CPPTYPE_STRING:
        return reflection.SetRepeatedString(
            &message, &field, at, text(reflection.GetRepeatedString(message, &field, at)));
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return copy_into(*reflection.MutableRepeatedMessage(&message, &field, at));
      default:
        return;
    }
  }

  onnx::ModelProto& model_;
  std::mt19937 random_;
  std::vector<std::string> words_;
};

}  // namespace

File change_model(Bytes bytes, std::uint32_t seed) {
  onnx::ModelProto model;
  if (!model.ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return {bytes.begin(), bytes.end()};
  }
  Changing changing(model, seed);
  for (std::uint32_t i = 0; i <= seed % 3; ++i) {
    changing.once();
  }
  return file_of(model.SerializePartialAsString());
}

}  // namespace tare::fuzz
