// Sequences of tensors and optional values. Where their lengths are known, and only there do
// they have a type, they are lists that importing keeps: what is taken out of one is what was
// put in, so graphs need no operators for them.
#include "onnx/constants.h"
#include "onnx/depends_on_data.h"
#include "onnx/graph_attribute.h"
#include "onnx/importer.h"
#include "onnx/node_proto.h"

#include <algorithm>
#include <utility>

namespace tare {
namespace {

/// Each is a result of a node.
constexpr std::int64_t kMostPieces = 4096;

std::int64_t integer_of(const onnx::NodeProto& node, std::string_view name,
                        std::int64_t fallback) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == name) {
      return attribute.i();
    }
  }
  return fallback;
}

/// The name of an operand; empty where it is absent.
std::string operand_of(const onnx::NodeProto& node, int operand) {
  return operand < node.input_size() ? node.input(operand) : std::string();
}

/// Lengths of pieces of `extent` elements; `given` is one for all, or those of all.
std::vector<std::int64_t> pieces(std::int64_t extent, const Tensor* given) {
  if (given != nullptr && !given->shape().empty()) {
    return given->to_int64();
  }
  const std::int64_t length = given != nullptr ? given->to_int64().at(0) : 1;
  if (length < 1) {
    throw Error(ErrorCode::kInvalidModel, "",
                "splits into pieces of " + std::to_string(length));
  }
  if (extent / length > kMostPieces) {
    throw Error(ErrorCode::kUnsupported, "",
                "splits " + std::to_string(extent) + " elements into pieces of " +
                    std::to_string(length) + ", which are too many");
  }
  std::vector<std::int64_t> lengths;
  for (std::int64_t begin = 0; begin < extent; begin += length) {
    lengths.push_back(std::min(length, extent - begin));
  }
  return lengths;
}

}  // namespace

const std::vector<ValueId>* Importer::sequence_of(const std::string& name) {
  const auto found = scopes_.back().sequences.find(name);
  return found == scopes_.back().sequences.end() ? nullptr : &found->second;
}

void Importer::define_sequence(const onnx::NodeProto& node, const std::string& result,
                               std::vector<ValueId> values) {
  scopes_.back().sequences.insert_or_assign(result, std::move(values));
  if (scopes_.size() == 1 && left_values_.insert(result).second) {
    // A tail that reads the sequence takes what makes it.
    seen_.push_back({&node, file_opset_, true, "its result is no tensor", true, true});
  }
}

void Importer::copy_value(const onnx::NodeProto& node, ValueId from, const std::string& to) {
  builder().begin({source_.node_names.at(&node), node.op_type()});
  builder().emit({builder().fresh_name(source_.node_names.at(&node) + "_copy"),
                  "Identity",
                  {from},
                  {to},
                  {}});
}

std::size_t Importer::position_in(const onnx::NodeProto& node, int operand, std::size_t length,
                                  std::size_t fallback) {
  const std::string name = operand_of(node, operand);
  if (name.empty()) {
    return fallback;
  }
  const Tensor& tensor = decisive_value(name);
  const auto end = static_cast<std::int64_t>(length);
  const std::int64_t given = tensor.size() == 1 ? tensor.to_int64()[0] : end + 1;
  const std::int64_t position = given < 0 ? given + end : given;
  if (position < 0 || position > end) {
    throw Error(
        ErrorCode::kInvalidModel, "",
        "position " + std::to_string(given) + " of a sequence of " + std::to_string(length));
  }
  return static_cast<std::size_t>(position);
}

bool Importer::split_to_sequence(const onnx::NodeProto& node) {
  const std::string operand = operand_of(node, 0);
  const auto data = operand.empty() ? std::nullopt : value_of(operand);
  if (!data) {
    return true;  // left, as its operand was
  }
  const Shape shape = builder().shape(*data);
  const std::size_t axis = normalized_axis(integer_of(node, "axis", 0), shape.size());
  const std::string split = operand_of(node, 1);
  const std::vector<std::int64_t> lengths =
      pieces(shape[axis], split.empty() ? nullptr : &decisive_value(split));
  const std::string& name = source_.node_names.at(&node);
  builder().begin({name, node.op_type()});
  std::vector<ValueId> values{*data};
  if (lengths.size() > 1) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      names.push_back(builder().fresh_name(name + "_" + std::to_string(i)));
    }
    values =
        builder().emit({builder().fresh_name(name + "_split"),
                        "Split",
                        {*data, builder().add_constant(name + "_lengths", vector_of(lengths))},
                        std::move(names),
                        {{"axis", static_cast<std::int64_t>(axis)}}});
  } else if (lengths.empty()) {
    values.clear();
  }
  if (split.empty() && integer_of(node, "keepdims", 1) == 0) {
    const std::vector<std::int64_t> axes{static_cast<std::int64_t>(axis)};
    for (ValueId& value : values) {
      value = builder().emit_helper(
          name + "_element", "Squeeze",
          {value, builder().add_constant(name + "_axis", vector_of(axes))});
    }
  }
  define_sequence(node, node.output(0), std::move(values));
  return true;
}

