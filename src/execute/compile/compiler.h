#pragma once

#include "tare/error.h"
#include "tare/node.h"
#include "tare/process.h"

#include "execute/compile/fuse.h"
#include "execute/compile/program.h"
#include "execute/packing.h"

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tare {

/// Makes the program of a graph: kernels, layouts, places of values.
class Compiler {
 public:
  Compiler(const Graph& graph, const ExecuteOptions& options)
      : graph_(graph),
        options_(options),
        packing_(options.threads == 1 ? nullptr : std::make_shared<Packing>(options.threads)) {}

  Program run();
  Program exchange(const Program& before, std::span<const Exchange>);

 private:
  /// The places of a value, by layout; both name the same one where the layouts coincide.
  struct Homes {
    std::array<Place, 2> at;
    Layout native = Layout::kPlain;  ///< as it was computed
  };
  /// A request with the graph's values behind its operands.
  struct Work {
    const KernelInfo* info = nullptr;
    NodeId node;
    std::vector<NodeId> folded;
    KernelRequest request;
    std::vector<ValueId> inputs;
    std::vector<ValueId> outputs;
  };

  /// What tells whether two constants are the same: where the bytes of one of the graph are, or
  /// which value was converted.
  using ConstantKey = std::pair<const std::byte*, ValueId>;
  /// A kernel that packed a constant.
  struct Packed {
    const KernelInfo* info = nullptr;
    KernelRequest request;               ///< without its constants
    std::vector<ConstantKey> constants;  ///< for each operand
    std::shared_ptr<const Kernel> kernel;
  };

  std::set<ValueId> kept_values() const;
  std::vector<NodeId> live_order(const std::set<ValueId>& kept) const;
  void add_interface();
  void emit(const Unit&);
  bool convert_constant(const Node&);
  bool follow_shapes(const Node&);
  const Tensor* constant(ValueId) const;
  ConstantKey constant_key(ValueId) const;
  void count_readers(std::span<const Unit>, const std::set<ValueId>& kept);
  void release(const Node&);
  bool emit_as(const Work&, const KernelInfo&);
  std::optional<Work> on_storage(const Work&) const;
  bool emit_fused(const Node&, std::span<const NodeId> folded, bool last_try);
  Work describe_work(const Node&, std::span<const NodeId> folded) const;
  void refuse(const Node&, std::string what, std::string expected = {});
  std::string allowed() const;
  void require_memory() const;
  void choose_layouts(Work&) const;
  Layout follow(const Work&) const;
  std::shared_ptr<const Kernel> kernel_for(const Work&);
  void commit(const Work&, std::shared_ptr<const Kernel>);
  Place place_of(ValueId, Layout);
  Place new_buffer(std::size_t bytes);
  void set_home(ValueId, Layout, Place);
  bool has(ValueId, Layout) const;
  void show_observed();

  const Graph& graph_;
  const ExecuteOptions& options_;
  Program program_;
  std::map<ValueId, Homes> homes_;
  std::map<ValueId, Tensor> converted_;        ///< constants
  std::map<ValueId, std::size_t> readers_;     ///< how many nodes are yet to read a value
  std::set<ValueId> from_shapes_;              ///< of converted ones
  std::map<std::size_t, std::size_t> writer_;  ///< buffer -> step
  std::multimap<ConstantKey, Packed> packed_;  ///< by their first constant
  std::shared_ptr<Packing> packing_;           ///< null: at once
  Faults faults_;
  bool too_large_ = false;
  double limit_ = static_cast<double>(memory_limit());
};

/// A node in messages.
std::string describe(const Node&);

/// What an operand of that layout is to a kernel.
void lay_out(Operand&, Layout);

}  // namespace tare
