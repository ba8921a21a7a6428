// Makes a program of a graph, once for any number of runs: nodes that lead to no result are
// left out, activations and residuals are folded into the kernels before them (fuse.h), each
// value gets a memory layout, constants are packed, and memory is planned. Layouts are chosen
// greedily, node by node: what kernels insist on is made, and others follow the layout in which
// more of their operands lie already. A value may lie in both. Time: linear in the graph, and
// packing.
#include "tare/error.h"
#include "tare/execute.h"
#include "tare/graph.h"
#include "tare/process.h"

#include "base/check.h"
#include "execute/compile/compiler.h"
#include "execute/compile/fuse.h"
#include "execute/compile/program.h"
#include "execute/compile/reorder.h"
#include "execute/failure.h"
#include "execute/request_facts.h"
#include "execute/run/one_thread.h"
#include "graph/arithmetic/node_arithmetic.h"
#include "graph/operators/product.h"
#include "graph/operators/shape_facts.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace tare {
namespace {

bool is_same(const Operand& a, const Operand& b) {
  return a && b ? *a.type == *b.type && a.layout == b.layout : !a && !b;
}

/// Whether one kernel does for both where their constants are the same.
bool is_same(const KernelRequest& a, const KernelRequest& b) {
  const auto all_same = [](const std::vector<Operand>& x, const std::vector<Operand>& y) {
    return std::equal(
        x.begin(), x.end(), y.begin(), y.end(),
        [](const Operand& own, const Operand& other) { return is_same(own, other); });
  };
  return a.node->op == b.node->op && a.node->attributes == b.node->attributes &&
         a.node->inputs.size() == b.node->inputs.size() && all_same(a.inputs, b.inputs) &&
         all_same(a.outputs, b.outputs) && a.post_ops == b.post_ops;
}

/// Takes out steps whose results nothing reads after all.
void drop_unread(Program& program) {
  std::vector<bool> read(program.buffers.size(), false);
  const auto note = [&](const Place& place) {
    if (place.kind == Place::Kind::kBuffer) {
      read[place.index] = true;
    }
  };
  for (const auto& output : program.outputs) {
    note(output.place);
  }
  std::vector<Step> kept;
  for (auto step = program.steps.rbegin(); step != program.steps.rend(); ++step) {
    const bool is_read = !step->shown.empty() ||
                         std::any_of(step->outputs.begin(), step->outputs.end(),
                                     [&](const Place& place) { return read[place.index]; });
    if (is_read) {
      std::for_each(step->inputs.begin(), step->inputs.end(), note);
      kept.push_back(std::move(*step));
      continue;
    }
    step->outputs.push_back(step->scratch);
    for (const Place& place : step->outputs) {
      if (place.kind == Place::Kind::kBuffer) {
        program.buffers[place.index].bytes = 0;
      }
    }
  }
  std::reverse(kept.begin(), kept.end());
  program.steps = std::move(kept);
}

constexpr const char* kMoreMemory =
    "half of what this process may have is taken unless '--memory' or 'calibration.memory' "
    "says more";

}  // namespace

std::string describe(const Node& node) {
  return "node '" + node.name + "' (" + node.op + ")";
}

std::set<ValueId> Compiler::kept_values() const {
  std::set<ValueId> kept(options_.observe.begin(), options_.observe.end());
  kept.insert(graph_.outputs().begin(), graph_.outputs().end());
  return kept;
}

std::vector<NodeId> Compiler::live_order(const std::set<ValueId>& kept) const {
  std::vector<NodeId> order = graph_.topological_order();
  std::set<ValueId> wanted = kept;
  std::vector<NodeId> live;
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const Node& node = graph_.node(*id);
    if (std::any_of(node.outputs.begin(), node.outputs.end(),
                    [&](ValueId output) { return wanted.contains(output); })) {
      live.push_back(*id);
      if (!reads_shape_only(node)) {
        wanted.insert(node.inputs.begin(), node.inputs.end());
      }
    }
  }
  std::reverse(live.begin(), live.end());
  return live;
}

