#include "fuzz/mutate_model.h"

#include "tare/execute.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

namespace tare::fuzz {
namespace {

using onnx::AttributeProto;
using onnx::TensorProto;

class ModelMutation {
 public:
  ModelMutation(onnx::ModelProto& model, std::uint32_t seed)
      : graph_(*model.mutable_graph()), random_(seed) {}

  void once() {
    constexpr std::array kKinds{
        &ModelMutation::attribute,       &ModelMutation::attribute,
        &ModelMutation::new_attribute,   &ModelMutation::constant_number,
        &ModelMutation::constant_shape,  &ModelMutation::constant_type,
        &ModelMutation::interface_shape, &ModelMutation::interface_type,
        &ModelMutation::remove,          &ModelMutation::rewire,
        &ModelMutation::rewire,          &ModelMutation::swap_operands,
        &ModelMutation::drop_operand,    &ModelMutation::other_operator,
        &ModelMutation::more_outputs,    &ModelMutation::double_node};
    if (graph_.node_size() > 0) {
      (this->*kKinds[below(kKinds.size())])();
    }
  }

 private:
  std::size_t below(std::size_t end) { return end == 0 ? 0 : random_() % end; }
  template <class List>
  auto* any(List& list) {
    return list.Mutable(static_cast<int>(below(static_cast<std::size_t>(list.size()))));
  }
  onnx::NodeProto& node() { return *any(*graph_.mutable_node()); }

  std::int64_t integer() {
    using Limits = std::numeric_limits<std::int64_t>;
    static constexpr std::array<std::int64_t, 18> kNotable{-1,
                                                           0,
                                                           1,
                                                           2,
                                                           3,
                                                           5,
                                                           17,
                                                           64,
                                                           1000,
                                                           -2,
                                                           -1000,
                                                           1LL << 31U,
                                                           1LL << 32U,
                                                           1LL << 33U,
                                                           1LL << 40U,
                                                           1LL << 62U,
                                                           Limits::max(),
                                                           Limits::min()};
    return below(3) == 0 ? static_cast<std::int64_t>(below(45)) - 5
                         : kNotable[below(kNotable.size())];
  }
  float real() {
    using Limits = std::numeric_limits<float>;
    static constexpr std::array kNotable{0.0F,
                                         1.0F,
                                         -1.0F,
                                         0.5F,
                                         Limits::denorm_min(),
                                         Limits::max(),
                                         Limits::quiet_NaN(),
                                         Limits::infinity(),
                                         -Limits::infinity()};
    return kNotable[below(kNotable.size())];
  }

  void set(AttributeProto& attribute) {
    switch (attribute.type()) {
      case AttributeProto::INT:
        return attribute.set_i(integer());
      case AttributeProto::FLOAT:
        return attribute.set_f(real());
      case AttributeProto::INTS:
        return set_list(attribute);
      case AttributeProto::STRING: {
        static constexpr std::array kTexts{"", "x", "SAME_UPPER", "VALID", "linear", "CRD"};
        return attribute.set_s(kTexts[below(kTexts.size())]);
      }
      case AttributeProto::TENSOR:
        return set_number(*attribute.mutable_t());
      default:
        return;
    }
  }

  void set_list(AttributeProto& attribute) {
    auto& list = *attribute.mutable_ints();
    const std::size_t kind = below(4);
    if (kind == 0) {
      list.Add(integer());
    } else if (kind == 1 && !list.empty()) {
      list.RemoveLast();
    } else if (kind == 2) {
      std::fill(list.begin(), list.end(), integer());
    } else if (!list.empty()) {
      list.Set(static_cast<int>(below(static_cast<std::size_t>(list.size()))), integer());
    }
  }

  void attribute() {
    for (int attempt = 0; attempt < 10; ++attempt) {
      onnx::NodeProto& changed = node();
      if (changed.attribute_size() > 0) {
        return set(*any(*changed.mutable_attribute()));
      }
    }
  }

