// If, Loop and Scan, whose graphs become graphs of their own with the values that they read
// from outside as inputs. All types are static, so a loop that collects results must have a
// number of iterations that is known.
#include "graph/operators/inner_graphs.h"
#include "onnx/constants.h"
#include "onnx/depends_on_data.h"
#include "onnx/graph_attribute.h"
#include "onnx/importer.h"
#include "onnx/node_proto.h"

#include <algorithm>
#include <utility>

namespace tare {
namespace {

std::string described(const std::vector<TensorType>& types) {
  std::string text;
  for (const TensorType& type : types) {
    text +=
        (text.empty() ? "" : ", ") + std::string(name_of(type.dtype)) + to_string(type.shape);
  }
  return text.empty() ? "nothing" : text;
}

TensorType plain_type(DType dtype, Shape shape) {
  return {.dtype = dtype, .shape = std::move(shape), .quant = {}, .point = {}};
}

/// The state of a loop that an iteration makes another type of; nothing where all stay.
std::optional<std::size_t> changed_state(const std::vector<TensorType>& before,
                                         const std::vector<TensorType>& after) {
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i].dtype != after[i].dtype || before[i].shape != after[i].shape) {
      return i;
    }
  }
  return std::nullopt;
}

/// Each iteration replaces them by others of the same types.
void expect_states(const std::vector<TensorType>& before,
                   const std::vector<TensorType>& after) {
  if (const auto i = changed_state(before, after)) {
    throw DependsOnData("an iteration makes " + described({after[*i]}) +
                        " of a state that is " + described({before[*i]}));
  }
}

/// What is collected from all iterations: one more axis, with their number.
TensorType collected(const TensorType& type, std::int64_t iterations, std::int64_t axis) {
  const auto rank = static_cast<std::int64_t>(type.shape.size());
  const std::int64_t place = axis < 0 ? axis + rank + 1 : axis;
  if (place < 0 || place > rank) {
    throw Error(ErrorCode::kInvalidModel, "", "collects along axis " + std::to_string(axis));
  }
  Shape shape = type.shape;
  shape.insert(shape.begin() + place, iterations);
  return plain_type(type.dtype, std::move(shape));
}

void expect_counts(const onnx::NodeProto& node, const onnx::GraphProto& body,
                   std::size_t inputs, std::size_t outputs, std::size_t results) {
  if (static_cast<std::size_t>(body.input_size()) != inputs ||
      static_cast<std::size_t>(body.output_size()) < outputs ||
      static_cast<std::size_t>(node.output_size()) != results) {
    throw Error(ErrorCode::kInvalidModel, "",
                "its body has " + std::to_string(body.input_size()) + " inputs and " +
                    std::to_string(body.output_size()) + " outputs, and it " +
                    std::to_string(node.output_size()) + " results");
  }
}

}  // namespace

void Importer::add_control(const onnx::NodeProto& node, const std::vector<ValueId>& inputs) {
  if (node.op_type() == "If") {
    add_if(node, inputs);
  } else if (node.op_type() == "Loop" && runs_) {
    unroll(node);
  } else if (node.op_type() == "Loop") {
    add_loop(node, inputs);
  } else if (opset_ < 9) {
    add_scan_of_batch(node, inputs);
  } else {
    add_scan(node, inputs);
  }
}

std::optional<Importer::InnerGraph> Importer::import_inner(
    const onnx::NodeProto& node, const std::string& attribute,
    const std::vector<TensorType>& inputs) {
  // take_part() moves the part to where it stays.
  const std::vector<const onnx::NodeProto*> nodes =
      take_part(renamed_body(graph_of(node, attribute), fresh_names(node)));
  const onnx::GraphProto& part = parts_.back();
  scopes_.push_back({GraphBuilder(options_, reserved_), {}});
  InnerGraph inner;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    builder().graph().add_input(part.input(static_cast<int>(i)).name(), inputs[i]);
  }
  for (const onnx::NodeProto* each : nodes) {
    add_node(*each);
  }
  std::vector<ValueId> outputs;
  for (const auto& output : part.output()) {
    if (const auto id = value_of(output.name())) {
      outputs.push_back(*id);
      inner.results.push_back(builder().type(*id));
    }
  }
  const bool is_whole = outputs.size() == static_cast<std::size_t>(part.output_size());
  builder().graph().set_outputs(std::move(outputs));
  inner.graph = std::move(builder().graph());
  inner.captured = std::move(scopes_.back().captured);
  scopes_.pop_back();
  if (!is_whole) {
    return std::nullopt;  // what it lacks is among the faults
  }
  inner.graph.graph_name = attribute;
  inner.graph.erase_unused_constants();
  return inner;
}

