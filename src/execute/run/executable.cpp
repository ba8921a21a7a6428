// Runs a program. It is immutable and shared; all that changes lies in a workspace, one for
// each thread: an arena, the state of kernels, and the arguments of each step, which are
// resolved once. A run then only calls kernels in order.
#include "tare/error.h"
#include "tare/execute.h"
#include "tare/graph.h"
#include "tare/process.h"

#include "base/check.h"
#include "execute/compile/reorder.h"
#include "execute/failure.h"
#include "execute/run/flush_denormals.h"
#include "execute/run/one_thread.h"
#include "execute/run/workspace.h"
#include "graph/operators/random.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <mutex>
#include <set>

namespace tare {

Tensor TensorView::tensor() const {
  Tensor result(type->dtype, type->shape);
  if (channels_last) {
    copy_to_plain(*type, data, result.mutable_data());
  } else {
    std::memcpy(result.mutable_data(), data, result.byte_size());
  }
  return result;
}

/// The same graph for inputs of other shapes. Each is compiled when samples of these shapes
/// come and kept as long as there is room, since its kernels have packed weights of their own.
class OtherShapes {
 public:
  OtherShapes(const Graph& graph, const ExecuteOptions& options)
      : graph_(graph), options_(options) {
    options_.threads = 1;  // made while others run samples
  }

  std::shared_ptr<const Executable> of(const std::vector<Shape>& shapes) const {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(kept_.begin(), kept_.end(),
                                    [&](const auto& kept) { return kept.first == shapes; });
    if (found != kept_.end()) {
      kept_.splice(kept_.begin(), kept_, found);
      return kept_.front().second;
    }
    Graph graph = reshaped(shapes);
    graph.reshape = nullptr;  // these shapes and no others
    kept_.emplace_front(shapes, std::make_shared<const Executable>(graph, options_));
    bytes_ += kept_.front().second->constant_bytes();
    while (bytes_ > memory_limit() / kShareOfMemory && kept_.size() > 1) {
      bytes_ -= kept_.back().second->constant_bytes();
      kept_.pop_back();
    }
    return kept_.front().second;
  }

 private:
  static constexpr std::size_t kShareOfMemory = 4;

  Graph reshaped(const std::vector<Shape>& shapes) const {
    try {
      return (*graph_.reshape)(graph_, shapes);
    } catch (Error& error) {
      std::string text;
      for (const Shape& shape : shapes) {
        text += (text.empty() ? "" : ", ") + to_string(shape);
      }
      error.during("running the network on inputs of shape " + text);
      throw;
    }
  }