void Compiler::add_interface() {
  for (const ValueId input : graph_.inputs()) {
    const Place place{Place::Kind::kInput, program_.inputs.size()};
    program_.inputs.push_back({graph_.name(input), graph_.type(input), place});
    const auto& last = options_.channels_last;
    set_home(input,
             std::find(last.begin(), last.end(), input) != last.end() ? Layout::kChannelsLast
                                                                      : Layout::kPlain,
             place);
  }
}

Program Compiler::run() {
  const std::set<ValueId> kept = kept_values();
  program_.precise = options_.precise;
  add_interface();
  const std::vector<Unit> units = fuse(graph_, live_order(kept), kept);
  count_readers(units, kept);
  for (const Unit& unit : units) {
    emit(unit);
    release(graph_.node(unit.node));
    for (const NodeId id : unit.folded) {
      release(graph_.node(id));
    }
  }
  if (packing_ != nullptr) {
    packing_->finish();
  }
  if (!faults_.empty()) {
    throw Error(ErrorCode::kUnsupported, faults_.all()).hint(too_large_ ? kMoreMemory : "");
  }
  for (const ValueId output : graph_.outputs()) {
    program_.outputs.push_back(
        {graph_.name(output), graph_.type(output), place_of(output, Layout::kPlain)});
  }
  show_observed();
  drop_unread(program_);
  assign_memory(program_);
  require_memory();
  return std::move(program_);
}

std::string Compiler::allowed() const {
  return "at most " + memory_text(limit_);
}

/// Values that must be there at once may need more together than each alone.
void Compiler::require_memory() const {
  const double bytes = bytes_of_run(program_);
  if (bytes > limit_) {
    throw Error(ErrorCode::kUnsupported, "",
                "running the network would need " + memory_text(bytes))
        .expected(allowed())
        .hint(kMoreMemory);
  }
}

/// New kernels for the nodes that read the constants; layouts and memory stay.
Program Compiler::exchange(const Program& before, std::span<const Exchange> constants) {
  program_ = before;
  std::map<ValueId, ValueId> exchanged;
  std::set<NodeId> readers;
  for (const auto& [from, to] : constants) {
    exchanged.emplace(from, to);
    readers.insert(graph_.users(to).begin(), graph_.users(to).end());
  }
  for (std::size_t i = 0; i < program_.constants.size(); ++i) {
    if (const auto found = exchanged.find(program_.constant_values[i]);
        found != exchanged.end()) {
      program_.constants[i] = *graph_.constant(found->second);
      program_.constant_values[i] = found->second;
    }
  }
  for (Step& step : program_.steps) {
    const KernelOrigin& origin = step.origin;
    const auto reads = [&](NodeId id) { return readers.contains(id); };
    if (origin.info == nullptr ||
        (!reads(origin.node) &&
         std::none_of(origin.folded.begin(), origin.folded.end(), reads))) {
      continue;
    }
    Work work = describe_work(graph_.node(origin.node), origin.folded);
    if (!has_results(work.request)) {
      continue;
    }
    for (std::size_t i = 0; i < origin.inputs.size(); ++i) {
      lay_out(work.request.inputs[i], origin.inputs[i]);
    }
    for (std::size_t i = 0; i < origin.outputs.size(); ++i) {
      lay_out(work.request.outputs[i], origin.outputs[i]);
    }
    step.kernel = origin.info->make(work.request);
    check(step.kernel != nullptr, "a kernel does not take another constant of the same type");
  }
  return std::move(program_);
}

/// As many folded nodes as some kernel takes; the others follow as steps of their own.
void Compiler::emit(const Unit& unit) {
  const Node& node = graph_.node(unit.node);
  if (unit.folded.empty() && (convert_constant(node) || follow_shapes(node))) {
    return;
  }
  std::size_t count = unit.folded.size();
  while (!emit_fused(node, std::span(unit.folded).first(count), count == 0) && count > 0) {
    --count;
  }
  for (; count < unit.folded.size(); ++count) {
    emit({unit.folded[count], {}});
  }
}

