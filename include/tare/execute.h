#pragma once

#include "tare/node.h"
#include "tare/tensor.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tare {

class Dataset;
struct Config;

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
  std::vector<ValueId> observe{};
  /// Graph inputs (of rank 3 and more) whose tensors come with axis 1 varying fastest.
  std::vector<ValueId> channels_last{};
  /// Round less in float convolutions and dense layers, for about a tenth more time: for
  /// results that are compared with those of others.
  bool precise = false;
  /// Threads that make it, 0 for one per core; it is run by those that call it.
  int threads = 1;
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
  /// behind conversions that were made once and for all cannot be exchanged, nor can weights of
  /// products on storage values, whose kernels are chosen by what the weights are.
  Executable exchanged(const Graph&, std::span<const Exchange>) const;

  /// Intermediate memory of one run at a time; reused between runs.
  class Workspace {
   public:
    explicit Workspace(const Executable&);
    ~Workspace();
    Workspace(Workspace&&) noexcept;

   private:
    friend class Executable;
    friend class PausedRun;
    struct Impl;
    std::unique_ptr<Impl> impl_;
  };

  /// Runs the graph once, on the calling thread; denormal floats are taken for 0. `inputs` have
  /// order and types of Graph::inputs; throws Error(kInvalidData) otherwise. Where the graph
  /// can be reshaped (Graph::reshape) they may have other shapes, for which it is compiled
  /// once. Returns outputs.
  std::vector<Tensor> run(Workspace&, std::span<const Tensor> inputs,
                          const ValueCallback& callback = {}) const;
  /// Convenience: one run with a workspace of its own.
  std::vector<Tensor> run(std::span<const Tensor> inputs) const;

  /// Whether the observed value with that index is shown with axis 1 varying fastest.
  bool shows_channels_last(std::size_t index) const;

  std::size_t workspace_bytes() const;  ///< planned memory of one Workspace
  std::size_t constant_bytes() const;   ///< packed constants, shared by all

 private:
  friend class PausedRun;
  struct Impl;
  explicit Executable(std::unique_ptr<const Impl>);
  bool runs_other_shapes(std::span<const Tensor> inputs) const;
  std::vector<Tensor> run_for_shapes(Workspace&, std::span<const Tensor> inputs,
                                     const ValueCallback&) const;
  std::unique_ptr<const Impl> impl_;
};

/// Evaluates one node on constant operands (absent ones are null); used for constant folding.
/// Throws Error(kUnsupported) when no kernel takes it.
std::vector<Tensor> evaluate(const Node&, std::span<const Tensor* const> inputs,
                             std::span<const TensorType> output_types);

/// Operator names that have a kernel, sorted.
std::vector<std::string> executable_ops();

// Times that are measured in the engine that will run the model: docs/engines.md.

struct EngineOptions {
  /// "onnxruntime", "onnxruntime-node", "tare", a command that speaks the protocol, or one with
  /// {model} in it that prints a time.
  std::string engine;
  int threads = 1;       ///< of the engine; "tare" has one
  double patience = 60;  ///< seconds after which an engine that does not answer hangs
};

/// What an engine says of itself.
struct EngineFacts {
  std::string name;
  std::string version;  ///< empty: it does not say
  std::string processor;
  int threads = 1;
};

/// Nanoseconds of one run.
struct Quartiles {
  double low = 0;
  double median = 0;
  double high = 0;
};

/// An estimate, and the bounds between which the true value is at 95 % confidence.
struct ConfidenceInterval {
  double low = 0;
  double value = 0;
  double high = 0;
};

/// How much faster a second model is than a first one.
struct SpeedComparison {
  EngineFacts engine;
  Quartiles first;
  Quartiles second;
  /// Time of the first one to that of the second: the median over rounds in which both ran one
  /// after the other, with the bounds that the order of these ratios gives, whatever their
  /// distribution (Conover, Practical Nonparametric Statistics, 1999, 3.2).
  ConfidenceInterval ratio;
  std::size_t rounds = 0;
};

struct MeasureOptions {
  double seconds = 10;      ///< at most, beyond some rounds that it takes in any case
  double precision = 0.01;  ///< ends as soon as the bounds of a ratio are so close to it
  /// Told of the share that is done, in percent. May be empty.
  std::function<void(std::size_t done, std::size_t total)> progress{};
};

/// Runs both files in turn, on the first sample, or on made-up values where there is none.
/// Throws Error(kUnsupported) where the engine does not start, refuses a model, or does not
/// measure it, Error(kIo) for files that cannot be read.
SpeedComparison measure_speed(const std::filesystem::path& first,
                              const std::filesystem::path& second, const EngineOptions&,
                              const Config&, const Dataset*, const MeasureOptions& = {});

}  // namespace tare