  Graph graph_;
  ExecuteOptions options_;
  mutable std::mutex mutex_;
  /// The one that was used last comes first.
  mutable std::list<std::pair<std::vector<Shape>, std::shared_ptr<const Executable>>> kept_;
  mutable std::size_t bytes_ = 0;
};

Executable::Impl::Impl(Program made, const Graph& graph, const ExecuteOptions& options)
    : program(std::move(made)), executes(options) {
  if (graph.reshape) {
    others = std::make_unique<const OtherShapes>(graph, options);
  }
}
Executable::Impl::~Impl() = default;

Executable::Workspace::Impl::Impl(const Program& p)
    : program(p), arena(DType::kUint8, {static_cast<std::int64_t>(p.workspace_bytes)}) {
  calls.resize(program.steps.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Step& step = program.steps[i];
    Call& call = calls[i];
    for (std::size_t operand = 0; operand < step.inputs.size(); ++operand) {
      const Place& place = step.inputs[operand];
      if (place.kind == Place::Kind::kInput) {
        input_uses.push_back({i, operand, place.index});
      }
      call.inputs.push_back(read(place, {}));
    }
    for (const Place& place : step.outputs) {
      call.outputs.push_back(at(place));
    }
    call.scratch = at(step.scratch);
    call.state = step.kernel->make_state();
  }
}

std::byte* Executable::Workspace::Impl::at(const Place& place) const {
  return place.kind == Place::Kind::kBuffer
             ? const_cast<std::byte*>(arena.data()) + program.buffers[place.index].offset
             : nullptr;
}

const std::byte* Executable::Workspace::Impl::read(const Place& place,
                                                   std::span<const Tensor> inputs) const {
  if (place.kind == Place::Kind::kConstant) {
    return program.constants[place.index].data();
  }
  if (place.kind == Place::Kind::kInput) {
    return place.index < inputs.size() ? inputs[place.index].data() : nullptr;
  }
  return at(place);
}

void Executable::Workspace::Impl::take(std::span<const Tensor> inputs) {
  for (const auto& use : input_uses) {
    calls[use.step].inputs[use.operand] = inputs[use.input].data();
  }
}

void Executable::Workspace::Impl::run(std::size_t step) const try {
  const Call& call = calls[step];
  const FlushDenormals flush;  // in kernels only: observers are the caller's
  program.steps[step].kernel->run({call.inputs, call.outputs, call.scratch, call.state.get()});
} catch (Error& error) {
  error.at(program.steps[step].where);
  throw;
} catch (const std::exception& error) {
  throw failure(program.steps[step].where, error);
}

std::vector<Tensor> Executable::Workspace::Impl::results(std::span<const Tensor> inputs) const {
  std::vector<Tensor> results;
  results.reserve(program.outputs.size());
  for (const auto& [name, type, place] : program.outputs) {
    results.push_back(TensorView{&type, read(place, inputs)}.tensor());
  }
  return results;
}

Executable::Workspace::Workspace(const Executable& executable)
    : impl_(std::make_unique<Impl>(executable.impl_->program)) {}
Executable::Workspace::~Workspace() = default;
Executable::Workspace::Workspace(Workspace&&) noexcept = default;

namespace {

std::string describe(const TensorType& type) {
  return std::string(name_of(type.dtype)) + to_string(type.shape);
}

void check_inputs(const Program& program, std::span<const Tensor> inputs) {
  if (inputs.size() != program.inputs.size()) {
    throw Error(ErrorCode::kInvalidData, "",
                std::to_string(inputs.size()) + " inputs were given")
        .expected(std::to_string(program.inputs.size()));
  }
  Faults faults;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& [name, type, place] = program.inputs[i];
    if (inputs[i].dtype() != type.dtype || inputs[i].shape() != type.shape) {
      faults.add("input '" + name + "'",
                 "is " + std::string(name_of(inputs[i].dtype())) + to_string(inputs[i].shape()),
                 describe(type));
    }
  }
  faults.raise(ErrorCode::kInvalidData);
}

/// As many, of the same types, and not all of the same shapes.
bool have_other_shapes(const Program& program, std::span<const Tensor> inputs) {
  bool has_other = false;
  for (std::size_t i = 0; i < std::min(inputs.size(), program.inputs.size()); ++i) {
    const auto& [name, type, place] = program.inputs[i];
    if (inputs[i].dtype() != type.dtype) {
      return false;
    }
    has_other = has_other || inputs[i].shape() != type.shape;
  }
  return has_other && inputs.size() == program.inputs.size();
}

}  // namespace

Executable::Executable(const Graph& graph, const ExecuteOptions& options)
    : impl_(std::make_unique<const Impl>(compile(graph, options), graph, options)) {}
