#include "support/node_run.h"

#include "support/graphs.h"
#include "support/index.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace tare::test {
Tensor relaid(const Tensor& tensor, Layout layout, bool back) {
  const Shape& shape = tensor.shape();
  if (layout == Layout::kPlain || shape.size() < 3) {
    return tensor;
  }
  Shape physical = shape;
  physical.erase(physical.begin() + 1);
  physical.push_back(shape[1]);
  Tensor result(tensor.dtype(), shape);
  const std::size_t size = size_of(tensor.dtype());
  for_each_index(shape, [&](const Shape& index) {
    Shape moved = index;
    moved.erase(moved.begin() + 1);
    moved.push_back(index[1]);
    std::size_t from = offset(shape, index);
    std::size_t to = offset(physical, moved);
    if (back) {
      std::swap(from, to);
    }
    std::memcpy(result.mutable_data() + to * size, tensor.data() + from * size, size);
  });
  return result;
}

NodeInput constant(std::vector<std::int64_t> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return {Tensor::of<std::int64_t>({count}, values), true};
}

Node make_node(std::string op, Attributes attributes) {
  return {.name = "node",
          .op = std::move(op),
          .inputs = {},
          .outputs = {},
          .attributes = std::move(attributes)};
}

std::vector<Tensor> run_node(const Node& node, const std::vector<NodeInput>& inputs,
                             const std::vector<TensorType>& results, Layout layout) {
  const std::size_t rank = results.at(0).shape.size();
  std::vector<TensorType> types;
  for (const NodeInput& input : inputs) {
    types.push_back(typed(input.value.dtype(), input.value.shape()));
  }
  Node wired = node;  // which operands a node has is read off the node
  wired.inputs.assign(inputs.size(), ValueId{0});
  KernelRequest request;
  request.node = &wired;
  std::vector<Tensor> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool follows = !inputs[i].constant && types[i].shape.size() == rank && rank >= 3;
    request.inputs.push_back({&types[i], follows ? layout : Layout::kPlain,
                              inputs[i].constant ? &inputs[i].value : nullptr});
    operands.push_back(relaid(inputs[i].value, request.inputs.back().layout, false));
  }
  std::vector<Tensor> outputs;
  for (const TensorType& type : results) {
    request.outputs.push_back({&type, rank >= 3 ? layout : Layout::kPlain, nullptr});
    outputs.emplace_back(type.dtype, type.shape);
  }
  for (const KernelInfo& info : kernel_registry()) {
    if (std::find(info.ops.begin(), info.ops.end(), node.op) == info.ops.end()) {
      continue;
    }
    const auto kernel = info.make(request);
    if (kernel == nullptr) {
      continue;
    }
    std::vector<const std::byte*> reads;
    std::vector<std::byte*> writes;
    for (const Tensor& operand : operands) {
      reads.push_back(operand.data());
    }
    for (Tensor& output : outputs) {
      writes.push_back(output.mutable_data());
    }
    Tensor scratch(DType::kUint8, {static_cast<std::int64_t>(kernel->scratch_bytes())});
    const auto state = kernel->make_state();
    kernel->run({reads, writes, scratch.mutable_data(), state.get()});
    for (Tensor& output : outputs) {
      output = relaid(output, rank >= 3 ? layout : Layout::kPlain, true);
    }
    return outputs;
  }
  throw std::runtime_error("no kernel takes " + node.op);
}

}  // namespace tare::test
