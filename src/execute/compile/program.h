#pragma once

#include "tare/execute.h"

#include "execute/kernel.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace tare {

/// Where the bytes of an operand are while a program runs.
struct Place {
  enum class Kind : std::uint8_t { kNone, kBuffer, kInput, kConstant };
  Kind kind = Kind::kNone;
  std::size_t index = 0;  ///< into the program's buffers, inputs or constants

  friend bool operator==(const Place&, const Place&) = default;
};

/// Memory of the workspace that holds one value (or scratch) from step `first` to step `last`,
/// both included.
struct Buffer {
  std::size_t bytes = 0;
  std::size_t first = 0;
  std::size_t last = 0;
  std::size_t offset = 0;  ///< in the workspace; a multiple of 64
};

/// An observed value and how to read it.
struct Shown {
  std::size_t index = 0;  ///< into ExecuteOptions::observe
  TensorType type;
  Place place;
  bool channels_last = false;
};

/// What a kernel was made for, so that another can be made in its place.
struct KernelOrigin {
  const KernelInfo* info = nullptr;  ///< null where it is no kernel of a node
  NodeId node;
  std::vector<NodeId> folded;
  std::vector<Layout> inputs;  ///< of operands
  std::vector<Layout> outputs;
};

struct Step {
  std::string where;  ///< for messages: "node 'conv1' (Conv)"
  std::shared_ptr<const Kernel> kernel;
  KernelOrigin origin;
  std::vector<Place> inputs;
  std::vector<Place> outputs;
  Place scratch;
  bool in_place = false;     ///< the first output may take over the first input's memory
  std::vector<Shown> shown;  ///< observed values that are complete after this step
};

/// What Executable runs.
struct Program {
  struct Interface {
    std::string name;
    TensorType type;
    Place place;
  };
  std::vector<Interface> inputs;
  std::vector<Interface> outputs;
  std::vector<Tensor> constants;
  std::vector<ValueId> constant_values;  ///< in the graph
  std::vector<Shown> shown_first;        ///< observed inputs and constants
  std::vector<Step> steps;
  std::vector<Buffer> buffers;
  std::size_t workspace_bytes = 0;
  bool precise = false;  ///< as ExecuteOptions::precise
};

/// What one run has in memory beside constants: a workspace, inputs and results.
double bytes_of_run(const Program&);

/// Chooses kernels and layouts, fuses, and plans memory. Throws Error(kUnsupported) naming
/// every node that no kernel takes.
Program compile(const Graph&, const ExecuteOptions&);

/// The program of the same graph after its nodes were made to read other constants: see
/// Executable::exchanged().
Program exchanged(const Program&, const Graph&, std::span<const Exchange>);

/// Fills in lifetimes and offsets of all buffers; buffers of steps that run in place share
/// bytes when the operand is not needed any more.
void assign_memory(Program&);

}  // namespace tare
