#pragma once

#include "tare/execute.h"
#include "tare/tensor.h"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tare {

/// What a model is run on, by input. An engine makes up what is missing.
using ModelInputs = std::vector<std::pair<std::string, Tensor>>;

/// A model that an engine has, until that is destroyed.
struct LoadedModel {
  std::size_t index = 0;
};

/// A program, or the executor, that runs models and takes the time. What goes wrong is an
/// Error(kUnsupported) whose place is the engine; after one that is_broken() nothing works.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual const EngineFacts& facts() const = 0;
  /// Throws where the engine refuses the model, which others may survive.
  virtual LoadedModel load(const std::filesystem::path&, const ModelInputs&) = 0;
  virtual void unload(LoadedModel) = 0;
  /// Nanoseconds of one run, for each model as many as there are rounds. In each round every
  /// model is run once, or so many times in a row as `runs` says, of which the mean counts.
  virtual std::vector<std::vector<double>> time(std::span<const LoadedModel>,
                                                std::span<const std::size_t> runs,
                                                std::size_t rounds) = 0;
  /// Whether it crashed, hung or talked nonsense.
  virtual bool is_broken() const = 0;
};

/// As EngineOptions say. Throws Error(kUnsupported) where it does not start.
std::unique_ptr<Engine> open_engine(const EngineOptions&);

// What open_engine() chooses from.

/// A command that speaks the protocol of docs/engines.md.
std::unique_ptr<Engine> open_protocol_engine(const std::string& name,
                                             const std::string& command, const EngineOptions&);
/// A command with {model} in it, which is run anew for each time that is wanted.
std::unique_ptr<Engine> open_command_engine(const EngineOptions&);
/// The executor of this library.
std::unique_ptr<Engine> open_own_engine();

/// The name of this processor, and the numbers of its family and model.
std::string processor_name();

/// The time that a program like trtexec, benchmark_app or onnxruntime_perf_test says it took,
/// in nanoseconds: a line of JSON with "median" in nanoseconds, or else the last number with a
/// unit of time behind the word 'median', or 'mean', 'average' or 'avg' where there is none.
std::optional<double> printed_nanoseconds(const std::string& text);

}  // namespace tare
