#pragma once

#include "tare/node.h"
#include "tare/tensor.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tare {

class Graph;

/// Elements of one value while a graph runs. Memory order may differ from the logical order of
/// `type.shape`: channels_last means that axis 1 varies fastest.
struct TensorView {
  const TensorType* type = nullptr;
  const std::byte* data = nullptr;
  bool channels_last = false;

  std::int64_t size() const { return element_count(type->shape); }
  /// T must be the type's dtype.
  template <class T>
  std::span<const T> elements() const {
    return {reinterpret_cast<const T*>(data), static_cast<std::size_t>(size())};
  }
  /// A row-major copy.
  Tensor tensor() const;
};

/// Called after the observed value with that index (into ExecuteOptions::observe) was computed.
/// The view is valid during the call.
using ValueCallback = std::function<void(std::size_t index, const TensorView&)>;

struct ExecuteOptions {
  /// Values to show to the callback. An observed value is always computed as such (no fusion
  /// hides it). Inputs and constants may be observed too.
  std::vector<ValueId> observe;
  /// Graph inputs (of rank 3 and more) whose tensors come with axis 1 varying fastest.
  std::vector<ValueId> channels_last{};
  /// Round less in float convolutions and dense layers, for about a tenth more time: for
  /// results that are compared with those of others.
  bool precise = false;
};

/// A constant of a graph in whose place nodes read another one of the same type.
struct Exchange {
  ValueId before;
  ValueId after;
};

/// A graph made ready to run: layouts chosen, constants packed, memory planned. Immutable, so
/// any number of threads may run it at once, each with a workspace of its own.
class Executable {
 public:
  /// Throws Error(kUnsupported) naming nodes without kernel, or for more than memory_limit().
  explicit Executable(const Graph&, const ExecuteOptions& = {});
  ~Executable();
  Executable(Executable&&) noexcept;
  Executable& operator=(Executable&&) noexcept;

  /// The same for its graph after the readers of some constants were made to read others.
  /// Shares all that does not depend on these, so it takes little time and memory. Constants
  /// behind conversions that were made once and for all cannot be exchanged.
  Executable exchanged(const Graph&, std::span<const Exchange>) const;

  /// Intermediate memory of one run at a time; reused between runs.
  class Workspace {
   public:
    explicit Workspace(const Executable&);
    ~Workspace();
    Workspace(Workspace&&) noexcept;

   private:
    friend class Executable;
    struct Impl;
    std::unique_ptr<Impl> impl_;
  };

  /// Runs the graph once, on the calling thread; denormal floats are taken for 0. `inputs` have
  /// order and types of Graph::inputs; throws Error(kInvalidData) otherwise. Returns outputs.
  std::vector<Tensor> run(Workspace&, std::span<const Tensor> inputs,
                          const ValueCallback& callback = {}) const;
  /// Convenience: one run with a workspace of its own.
  std::vector<Tensor> run(std::span<const Tensor> inputs) const;

  /// Whether the observed value with that index is shown with axis 1 varying fastest.
  bool shows_channels_last(std::size_t index) const;

  std::size_t workspace_bytes() const;  ///< planned memory of one Workspace
  std::size_t constant_bytes() const;   ///< packed constants, shared by all

 private:
  struct Impl;
  explicit Executable(std::unique_ptr<const Impl>);
  std::unique_ptr<const Impl> impl_;
};

/// Evaluates one node on constant operands (absent ones are null); used for constant folding.
/// Throws Error(kUnsupported) when no kernel takes it.
std::vector<Tensor> evaluate(const Node&, std::span<const Tensor* const> inputs,
                             std::span<const TensorType> output_types);

/// Operator names that have a kernel, sorted.
std::vector<std::string> executable_ops();

}  // namespace tare
