// Which layout the operands and results of a kernel have, and where each value lies in which
// layout.
#include "tare/graph.h"

#include "execute/compile/compiler.h"
#include "execute/compile/reorder.h"
#include "graph/operators/affine_ops.h"

namespace tare {

void lay_out(Operand& operand, Layout layout) {
  operand.layout = layout;
  if (layout == Layout::kChannelsLast) {
    operand.constant = nullptr;  // reordered, it is not the plain constant any more
  }
}

Compiler::Work Compiler::describe_work(const Node& node, std::span<const NodeId> folded) const {
  Work work;
  work.node = *graph_.find_node(node.name);
  work.folded.assign(folded.begin(), folded.end());
  work.request.node = &node;
  work.request.precise = options_.precise;
  work.request.packing = packing_;
  for (const AffineOp& row : affine_ops(graph_)) {
    if (row.op == node.op) {
      work.request.rules.push_back(row.rule);
    }
  }
  work.inputs = node.inputs;
  work.outputs = node.outputs;
  for (const NodeId id : folded) {
    const Node& next = graph_.node(id);
    FoldedOp fold = *as_post_op(graph_, next, work.outputs[0]);
    if (fold.operand) {
      fold.op.operand = work.inputs.size();
      work.inputs.push_back(fold.operand);
    }
    work.request.post_ops.push_back(fold.op);
    work.outputs = next.outputs;
  }
  const auto operand = [&](ValueId id) {
    return id ? Operand{&graph_.type(id), Layout::kPlain, constant(id)} : Operand{};
  };
  std::transform(work.inputs.begin(), work.inputs.end(),
                 std::back_inserter(work.request.inputs), operand);
  std::transform(work.outputs.begin(), work.outputs.end(),
                 std::back_inserter(work.request.outputs), operand);
  return work;
}

/// The layout that needs fewer operands reordered.
Layout Compiler::follow(const Work& work) const {
  const std::size_t rank = work.request.outputs[0].shape().size();
  std::array<int, 2> missing{};
  for (std::size_t i = 0; i < work.inputs.size(); ++i) {
    const Operand& input = work.request.inputs[i];
    if (input && input.constant == nullptr && input.shape().size() == rank) {
      missing[0] += has(work.inputs[i], Layout::kPlain) ? 0 : 1;
      missing[1] += has(work.inputs[i], Layout::kChannelsLast) ? 0 : 1;
    }
  }
  const bool last = rank >= 3 && missing[0] > 0 && missing[1] <= missing[0];
  return last ? Layout::kChannelsLast : Layout::kPlain;
}

void Compiler::choose_layouts(Work& work) const {
  KernelRequest& request = work.request;
  const LayoutRule rule = work.info->layout(request);
  if (rule == LayoutRule::kPlain) {
    return;
  }
  const bool follows = rule == LayoutRule::kFollow;
  const bool all_operands =
      rule == LayoutRule::kAllChannelsLast || rule == LayoutRule::kOperandsChannelsLast;
  const bool results = rule != LayoutRule::kOperandsChannelsLast;
  const Layout layout = follows ? follow(work) : Layout::kChannelsLast;
  const std::size_t rank = request.outputs[0].shape().size();
  const auto choose = [&](Operand& operand, bool wanted) {
    if (operand && operand.shape().size() >= 3 && wanted) {
      lay_out(operand, layout);
    }
  };
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    Operand& input = request.inputs[i];
    const bool residual = i >= request.node->inputs.size();
    choose(input, follows ? input && !input.constant && input.shape().size() == rank
                          : i == 0 || residual || all_operands);
  }
  for (std::size_t i = 0; i < request.outputs.size(); ++i) {
    Operand& output = request.outputs[i];
    choose(output, follows ? output && output.shape().size() == rank : i == 0 && results);
  }
}

/// The value's bytes in that layout; adds a reorder the first time it is asked for.
Place Compiler::place_of(ValueId id, Layout layout) {
  if (!homes_.contains(id)) {
    const Place place{Place::Kind::kConstant, program_.constants.size()};
    program_.constants.push_back(*constant(id));
    program_.constant_values.push_back(id);
    set_home(id, Layout::kPlain, place);
  }
  Homes& homes = homes_.at(id);
  Place& place = homes.at[static_cast<std::size_t>(layout)];
  if (place.kind == Place::Kind::kNone) {
    const TensorType& type = graph_.type(id);
    Step step;
    step.where = "reorder of '" + graph_.name(id) + "'";
    step.kernel = make_reorder(type, layout);
    step.inputs = {homes.at[static_cast<std::size_t>(homes.native)]};
    place =
        new_buffer(static_cast<std::size_t>(element_count(type.shape)) * size_of(type.dtype));
    step.outputs = {place};
    writer_[place.index] = program_.steps.size();
    program_.steps.push_back(std::move(step));
  }
  return place;
}

void Compiler::set_home(ValueId id, Layout layout, Place place) {
  Homes homes;
  homes.native = layout;
  homes.at[static_cast<std::size_t>(layout)] = place;
  if (layouts_coincide(graph_.type(id).shape)) {
    homes.at = {place, place};
  }
  homes_.insert_or_assign(id, homes);
}

bool Compiler::has(ValueId id, Layout layout) const {
  return homes_.at(id).at[static_cast<std::size_t>(layout)].kind != Place::Kind::kNone;
}

}  // namespace tare
