#pragma once

#include "tare/execute.h"
#include "tare/graph.h"

#include "graph/ir/subgraph.h"

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tare {

/// What of a block is learned, as values of the network that it is cut from.
struct Learned {
  std::vector<ValueId> constants;  ///< weights and biases
  std::vector<ValueId> ranges;     ///< parameters of FakeQuantize, which are inputs
};

/// A block of a fake-quantized network as a graph that computes, of some samples at a time, the
/// squared error of its results and the gradients of that.
class BlockProgram {
 public:
  /// `sources` and `results` of the block, values of the network. `batch` runs at a time where
  /// the block can take several, else one. `drops`: quantized values may be dropped. Throws
  /// Error(kUnsupported) where something between `learned` and the results has no known
  /// derivative.
  BlockProgram(const Graph& network, std::span<const ValueId> sources,
               std::span<const ValueId> results, const Learned&,
               std::span<const double> weights_of_results, std::size_t batch, bool drops);

  std::size_t batch() const { return batch_; }
  /// Those of the sources that the block reads.
  const std::vector<ValueId>& sources() const { return sources_; }
  /// Ranges that it reads and are not learned, besides those that are.
  const std::vector<ValueId>& ranges() const { return ranges_; }
  /// Of each place in the block where values are dropped: the shape for a batch.
  const std::vector<Shape>& drops() const { return drops_; }

  struct Step {
    std::vector<Tensor> sources;    ///< of a batch, in the order of sources()
    std::vector<Tensor> targets;    ///< of a batch, of each result that is compared
    std::vector<Tensor> constants;  ///< learned ones
    std::vector<Tensor> ranges;     ///< in the order of ranges()
    std::vector<Tensor> drops;      ///< bool, true where a value is not quantized
  };
  /// The gradients of Learned::constants, then Learned::ranges.
  std::vector<Tensor> gradients(Executable::Workspace&, const Step&) const;
  const Executable& executable() const { return *executable_; }

 private:
  std::size_t batch_ = 1;
  std::vector<ValueId> sources_;
  std::vector<ValueId> ranges_;
  std::vector<Shape> drops_;
  std::vector<ValueId> inputs_;        ///< of the graph, in the order of Step
  std::vector<ValueId> graph_inputs_;  ///< in that of the graph
  std::unique_ptr<Executable> executable_;
};

}  // namespace tare