/// Whether some kernel takes it, with the operands where it wants them.
bool Compiler::emit_as(const Work& work, const KernelInfo& info) {
  Work candidate = work;
  candidate.info = &info;
  choose_layouts(candidate);
  std::shared_ptr<const Kernel> kernel = has_results(candidate.request)
                                             ? kernel_for(candidate)
                                             : make_kernel([](const Buffers&) {});
  if (kernel == nullptr && (!info.alias || info.make)) {
    return false;
  }
  commit(candidate, std::move(kernel));
  return true;
}

/// A product in a simulated graph whose operand is storage values less their zero point, as one
/// of these values, of which kernels know the zero point.
std::optional<Compiler::Work> Compiler::on_storage(const Work& work) const {
  // Kernels for accumulators of a stated width take what they are given.
  if (!is_product(*work.request.node) || states_accumulator(work.request.attributes())) {
    return std::nullopt;
  }
  const auto id = graph_.producer(work.inputs[0]);
  if (!id || graph_.node(*id).op != "Sub") {
    return std::nullopt;
  }
  const std::vector<ValueId>& operands = graph_.node(*id).inputs;
  const TensorType& type = graph_.type(operands[0]);
  const Tensor* zero = constant(operands[1]);
  if (!type.quant || type.quant->per_axis() || type.dtype != DType::kFloat32 ||
      zero == nullptr || zero->size() != 1 || zero->dtype() != DType::kFloat32 ||
      zero->view<float>()[0] != static_cast<float>(type.quant->zero_point[0])) {
    return std::nullopt;
  }
  Work result = work;
  result.inputs[0] = operands[0];
  result.request.inputs[0].type = &type;
  return result;
}

/// False when no kernel takes the node in this form; on the last try that is a fault.
bool Compiler::emit_fused(const Node& node, std::span<const NodeId> folded, bool last_try) try {
  const Work work = describe_work(node, folded);
  if (const double bytes = result_bytes(work.request); bytes > limit_) {
    if (last_try) {  // before kernels make tables for results of this size
      too_large_ = true;
      refuse(node, "its result would need " + memory_text(bytes), allowed());
    }
    return false;
  }
  const auto takes_folded = [&](const KernelInfo& info) {
    return folded.empty() || info.fuses_post_ops;
  };
  if (const auto stored = on_storage(work)) {
    for (const KernelInfo* info : kernels_for(stored->request)) {
      if (info->for_storage && takes_folded(*info) && emit_as(*stored, *info)) {
        return true;
      }
    }
  }
  bool known = false;
  for (const KernelInfo* info : kernels_for(work.request)) {
    if (takes_folded(*info)) {
      known = true;
      if (emit_as(work, *info)) {
        return true;
      }
    }
  }
  if (last_try) {
    refuse(node, known ? "no kernel for types " + types_of(work.request)
                       : "no kernel for this operator");
  }
  return false;
} catch (Error& error) {
  if (error.code() == ErrorCode::kUnsupported) {
    refuse(node, error.faults().front().what, error.faults().front().expected);
    return true;
  }
  error.at(describe(node));
  throw;
} catch (const std::exception& error) {
  throw failure(describe(node), error);
}

/// Goes on with the next nodes, so that all faults are reported at once.
void Compiler::refuse(const Node& node, std::string what, std::string expected) {
  faults_.add(describe(node), std::move(what), std::move(expected));
  for (const ValueId output : node.outputs) {
    set_home(output, Layout::kPlain, new_buffer(0));
  }
}

