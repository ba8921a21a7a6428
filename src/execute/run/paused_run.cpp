// Branches go on in a workspace of their own. Programs that were exchanged from each other have
// the same plan of memory, so buffers that live across the step are copied to where they were.
// Kernels keep nothing from one step to the next but in buffers. Memory: one more workspace.
#include "execute/run/paused_run.h"

#include "base/check.h"
#include "execute/run/one_thread.h"
#include "execute/run/workspace.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tare {
namespace {

bool is_same(const Tensor& a, const Tensor& b) {
  return (a.data() == b.data() && a.dtype() == b.dtype() && a.shape() == b.shape()) || a == b;
}

/// Whether a step computes the same with the constants of both programs.
bool is_same(const Program& a, const Program& b, std::size_t step) {
  const Step& own = a.steps[step];
  return own.kernel == b.steps[step].kernel &&
         std::all_of(own.inputs.begin(), own.inputs.end(), [&](const Place& place) {
           return place.kind != Place::Kind::kConstant ||
                  a.constants[place.index].data() == b.constants[place.index].data();
         });
}

bool reads(const Step& step, std::size_t input) {
  return std::find(step.inputs.begin(), step.inputs.end(), Place{Place::Kind::kInput, input}) !=
         step.inputs.end();
}

/// What is computed before the step and read in it or later.
void copy_living(const Program& program, std::size_t step, const Tensor& from, Tensor& to) {
  std::byte* const bytes = to.mutable_data();
  for (const Buffer& buffer : program.buffers) {
    if (buffer.first < step && step <= buffer.last) {
      std::memcpy(bytes + buffer.offset, from.data() + buffer.offset, buffer.bytes);
    }
  }
}

}  // namespace

PausedRun::PausedRun(const Executable& executable, std::vector<Tensor> inputs)
    : executable_(&executable), inputs_(std::move(inputs)) {}

void PausedRun::restart(std::vector<Tensor> inputs) {
  inputs_ = std::move(inputs);
  step_ = 0;
}

std::size_t PausedRun::first_difference(const Executable& branch,
                                        std::span<const Tensor> inputs) const {
  const Program& own = executable_->impl_->program;
  const Program& other = branch.impl_->program;
  check(own.steps.size() == other.steps.size() && inputs.size() == inputs_.size(),
        "a branch of another network");
  std::vector<std::size_t> differing;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!is_same(inputs[i], inputs_[i])) {
      differing.push_back(i);
    }
  }
  std::size_t step = 0;
  while (step < own.steps.size() && is_same(own, other, step) &&
         std::none_of(differing.begin(), differing.end(),
                      [&](std::size_t input) { return reads(own.steps[step], input); })) {
    ++step;
  }
  return step;
}

void PausedRun::wait_before(std::size_t step) {
  if (step < step_) {
    step_ = 0;
  }
  if (step_ == step) {
    return;
  }
  if (!workspace_) {
    workspace_.emplace(*executable_);
  }
  Executable::Workspace::Impl& memory = *workspace_->impl_;
  memory.take(inputs_);
  const OneThread one_thread;
  for (; step_ < step; ++step_) {
    memory.run(step_);
  }
}

std::vector<Tensor> PausedRun::results(const Executable& branch,
                                       std::optional<Executable::Workspace>& workspace,
                                       std::span<const Tensor> inputs) {
  const auto own_workspace = [&]() -> Executable::Workspace& {
    if (!workspace) {
      workspace.emplace(branch);
    }
    return *workspace;
  };
  if (branch.runs_other_shapes(inputs)) {
    return branch.run(own_workspace(), inputs);
  }
  const std::size_t first = first_difference(branch, inputs);
  wait_before(first);
  const Program& program = branch.impl_->program;
  if (workspace_ && first == program.steps.size()) {
    return workspace_->impl_->results(inputs);
  }
  Executable::Workspace::Impl& memory = *own_workspace().impl_;
  check(&memory.program == &program, "a workspace was used with another executable");
  if (workspace_) {
    copy_living(program, first, workspace_->impl_->arena, memory.arena);
  }
  memory.take(inputs);
  const OneThread one_thread;
  for (std::size_t step = first; step < program.steps.size(); ++step) {
    memory.run(step);
  }
  return memory.results(inputs);
}

}  // namespace tare