void Importer::emit_control(const onnx::NodeProto& node, std::vector<ValueId> inputs,
                            const std::vector<InnerGraph>& graphs,
                            std::vector<TensorType> results, Attributes attributes) {
  std::vector<std::string> captured;
  const std::vector<std::string> names = graph_attributes(node.op_type());
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    attributes.set(names[i], print(graphs[i].graph));
    for (const std::string& name : graphs[i].captured) {
      if (std::find(captured.begin(), captured.end(), name) == captured.end()) {
        captured.push_back(name);
        inputs.push_back(*value_of(name));
      }
    }
  }
  attributes.set("captured", std::move(captured));
  const std::string& name = source_.node_names.at(&node);
  builder().begin({name, node.op_type()});
  builder().emit({name,
                  node.op_type(),
                  std::move(inputs),
                  {node.output().begin(), node.output().end()},
                  std::move(attributes)},
                 std::move(results));
}

void Importer::add_if(const onnx::NodeProto& node, const std::vector<ValueId>& inputs) {
  if (inputs.size() != 1 || !inputs[0]) {
    throw Error(ErrorCode::kInvalidModel, "", "has no condition");
  }
  const auto require_one = [](std::int64_t elements) {
    if (elements != 1) {
      throw Error(ErrorCode::kInvalidModel, "",
                  "its condition has " + std::to_string(elements) + " elements");
    }
  };
  if (const Tensor* condition = builder().decisive(inputs[0])) {
    require_one(condition->size());
    const char* wanted = condition->to_int64()[0] != 0 ? "then_branch" : "else_branch";
    add_part(inlined_branch(graph_of(node, wanted),
                            {node.output().begin(), node.output().end()}, fresh_names(node)));
    return;
  }
  require_one(element_count(builder().shape(inputs[0])));
  std::vector<InnerGraph> branches;
  for (const char* name : {"then_branch", "else_branch"}) {
    std::optional<InnerGraph> branch = import_inner(node, name, {});
    if (!branch) {
      return;
    }
    branches.push_back(*std::move(branch));
    if (branches.back().results.size() != static_cast<std::size_t>(node.output_size())) {
      throw Error(ErrorCode::kInvalidModel, "",
                  "a branch has " + std::to_string(branches.back().results.size()) +
                      " results, and it " + std::to_string(node.output_size()));
    }
  }
  if (branches[0].results != branches[1].results) {
    throw DependsOnData("its condition depends on data, and its branches give " +
                        described(branches[0].results) + " or " +
                        described(branches[1].results));
  }
  std::vector<TensorType> results = branches[0].results;
  emit_control(node, inputs, branches, std::move(results), {});
}

void Importer::add_loop(const onnx::NodeProto& node, const std::vector<ValueId>& inputs) {
  std::vector<ValueId> operands = inputs;
  operands.resize(std::max<std::size_t>(operands.size(), 2));
  std::vector<TensorType> types{plain_type(DType::kInt64, {}), plain_type(DType::kBool, {})};
  for (std::size_t i = 2; i < operands.size(); ++i) {
    if (!operands[i]) {
      throw Error(ErrorCode::kInvalidModel, "", "a state has no first value");
    }
    types.push_back(builder().type(operands[i]));
  }
  const std::size_t states = types.size() - 2;
  const onnx::GraphProto& body = graph_of(node, "body");
  const auto outputs = static_cast<std::size_t>(body.output_size());
  expect_counts(node, body, types.size(), states + 1, outputs - 1);
  const Tensor* most = operands[0] ? builder().decisive(operands[0]) : nullptr;
  const Tensor* goes_on = operands[1] ? builder().decisive(operands[1]) : nullptr;
  const bool is_counted = most != nullptr && most->size() == 1 &&
                          (!operands[1] || (goes_on != nullptr && goes_on->size() == 1));
  if (outputs > states + 1 && !is_counted) {
    throw DependsOnData("collects results of iterations whose number depends on data");
  }
  const bool starts = !operands[1] || !is_counted || goes_on->to_int64()[0] != 0;
  const std::int64_t iterations =
      is_counted && starts ? std::max<std::int64_t>(most->to_int64()[0], 0) : 0;

  std::optional<InnerGraph> inner = import_inner(node, "body", types);
  if (!inner) {
    return;
  }
  std::vector<TensorType> results(inner->results.begin() + 1, inner->results.end());
  const std::vector<TensorType> first(types.begin() + 2, types.end());
  if (is_counted && changed_state(first, results)) {
    unroll(node);
    return;
  }
  expect_states(first, results);
  for (std::size_t i = states; i < results.size(); ++i) {
    results[i] = collected(results[i], iterations, 0);
  }
  emit_control(node, std::move(operands), {*std::move(inner)}, std::move(results), {});
}

