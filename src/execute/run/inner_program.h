#pragma once

#include "tare/execute.h"

#include "execute/kernel.h"

#include <optional>
#include <string>
#include <vector>

namespace tare {

/// A graph inside of a node, ready to run. Captured operands that are constants are part of it.
/// Immutable, as kernels are.
class InnerProgram {
 public:
  /// What one thread needs to run it.
  class State : public KernelState {
   public:
    explicit State(const InnerProgram&);

    /// What the graph reads from outside, for the next runs.
    void capture(const Buffers&);
    /// Runs the graph; `own` are its inputs but for those that stand for captured operands.
    std::vector<Tensor> run(std::vector<Tensor> own);

   private:
    const InnerProgram& program_;
    Executable::Workspace workspace_;
    std::vector<Tensor> captured_;
  };

  /// Throws Error(kInvalidModel) where the graph does not fit its node, and as Executable does.
  InnerProgram(const KernelRequest&, const std::string& attribute);

  const std::vector<TensorType>& own_inputs() const { return own_inputs_; }
  const std::vector<TensorType>& outputs() const { return outputs_; }
  /// Whether the node's operand is part of the program.
  bool packs(std::size_t operand) const;
  std::size_t packed_bytes() const { return executable_->constant_bytes(); }

 private:
  struct Captured {
    std::size_t operand;
    TensorType type;
    std::optional<Tensor> constant;
  };

  std::optional<Executable> executable_;
  std::vector<TensorType> own_inputs_;
  std::vector<Captured> captured_;  ///< in the order of inputs, which begin with its own
  std::vector<TensorType> outputs_;
};

/// A tensor of that type with the elements at `data`.
Tensor tensor_at(const TensorType&, const std::byte* data);

}  // namespace tare
