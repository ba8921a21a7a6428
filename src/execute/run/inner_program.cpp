#include "execute/run/inner_program.h"

#include "tare/error.h"
#include "tare/graph.h"

#include "graph/operators/inner_graphs.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tare {

Tensor tensor_at(const TensorType& type, const std::byte* data) {
  Tensor tensor(type.dtype, type.shape);
  if (tensor.byte_size() > 0) {
    std::memcpy(tensor.mutable_data(), data, tensor.byte_size());
  }
  return tensor;
}

InnerProgram::InnerProgram(const KernelRequest& request, const std::string& attribute) {
  Graph graph = inner_graph(*request.node, attribute);
  verify(graph);
  const std::vector<std::string> names = captured_names(*request.node);
  const std::size_t own = own_operands(*request.node);
  const std::vector<ValueId> inputs(graph.inputs().begin(), graph.inputs().end());
  for (const ValueId id : inputs) {
    const TensorType type = graph.type(id);
    const auto name = std::find(names.begin(), names.end(), graph.name(id));
    if (name == names.end()) {
      if (!captured_.empty()) {
        throw Error(ErrorCode::kInvalidModel, "",
                    "'" + graph.name(id) + "' is neither captured nor among the first inputs");
      }
      own_inputs_.push_back(type);
      continue;
    }
    const std::size_t operand = own + static_cast<std::size_t>(name - names.begin());
    const Operand& around = request.inputs[operand];
    if (!around || around.dtype() != type.dtype || around.shape() != type.shape) {
      throw Error(ErrorCode::kInvalidModel, "",
                  "operand " + std::to_string(operand) + " is of another type than '" +
                      graph.name(id) + "'");
    }
    captured_.push_back({operand, type, std::nullopt});
    if (around.constant != nullptr) {
      captured_.back().constant = *around.constant;
      const ValueId constant =
          graph.add_constant(graph.unique_name(graph.name(id)), *around.constant, type);
      graph.replace_uses(id, constant);
    }
  }
  for (const ValueId id : graph.outputs()) {
    outputs_.push_back(graph.type(id));
  }
  executable_.emplace(
      graph, ExecuteOptions{.observe = {}, .channels_last = {}, .precise = request.precise});
}

bool InnerProgram::packs(std::size_t operand) const {
  return std::any_of(captured_.begin(), captured_.end(), [&](const Captured& captured) {
    return captured.operand == operand && captured.constant;
  });
}

InnerProgram::State::State(const InnerProgram& program)
    : program_(program), workspace_(*program.executable_) {
  for (const Captured& captured : program.captured_) {
    captured_.push_back(captured.constant ? *captured.constant
                                          : Tensor(captured.type.dtype, captured.type.shape));
  }
}

void InnerProgram::State::capture(const Buffers& buffers) {
  for (std::size_t i = 0; i < captured_.size(); ++i) {
    const Captured& captured = program_.captured_[i];
    if (!captured.constant) {
      captured_[i] = tensor_at(captured.type, buffers.inputs[captured.operand]);
    }
  }
}

std::vector<Tensor> InnerProgram::State::run(std::vector<Tensor> own) {
  own.insert(own.end(), captured_.begin(), captured_.end());
  return program_.executable_->run(workspace_, own);
}

}  // namespace tare