/// Layers that are in a graph twice, as where networks are compared, share their packed
/// weights.
std::shared_ptr<const Kernel> Compiler::kernel_for(const Work& work) {
  std::vector<ConstantKey> constants;
  std::transform(work.inputs.begin(), work.inputs.end(), std::back_inserter(constants),
                 [this](ValueId id) { return constant_key(id); });
  const std::vector<Operand>& inputs = work.request.inputs;
  const auto first_constant =
      std::find_if(inputs.begin(), inputs.end(),
                   [](const Operand& operand) { return operand.constant != nullptr; });
  const auto first = static_cast<std::size_t>(first_constant - inputs.begin());
  if (first < inputs.size()) {
    const auto [begin, end] = packed_.equal_range(constants[first]);
    const auto same = std::find_if(begin, end, [&](const auto& entry) {
      return entry.second.info == work.info && entry.second.constants == constants &&
             is_same(entry.second.request, work.request);
    });
    if (same != end) {
      return same->second.kernel;
    }
  }
  std::shared_ptr<const Kernel> kernel =
      work.info->make ? work.info->make(work.request) : nullptr;
  if (kernel != nullptr && first < inputs.size() && kernel->packs(first)) {
    const ConstantKey key = constants[first];
    Packed packed{work.info, work.request, std::move(constants), kernel};
    for (Operand& operand : packed.request.inputs) {
      operand.constant = nullptr;
    }
    packed_.emplace(key, std::move(packed));
  }
  return kernel;
}

void Compiler::commit(const Work& work, std::shared_ptr<const Kernel> kernel) {
  const KernelRequest& request = work.request;
  if (work.info->alias) {
    set_home(work.outputs[0], request.outputs[0].layout,
             place_of(work.inputs[0], request.inputs[0].layout));
    return;
  }
  Step step;
  step.where = describe(*request.node);
  step.origin = {
      .info = work.info, .node = work.node, .folded = work.folded, .inputs = {}, .outputs = {}};
  for (std::size_t i = 0; i < work.inputs.size(); ++i) {
    const Operand& input = request.inputs[i];
    step.origin.inputs.push_back(input.layout);
    step.inputs.push_back(!input || kernel->packs(i) ? Place{}
                                                     : place_of(work.inputs[i], input.layout));
  }
  for (const Operand& output : request.outputs) {
    step.origin.outputs.push_back(output.layout);
    const std::size_t bytes =
        static_cast<std::size_t>(element_count(output.shape())) * size_of(output.dtype());
    step.outputs.push_back(new_buffer(bytes));
  }
  if (kernel->scratch_bytes() > 0) {
    step.scratch = new_buffer(kernel->scratch_bytes());
  }
  if (work.info->in_place) {
    const Operand& from = request.inputs[0];
    const Operand& to = request.outputs[0];
    step.in_place = from.shape() == to.shape() &&
                    size_of(from.dtype()) == size_of(to.dtype()) && from.layout == to.layout;
  }
  step.kernel = std::move(kernel);
  program_.steps.push_back(std::move(step));
  const Step& added = program_.steps.back();
  for (std::size_t i = 0; i < added.outputs.size(); ++i) {
    writer_[added.outputs[i].index] = program_.steps.size() - 1;
    set_home(work.outputs[i], request.outputs[i].layout, added.outputs[i]);
  }
}

Place Compiler::new_buffer(std::size_t bytes) {
  program_.buffers.push_back({.bytes = bytes, .first = 0, .last = 0, .offset = 0});
  return {Place::Kind::kBuffer, program_.buffers.size() - 1};
}

/// Shows each value where its bytes were written, when nothing can have overwritten them yet.
void Compiler::show_observed() {
  for (std::size_t i = 0; i < options_.observe.size(); ++i) {
    const ValueId id = options_.observe[i];
    if (constant(id) != nullptr) {
      (void)place_of(id, Layout::kPlain);
    }
    const Homes& homes = homes_.at(id);
    const Place place = homes.at[static_cast<std::size_t>(homes.native)];
    const Shown shown{i, graph_.type(id), place, homes.native == Layout::kChannelsLast};
    auto& list = place.kind == Place::Kind::kBuffer
                     ? program_.steps[writer_.at(place.index)].shown
                     : program_.shown_first;
    list.push_back(shown);
  }
}

Program exchanged(const Program& program, const Graph& graph,
                  std::span<const Exchange> constants) {
  const OneThread one_thread;
  const ExecuteOptions options{.observe = {}, .precise = program.precise};
  return Compiler(graph, options).exchange(program, constants);
}

Program compile(const Graph& graph, const ExecuteOptions& options) {
  const OneThread one_thread;  // oneDNN fixes the number of threads when a primitive is made
  return Compiler(graph, options).run();
}

}  // namespace tare