void Importer::add_scan(const onnx::NodeProto& node, const std::vector<ValueId>& inputs) {
  Attributes attributes;
  for (const auto& attribute : node.attribute()) {
    if (!attribute.has_g()) {
      attributes.set(attribute.name(), to_attribute(attribute, folder_));
    }
  }
  const std::int64_t scanned = attributes.integer("num_scan_inputs");
  const auto operands = static_cast<std::int64_t>(inputs.size());
  if (scanned < 1 || scanned > operands ||
      std::any_of(inputs.begin(), inputs.end(), [](ValueId id) { return !id; })) {
    throw Error(
        ErrorCode::kInvalidModel, "",
        "scans " + std::to_string(scanned) + " of " + std::to_string(operands) + " operands");
  }
  const auto states = static_cast<std::size_t>(operands - scanned);
  const std::vector<std::int64_t> axes = attributes.integers(
      "scan_input_axes", std::vector<std::int64_t>(static_cast<std::size_t>(scanned), 0));
  std::vector<TensorType> types;
  std::optional<std::int64_t> iterations;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    TensorType type = plain_type(builder().type(inputs[i]).dtype, builder().shape(inputs[i]));
    if (i >= states) {
      const auto rank = static_cast<std::int64_t>(type.shape.size());
      std::int64_t axis = i - states < axes.size() ? axes[i - states] : rank;
      axis += axis < 0 ? rank : 0;
      if (axis < 0 || axis >= rank) {
        throw Error(ErrorCode::kInvalidModel, "",
                    "operand " + std::to_string(i) + " of rank " + std::to_string(rank) +
                        " is scanned along another axis than it has");
      }
      const std::int64_t extent = type.shape[static_cast<std::size_t>(axis)];
      if (extent != iterations.value_or(extent)) {
        throw Error(ErrorCode::kInvalidModel, "", "scans operands of different lengths");
      }
      iterations = extent;
      type.shape.erase(type.shape.begin() + axis);
    }
    types.push_back(std::move(type));
  }
  const onnx::GraphProto& body = graph_of(node, "body");
  const auto outputs = static_cast<std::size_t>(body.output_size());
  expect_counts(node, body, types.size(), states, outputs);
  const std::vector<std::int64_t> result_axes =
      attributes.integers("scan_output_axes", std::vector<std::int64_t>(outputs - states, 0));
  if (result_axes.size() != outputs - states) {
    throw Error(ErrorCode::kInvalidModel, "", "collects along another number of axes");
  }
  std::optional<InnerGraph> inner = import_inner(node, "body", types);
  if (!inner) {
    return;
  }
  std::vector<TensorType> results = inner->results;
  expect_states({types.begin(), types.begin() + static_cast<std::ptrdiff_t>(states)}, results);
  for (std::size_t i = states; i < results.size(); ++i) {
    results[i] = collected(results[i], iterations.value(), result_axes[i - states]);
  }
  emit_control(node, inputs, {*std::move(inner)}, std::move(results), std::move(attributes));
}

void Importer::add_scan_of_batch(const onnx::NodeProto& node,
                                 const std::vector<ValueId>& inputs) {
  if (inputs.empty() || inputs[0]) {
    throw Error(ErrorCode::kUnsupported, "", "Scan of opset 8 with lengths of its own");
  }
  const std::string& name = source_.node_names.at(&node);
  std::vector<ValueId> operands;
  for (auto input = inputs.begin() + 1; input != inputs.end(); ++input) {
    const Shape shape = *input ? builder().shape(*input) : Shape{};
    if (shape.empty() || shape[0] != 1) {
      throw Error(ErrorCode::kUnsupported, "", "Scan of opset 8 of more than one sample");
    }
    const Shape sample(shape.begin() + 1, shape.end());
    const ValueId extents = builder().add_constant(name + "_shape", vector_of(sample));
    operands.push_back(builder().emit_helper(name + "_operand", "Reshape", {*input, extents}));
  }
  onnx::NodeProto& newer = *parts_.emplace_back().add_node();
  newer = node;
  source_.node_names.emplace(&newer, name);
  for (auto& attribute : *newer.mutable_attribute()) {
    if (attribute.name() == "directions") {
      attribute.set_name("scan_input_directions");
    }
  }
  for (std::string& output : *newer.mutable_output()) {
    output = builder().fresh_name(name + "_result");
  }
  add_scan(newer, operands);
  for (int i = 0; i < node.output_size(); ++i) {
    const auto result = builder().graph().find_value(newer.output(i));
    if (!result || node.output(i).empty()) {
      continue;  // what it lacks is among the faults, or nobody reads it
    }
    Shape shape = builder().shape(*result);
    shape.insert(shape.begin(), 1);
    const ValueId extents = builder().add_constant(name + "_shape", vector_of(shape));
    builder().emit({builder().fresh_name(name + "_batch"),
                    "Reshape",
                    {*result, extents},
                    {node.output(i)},
                    {}});
  }
}

}  // namespace tare
