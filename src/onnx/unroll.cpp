// Iterations of a loop one after another: where all values are known, and at import where
// states are sequences or change their shapes. Linear in the number of nodes that this makes,
// which is bounded.
#include "onnx/constants.h"
#include "onnx/depends_on_data.h"
#include "onnx/graph_attribute.h"
#include "onnx/importer.h"
#include "onnx/tensor_proto.h"

#include <limits>
#include <utility>

namespace tare {
namespace {

/// Of loops that become part of a graph; longer ones stay as they are.
constexpr std::int64_t kMostUnrolled = 256;
constexpr std::int64_t kMostUnrolledNodes = 4096;
/// Of all loops together, those inside of others for each iteration of these.
constexpr std::int64_t kMostNodesInAll = 1 << 14;
/// The same where all values are known: a loop may have no end.
constexpr std::int64_t kMostNodesInRun = 1 << 18;

/// What a loop collects in no iteration, by what it declares.
Tensor nothing_collected(const onnx::ValueInfoProto& declared) {
  const auto& type = declared.type().tensor_type();
  Shape shape{0};
  for (const auto& dim : type.shape().dim()) {
    shape.push_back(dim.has_dim_value() ? dim.dim_value() : 0);
  }
  return Tensor(required_dtype(type.elem_type()), std::move(shape));
}

}  // namespace

const Tensor& Importer::decisive_value(const std::string& name) {
  const auto id = value_of(name);
  const Tensor* tensor = id ? builder().decisive(*id) : nullptr;
  if (tensor == nullptr) {
    throw DependsOnData("'" + name + "' depends on data");
  }
  return *tensor;
}

std::vector<std::string> Importer::add_body(const onnx::NodeProto& node,
                                            const onnx::GraphProto& body,
                                            const std::vector<std::string>& operands,
                                            const std::string& suffix) {
  if (static_cast<std::size_t>(body.input_size()) != operands.size()) {
    throw Error(ErrorCode::kInvalidModel, "",
                "its body has " + std::to_string(body.input_size()) + " inputs")
        .expected(std::to_string(operands.size()));
  }
  onnx::GraphProto part = body;
  std::map<std::string, std::string> names;
  for (int i = 0; i < body.input_size(); ++i) {
    names.emplace(body.input(i).name(), operands[static_cast<std::size_t>(i)]);
  }
  for (const std::string& operand : operands) {
    source_.names.insert(operand);  // some are not of the model
  }
  part.clear_input();
  // With a suffix of its own each copy finds its names at once.
  rename_graph(part, std::move(names),
               [&, fresh = fresh_names(node)](const std::string& inner) {
                 return fresh(inner + suffix);
               });
  std::vector<std::string> results;
  for (const auto& output : part.output()) {
    results.push_back(output.name());
  }
  add_part(std::move(part));
  return results;
}

void Importer::unroll(const onnx::NodeProto& node) {
  const std::string name = source_.node_names.at(&node);
  const onnx::GraphProto& body = graph_of(node, "body");
  const auto given = [&](int operand) {
    return operand < node.input_size() && !node.input(operand).empty();
  };
  const auto count = [&](int operand) {
    const Tensor& tensor = decisive_value(node.input(operand));
    if (tensor.size() != 1) {
      throw Error(ErrorCode::kInvalidModel, "", "does not say when it ends");
    }
    return tensor.to_int64()[0];
  };
  const std::int64_t most = given(0) ? count(0) : std::numeric_limits<std::int64_t>::max();
  bool goes_on = !given(1) || count(1) != 0;
  std::vector<std::string> states;
  for (int i = 2; i < node.input_size(); ++i) {
    states.push_back(node.input(i));
  }
  const int collecting = node.output_size() - static_cast<int>(states.size());
  if (collecting < 0 || body.output_size() != node.output_size() + 1) {
    throw Error(ErrorCode::kInvalidModel, "", "its body has other results than it");
  }
  std::vector<std::vector<ValueId>> collected(static_cast<std::size_t>(collecting));
  if (!runs_ && (most > kMostUnrolled || most * body.node_size() > kMostUnrolledNodes)) {
    throw DependsOnData("a state changes its shape in each of up to " + std::to_string(most) +
                        " iterations");
  }
  for (std::int64_t i = 0; i < most && goes_on; ++i) {
    unrolled_nodes_ += body.node_size();
    if (unrolled_nodes_ > (runs_ ? kMostNodesInRun : kMostNodesInAll)) {
      throw Error(runs_ ? ErrorCode::kInvalidData : ErrorCode::kUnsupported, "",
                  "has not ended after " + std::to_string(i) + " iterations, with " +
                      std::to_string(unrolled_nodes_) + " nodes in all loops together");
    }
    const std::string suffix = "_" + std::to_string(i);
    std::vector<std::string> operands;
    for (Tensor tensor : {Tensor::scalar(i), Tensor::scalar(true)}) {
      const ValueId id = builder().add_constant(name + "_step" + suffix, std::move(tensor));
      operands.push_back(builder().graph().name(id));
    }
    operands.insert(operands.end(), states.begin(), states.end());
    const std::vector<std::string> results = add_body(node, body, operands, suffix);
    goes_on = decisive_value(results[0]).to_int64().at(0) != 0;
    for (std::size_t k = 0; k < states.size(); ++k) {
      states[k] = results[k + 1];
    }
    for (std::size_t k = 0; k < collected.size(); ++k) {
      const auto value = value_of(results[states.size() + 1 + k]);
      if (!value) {
        throw Error(ErrorCode::kUnsupported, "", "an iteration cannot be computed");
      }
      const std::vector<std::int64_t> axis{0};
      collected[k].push_back(builder().emit_helper(
          name + "_row" + suffix, "Unsqueeze",
          {*value, builder().add_constant(name + "_axis" + suffix, vector_of(axis))}));
    }
  }
  for (std::size_t k = 0; k < states.size(); ++k) {
    const std::string& result = node.output(static_cast<int>(k));
    if (result.empty()) {
      continue;
    }
    if (const std::vector<ValueId>* sequence = sequence_of(states[k])) {
      define_sequence(node, result, std::vector(*sequence));
    } else if (const auto value = value_of(states[k])) {
      copy_value(node, *value, result);
    }
  }
  for (std::size_t k = 0; k < collected.size(); ++k) {
    const int place = static_cast<int>(states.size() + k);
    const std::string& result = node.output(place);
    if (result.empty()) {
      continue;
    }
    if (collected[k].empty()) {
      builder().graph().add_constant(result, nothing_collected(body.output(place + 1)));
      continue;
    }
    builder().begin({name, node.op_type()});
    builder().emit({builder().fresh_name(name + "_rows"),
                    "Concat",
                    std::move(collected[k]),
                    {result},
                    {{"axis", std::int64_t{0}}}});
  }
}

}  // namespace tare