void Importer::map_sequence(const onnx::NodeProto& node) {
  const std::vector<ValueId>* first = sequence_of(operand_of(node, 0));
  if (first == nullptr) {
    return;
  }
  const std::size_t length = first->size();
  const onnx::GraphProto& body = graph_of(node, "body");
  std::vector<std::vector<ValueId>> results(static_cast<std::size_t>(node.output_size()));
  for (std::size_t i = 0; i < length; ++i) {
    std::vector<std::string> operands;
    for (const std::string& input : node.input()) {
      const std::vector<ValueId>* sequence = sequence_of(input);
      if (sequence != nullptr && sequence->size() <= i) {
        throw Error(ErrorCode::kInvalidModel, "", "its sequences are of different lengths");
      }
      operands.push_back(sequence != nullptr ? builder().graph().name((*sequence)[i]) : input);
    }
    const std::vector<std::string> made =
        add_body(node, body, operands, "_" + std::to_string(i));
    for (std::size_t k = 0; k < std::min(results.size(), made.size()); ++k) {
      if (const auto value = value_of(made[k])) {
        results[k].push_back(*value);
      }
    }
  }
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (results[k].size() == length) {
      define_sequence(node, node.output(static_cast<int>(k)), std::move(results[k]));
    }
  }
}

bool Importer::add_sequence(const onnx::NodeProto& node) {
  if (node.output(0).empty()) {
    return false;
  }
  const std::string& op = node.op_type();
  const std::string operand = operand_of(node, 0);
  if (op == "SplitToSequence") {
    return split_to_sequence(node);
  }
  if (op == "SequenceEmpty") {
    define_sequence(node, node.output(0), {});
    return true;
  }
  if (op == "SequenceConstruct") {
    if (auto values = operands_of(node)) {
      define_sequence(node, node.output(0), *std::move(values));
    }
    return true;
  }
  if (op == "Optional" && node.input_size() == 0) {
    scopes_.back().absent.insert(node.output(0));
    if (scopes_.size() == 1) {
      left_values_.insert(node.output(0));
      seen_.push_back({&node, file_opset_, true, "its result is no tensor", true, true});
    }
    return true;
  }
  const std::vector<ValueId>* sequence = sequence_of(operand);
  const std::string& name = source_.node_names.at(&node);
  if (op == "OptionalHasElement") {
    const bool is_absent = operand.empty() || scopes_.back().absent.contains(operand);
    if (is_absent || sequence != nullptr || value_of(operand)) {
      builder().graph().add_constant(node.output(0), Tensor::scalar(!is_absent));
    }
    return true;
  }
  if (op == "Optional" || op == "OptionalGetElement" || op == "Identity") {
    if (sequence != nullptr) {
      define_sequence(node, node.output(0), std::vector(*sequence));
      return true;
    }
    if (const auto value = op == "Identity" ? std::nullopt : value_of(operand)) {
      copy_value(node, *value, node.output(0));
      return true;
    }
    return op != "Identity";
  }
  if (op == "SequenceMap") {
    map_sequence(node);
    return true;
  }
  const bool reads_one = op == "SequenceAt" || op == "SequenceLength" ||
                         op == "SequenceErase" || op == "SequenceInsert" ||
                         op == "ConcatFromSequence";
  if (!reads_one || sequence == nullptr) {
    return reads_one;  // left, as its operand was
  }
  std::vector<ValueId> values = *sequence;
  if (op == "SequenceAt") {
    const std::size_t position = position_in(node, 1, values.size(), values.size());
    if (position == values.size()) {
      throw Error(ErrorCode::kInvalidModel, "", "takes an element behind the last one");
    }
    copy_value(node, values[position], node.output(0));
  } else if (op == "SequenceLength") {
    builder().graph().add_constant(node.output(0),
                                   Tensor::scalar(static_cast<std::int64_t>(values.size())));
  } else if (op == "SequenceErase") {
    const std::size_t last = values.empty() ? 0 : values.size() - 1;
    const std::size_t position = position_in(node, 1, values.size(), last);
    if (position >= values.size()) {
      throw Error(ErrorCode::kInvalidModel, "", "erases an element behind the last one");
    }
    values.erase(values.begin() + static_cast<std::ptrdiff_t>(position));
    define_sequence(node, node.output(0), std::move(values));
  } else if (op == "SequenceInsert") {
    const std::size_t position = position_in(node, 2, values.size(), values.size());
    if (const auto value = value_of(operand_of(node, 1))) {
      values.insert(values.begin() + static_cast<std::ptrdiff_t>(position), *value);
      define_sequence(node, node.output(0), std::move(values));
    }
  } else {
    builder().begin({name, op});
    const std::int64_t axis = integer_of(node, "axis", 0);
    if (integer_of(node, "new_axis", 0) != 0) {
      for (ValueId& value : values) {
        value = builder().emit_helper(
            name + "_element", "Unsqueeze",
            {value, builder().add_constant(name + "_axis", vector_of(std::vector{axis}))});
      }
    }
    builder().emit({name, "Concat", std::move(values), {node.output(0)}, {{"axis", axis}}});
  }
  return true;
}

}  // namespace tare
