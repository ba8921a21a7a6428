
#include "tare/config.h"
#include "tare/graph.h"
#include "tare/integer_graph.h"

#include "base/check.h"
#include "graph/text/spelled_in_parts.h"
#include "lower/forms/clips_behind_products.h"
#include "lower/forms/engine_wishes.h"
#include "lower/forms/forms.h"
#include "lower/forms/quantize_behind_pools.h"
#include "lower/forms/quick_activations.h"
#include "lower/forms/quick_operators.h"
#include "lower/forms/real_operands.h"
#include "lower/forms/unfused_operators.h"
#include "lower/forms/unfused_silus.h"

#include <algorithm>

namespace tare {
namespace {

Graph with_own_layout(Graph onnx, const Target& target) {
  return target.channels_last ? quantize_channels_last(std::move(onnx)) : onnx;
}

/// Between it and the rounding there may be a Clip, to fewer bits than the type has.
bool is_rounded(const Graph& qdq, ValueId result) {
  const auto& users = qdq.users(result);
  return std::any_of(users.begin(), users.end(), [&](NodeId user) {
    const Node& node = qdq.node(user);
    return node.op == "QuantizeLinear" ||
           (node.op == "Clip" && is_rounded(qdq, node.outputs[0]));
  });
}

/// Where no operator is to be left in float, the file has an opset in which each of those
/// between storage values is one operator: older ones spell some with several, in float.
Graph with_whole_operators(Graph qdq, const Target& target) {
  constexpr int kNewest = 21;  // what engines read today
  for (const NodeId id : qdq.nodes()) {
    const Node& node = qdq.node(id);
    const int first = first_opset_of(node.op);
    if (target.objective == Objective::kCoverage && first > qdq.opset && first <= kNewest &&
        is_rounded(qdq, node.outputs[0])) {
      qdq.opset = first;
    }
  }
  return qdq;
}

Graph qdq_for(const Graph& integer, const Target& target) {
  Graph qdq = to_qdq(integer);
  if (target.merges_activations) {
    qdq = merge_activations(std::move(qdq));
  }
  if (target.float_bias) {
    qdq = with_real_biases(std::move(qdq));
  }
  if (target.packs_weights || target.packs_blocks) {
    qdq = with_packed_weights(std::move(qdq), !target.packs_weights);
  }
  if (target.pads_storage) {
    qdq = pad_storage(std::move(qdq));
  }
  if (target.channels_last) {
    qdq = quantize_behind_pools(std::move(qdq), target);
  }
  return with_whole_operators(
      with_own_layout(with_float_spelling(std::move(qdq), target), target), target);
}

}  // namespace

Graph with_float_spelling(Graph onnx, const Target& target) {
  if (target.quick_spelling) {
    onnx = with_clips_behind_products(
        with_unfused_operators(with_quick_operators(with_quick_activations(std::move(onnx)))));
  }
  if (!target.fuse_silu) {
    onnx = with_unfused_silus(std::move(onnx));
  }
  return target.rounds_float_weights ? with_repeated_scales(with_real_operands(std::move(onnx)))
                                     : onnx;
}

Graph export_form(const Graph& integer, Form form, const Target& target) {
  if (!integer.file_types.empty()) {
    return export_form(in_file_types(integer), form, target);
  }
  switch (form) {
    case Form::kQdq:
      return qdq_for(integer, target);
    case Form::kQoperator:
      return with_own_layout(
          with_float_spelling(
              with_n_bit_products(to_qoperator(integer), target.block_accuracy_level), target),
          target);
    case Form::kInteger:
      return to_integer_operators(integer);
  }
  check(false, "a form that is none");
  return {};
}

}  // namespace tare
