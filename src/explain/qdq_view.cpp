#include "explain/qdq_view.h"

#include "tare/graph.h"

#include "graph/operators/affine_ops.h"
#include "graph/operators/product.h"

#include <algorithm>

namespace tare {

ValueId QdqView::storage(ValueId value) const {
  const auto producer = value ? graph_->producer(value) : std::nullopt;
  if (!producer || graph_->node(*producer).op != "Dequantize") {
    return {};
  }
  return graph_->node(*producer).inputs[0];
}

const QuantParams* QdqView::dequantized(ValueId value) const {
  const ValueId behind = storage(value);
  return behind ? &*graph_->type(behind).quant : nullptr;
}

bool QdqView::is_constant(ValueId value) const {
  const ValueId behind = storage(value);
  return graph_->constant(behind ? behind : value) != nullptr;
}

const Node* QdqView::quantize_after(ValueId value) const {
  while (graph_->single_use(value)) {
    const Node& user = graph_->node(graph_->users(value)[0]);
    if (user.op == "Quantize") {
      return &user;
    }
    if (user.op != "Relu" && user.op != "Clip") {
      return nullptr;
    }
    value = user.outputs[0];
  }
  return nullptr;
}

std::vector<ValueId> QdqView::data_operands(const Node& node) const {
  const AffineOp* row = find_affine_op(*graph_, node);
  std::size_t count = node.inputs.size();
  if (is_product(node)) {
    count = 2;
  } else if (row != nullptr && !row->all_operands) {
    count = 1;
  }
  std::vector<ValueId> result;
  for (std::size_t i = 0; i < std::min(count, node.inputs.size()); ++i) {
    if (node.inputs[i]) {
      result.push_back(node.inputs[i]);
    }
  }
  return result;
}

bool QdqView::is_conversion(const Node& node) const {
  return node.op == "Quantize" || node.op == "Dequantize" || node.op == "QuantizeLinear" ||
         node.op == "DequantizeLinear" || node.op == "DynamicQuantizeLinear" ||
         multiplies_scales(node);
}

bool QdqView::multiplies_scales(const Node& node) const {
  return node.op == "Mul" &&
         std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) {
           const auto producer = graph_->producer(v);
           const Node* before = producer ? &graph_->node(*producer) : nullptr;
           return before != nullptr &&
                  (before->op == "DynamicQuantizeLinear" || multiplies_scales(*before));
         });
}

}  // namespace tare