  /// One that the operator may have.
  void new_attribute() {
    onnx::NodeProto& changed = node();
    const auto* schema = onnx::OpSchemaRegistry::Schema(changed.op_type(), 17, "");
    if (schema == nullptr || schema->attributes().empty()) {
      return;
    }
    const auto entry =
        std::next(schema->attributes().begin(),
                  static_cast<std::ptrdiff_t>(below(schema->attributes().size())));
    auto& list = *changed.mutable_attribute();
    auto found = std::find_if(list.begin(), list.end(),
                              [&](const auto& a) { return a.name() == entry->first; });
    AttributeProto& added = found != list.end() ? *found : *list.Add();
    added.set_name(entry->first);
    added.set_type(entry->second.type);
    for (std::size_t i = below(5); i < 5; ++i) {
      set(added);
    }
  }

  void set_number(TensorProto& tensor) {
    const bool is_real = tensor.data_type() == TensorProto::FLOAT;
    const std::size_t bytes = is_real ? 4 : tensor.data_type() == TensorProto::INT64 ? 8 : 1;
    if (tensor.raw_data().size() >= bytes) {
      const std::int64_t whole = integer();
      const float number = real();
      const std::size_t at = below(tensor.raw_data().size() / bytes) * bytes;
      std::memcpy(tensor.mutable_raw_data()->data() + at,
                  is_real ? static_cast<const void*>(&number) : &whole, bytes);
    } else if (tensor.float_data_size() > 0) {
      tensor.set_float_data(
          static_cast<int>(below(static_cast<std::size_t>(tensor.float_data_size()))), real());
    } else if (tensor.int64_data_size() > 0) {
      tensor.set_int64_data(
          static_cast<int>(below(static_cast<std::size_t>(tensor.int64_data_size()))),
          integer());
    }
  }

  /// Numbers that decide about shapes as often as weights, of which there are more.
  void constant_number() {
    std::vector<TensorProto*> all;
    const bool whole = below(2) == 0;
    for (TensorProto& tensor : *graph_.mutable_initializer()) {
      if ((tensor.data_type() == TensorProto::INT64) == whole) {
        all.push_back(&tensor);
      }
    }
    if (!all.empty()) {
      set_number(*all[below(all.size())]);
    }
  }

  void constant_shape() {
    if (graph_.initializer_size() == 0) {
      return;
    }
    TensorProto& tensor = *any(*graph_.mutable_initializer());
    auto& dims = *tensor.mutable_dims();
    const std::size_t kind = below(4);
    if (kind == 0 && !dims.empty()) {
      dims.Set(static_cast<int>(below(static_cast<std::size_t>(dims.size()))), 0);
      tensor.clear_raw_data();
      tensor.clear_float_data();
      tensor.clear_int64_data();
    } else if (kind == 1) {
      std::shuffle(dims.begin(), dims.end(), random_);
    } else if (kind == 2) {
      dims.Add(1);
    } else {
      std::int64_t product = 1;
      for (const std::int64_t extent : dims) {
        product *= extent;
      }
      dims.Clear();
      dims.Add(product);
    }
  }

  /// The same bytes as numbers of another type of that size, or not.
  void constant_type() {
    if (graph_.initializer_size() > 0) {
      any(*graph_.mutable_initializer())->set_data_type(static_cast<std::int32_t>(below(17)));
    }
  }

  onnx::TypeProto_Tensor* end_type() {
    auto& list = below(2) == 0 && graph_.input_size() > 0 ? *graph_.mutable_input()
                                                          : *graph_.mutable_output();
    return list.empty() ? nullptr : any(list)->mutable_type()->mutable_tensor_type();
  }

  void interface_shape() {
    onnx::TypeProto_Tensor* type = end_type();
    if (type == nullptr) {
      return;
    }
    auto& dims = *type->mutable_shape()->mutable_dim();
    const std::size_t kind = below(6);
    if (kind == 0) {
      type->clear_shape();
    } else if (kind == 1) {
      dims.Add()->set_dim_value(integer());
    } else if (kind == 2 && !dims.empty()) {
      dims.RemoveLast();
    } else if (!dims.empty()) {
      any(dims)->set_dim_value(integer());
    }
  }