Executable::Executable(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Executable::~Executable() = default;
Executable::Executable(Executable&&) noexcept = default;
Executable& Executable::operator=(Executable&&) noexcept = default;

Executable Executable::exchanged(const Graph& graph,
                                 std::span<const Exchange> constants) const {
  return Executable(std::make_unique<const Impl>(
      tare::exchanged(impl_->program, graph, constants), graph, impl_->executes));
}

bool Executable::runs_other_shapes(std::span<const Tensor> inputs) const {
  return impl_->others && have_other_shapes(impl_->program, inputs);
}

std::vector<Tensor> Executable::run(Workspace& workspace, std::span<const Tensor> inputs,
                                    const ValueCallback& callback) const {
  const Program& program = impl_->program;
  Workspace::Impl& memory = *workspace.impl_;
  check(&memory.program == &program, "a workspace was used with another executable");
  if (runs_other_shapes(inputs)) {
    return run_for_shapes(workspace, inputs, callback);
  }
  check_inputs(program, inputs);
  const OneThread one_thread;

  const auto show = [&](const std::vector<Shown>& list) {
    for (const Shown& shown : list) {
      callback(shown.index,
               {&shown.type, memory.read(shown.place, inputs), shown.channels_last});
    }
  };
  memory.take(inputs);
  if (callback) {
    show(program.shown_first);
  }
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    memory.run(i);
    if (callback) {
      show(program.steps[i].shown);
    }
  }
  return memory.results(inputs);
}

std::vector<Tensor> Executable::run_for_shapes(Workspace& workspace,
                                               std::span<const Tensor> inputs,
                                               const ValueCallback& callback) const {
  constexpr std::size_t kMostWorkspaces = 4;
  std::vector<Shape> shapes;
  for (const Tensor& input : inputs) {
    shapes.push_back(input.shape());
  }
  auto& others = workspace.impl_->others;
  const auto found = std::find_if(others.begin(), others.end(),
                                  [&](const auto& other) { return other.shapes == shapes; });
  if (found != others.end()) {
    others.splice(others.begin(), others, found);
  } else {
    auto executable = impl_->others->of(shapes);
    Workspace own(*executable);
    others.push_front({std::move(shapes), std::move(executable), std::move(own)});
    if (others.size() > kMostWorkspaces) {
      others.pop_back();
    }
  }
  return others.front().executable->run(others.front().workspace, inputs, callback);
}

std::vector<Tensor> Executable::run(std::span<const Tensor> inputs) const {
  Workspace workspace(*this);
  return run(workspace, inputs);
}

bool Executable::shows_channels_last(std::size_t index) const {
  const auto among = [&](const std::vector<Shown>& list) {
    return std::any_of(list.begin(), list.end(), [&](const Shown& shown) {
      return shown.index == index && shown.channels_last;
    });
  };
  const Program& program = impl_->program;
  return among(program.shown_first) ||
         std::any_of(program.steps.begin(), program.steps.end(),
                     [&](const Step& step) { return among(step.shown); });
}

std::size_t Executable::workspace_bytes() const {
  return impl_->program.workspace_bytes;
}

std::size_t Executable::constant_bytes() const {
  std::size_t bytes = 0;
  for (const Tensor& constant : impl_->program.constants) {
    bytes += constant.byte_size();
  }
  std::set<const Kernel*> kernels;  // some run in several steps
  for (const Step& step : impl_->program.steps) {
    bytes += kernels.insert(step.kernel.get()).second ? step.kernel->packed_bytes() : 0;
  }
  return bytes;
}

std::vector<Tensor> evaluate(const Node& node, std::span<const Tensor* const> inputs,
                             std::span<const TensorType> output_types) {
  if (draws_at_random(node.op)) {
    throw Error(ErrorCode::kUnsupported, "", "draws numbers at random");
  }
  Graph graph;
  std::vector<ValueId> operands;
  for (const Tensor* input : inputs) {
    operands.push_back(
        input != nullptr
            ? graph.add_constant("operand " + std::to_string(operands.size()), *input)
            : ValueId());
  }
  std::vector<NamedType> results;
  for (const TensorType& type : output_types) {
    results.push_back({"result " + std::to_string(results.size()), type});
  }
  const NodeId id = graph.add_node(node.name, node.op, operands, results, node.attributes);
  graph.set_outputs(graph.node(id).outputs);
  return Executable(graph).run({});
}

std::vector<std::string> executable_ops() {
  std::set<std::string> ops;
  for (const KernelInfo& info : kernel_registry()) {
    ops.insert(info.ops.begin(), info.ops.end());
  }
  return {ops.begin(), ops.end()};
}

}  // namespace tare
