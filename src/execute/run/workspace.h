#pragma once

#include "tare/execute.h"

#include "execute/compile/program.h"
#include "execute/kernel.h"

#include <cstddef>
#include <list>
#include <memory>
#include <span>
#include <vector>

namespace tare {

/// The same graph for inputs of other shapes.
class OtherShapes;

struct Executable::Impl {
  Impl(Program, const Graph&, const ExecuteOptions&);
  ~Impl();

  Program program;
  ExecuteOptions executes;
  std::unique_ptr<const OtherShapes> others;  ///< null: there is no other one
};

struct Executable::Workspace::Impl {
  /// The arguments of one step, resolved once; only those that are graph inputs change.
  struct Call {
    std::vector<const std::byte*> inputs;
    std::vector<std::byte*> outputs;
    std::byte* scratch = nullptr;
    std::unique_ptr<KernelState> state;
  };
  struct InputUse {
    std::size_t step;
    std::size_t operand;
    std::size_t input;
  };

  explicit Impl(const Program&);
  std::byte* at(const Place&) const;
  const std::byte* read(const Place&, std::span<const Tensor> inputs) const;

  /// Lets all steps read these.
  void take(std::span<const Tensor> inputs);
  void run(std::size_t step) const;
  /// Copies of what is complete when all steps have run.
  std::vector<Tensor> results(std::span<const Tensor> inputs) const;

  const Program& program;
  Tensor arena;  ///< bytes, aligned to 64
  std::vector<Call> calls;
  std::vector<InputUse> input_uses;

  /// For inputs of other shapes; only the last ones, as each has memory of its own.
  struct Other {
    std::vector<Shape> shapes;
    std::shared_ptr<const Executable> executable;
    Workspace workspace;
  };
  std::list<Other> others;
};

}  // namespace tare