  void interface_type() {
    if (onnx::TypeProto_Tensor* type = end_type()) {
      type->set_elem_type(static_cast<std::int32_t>(below(17)));
    }
  }

  /// Its readers read what it read.
  void remove() {
    const std::size_t at = below(static_cast<std::size_t>(graph_.node_size()));
    const onnx::NodeProto removed = graph_.node(static_cast<int>(at));
    graph_.mutable_node()->DeleteSubrange(static_cast<int>(at), 1);
    if (removed.input_size() == 0 || removed.output_size() == 0) {
      return;
    }
    for (onnx::NodeProto& reader : *graph_.mutable_node()) {
      std::replace(reader.mutable_input()->begin(), reader.mutable_input()->end(),
                   removed.output(0), removed.input(0));
    }
    for (auto& output : *graph_.mutable_output()) {
      if (output.name() == removed.output(0)) {
        output.set_name(removed.input(0));
      }
    }
  }

  /// Mostly to what comes before, so that there is no cycle.
  void rewire() {
    const std::size_t count = static_cast<std::size_t>(graph_.node_size());
    const std::size_t at = below(count);
    std::vector<std::string> names;
    for (const auto& input : graph_.input()) {
      names.push_back(input.name());
    }
    for (std::size_t i = 0; i < (below(5) == 0 ? count : at); ++i) {
      const auto& outputs = graph_.node(static_cast<int>(i)).output();
      names.insert(names.end(), outputs.begin(), outputs.end());
    }
    onnx::NodeProto& changed = *graph_.mutable_node(static_cast<int>(at));
    if (changed.input_size() > 0 && !names.empty()) {
      *any(*changed.mutable_input()) = names[below(names.size())];
    }
  }

  void swap_operands() {
    onnx::NodeProto& changed = node();
    if (changed.input_size() > 1) {
      std::shuffle(changed.mutable_input()->begin(), changed.mutable_input()->end(), random_);
    }
  }

  void drop_operand() {
    onnx::NodeProto& changed = node();
    if (changed.input_size() == 0) {
      return;
    }
    if (below(2) == 0) {
      changed.mutable_input()->RemoveLast();
    } else {
      any(*changed.mutable_input())->clear();
    }
  }

  void other_operator() {
    static const std::vector<std::string> known = executable_ops();
    node().set_op_type(known[below(known.size())]);
  }

  void more_outputs() {
    const onnx::NodeProto& shown = node();
    if (shown.output_size() > 0) {
      auto& output = *graph_.add_output();
      output.set_name(shown.output(0));
      output.mutable_type()->mutable_tensor_type()->set_elem_type(TensorProto::FLOAT);
    }
  }

  void double_node() {
    onnx::NodeProto copy = node();
    for (std::string& output : *copy.mutable_output()) {
      output += "_again";
    }
    if (copy.output_size() == 0) {
      return;
    }
    onnx::NodeProto& reader = node();
    if (reader.input_size() > 0) {
      *any(*reader.mutable_input()) = copy.output(0);
    }
    *graph_.add_node() = std::move(copy);
  }

  onnx::GraphProto& graph_;
  std::mt19937 random_;
};

}  // namespace

File mutate_model(Bytes bytes, std::uint32_t seed) {
  onnx::ModelProto model;
  if (!model.ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return {bytes.begin(), bytes.end()};
  }
  ModelMutation mutation(model, seed);
  constexpr std::array<int, 7> kTimes{1, 1, 1, 2, 2, 3, 4};
  for (int i = 0; i < kTimes[seed % kTimes.size()]; ++i) {
    mutation.once();
  }
  return file_of(model.SerializePartialAsString());
}

}  // namespace tare::fuzz
