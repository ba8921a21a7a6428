#pragma once

#include "tare/dataset.h"
#include "tare/node.h"

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tare {

/// Whether a sample is all that an input takes in one run, and not one row of it: it has the
/// input's rank. So have samples of scalars, of caches, and of sequences whose first axis is
/// time.
bool is_whole_input(const Shape& sample, const Shape& input);

/// As many samples or more, as whole runs take.
constexpr std::size_t in_whole_runs(std::size_t samples, std::size_t batch) {
  return (samples + batch - 1) / batch * batch;
}

/// Cuts a data set into runs of a graph. A graph whose inputs have first extent B takes B
/// samples per run, one with whole inputs one; samples that do not fill a run are left out.
/// Consecutive runs form chunks, the unit in which files are read and threads share the work.
class Feed {
 public:
  /// Samples [first, samples) of the data; `samples` 0 means all. Throws Error(kInvalidData)
  /// with every input that is missing from the data, or whose shape or type does not fit.
  Feed(const Graph&, const Dataset&, std::size_t samples, std::size_t first = 0);

  /// The same runs with only some of the inputs, which may be none, in the order given.
  Feed only(std::span<const std::string> inputs) const;

  std::size_t chunks() const { return (runs_ + runs_per_chunk_ - 1) / runs_per_chunk_; }
  std::size_t runs() const { return runs_; }
  std::size_t samples() const { return runs_ * batch_; }
  std::size_t batch() const { return batch_; }
  std::size_t samples_in(std::size_t chunk) const;
  /// Reads the chunk and calls `body` for each of its runs, in order, with the graph's inputs.
  void for_each_run(
      std::size_t chunk,
      const std::function<void(std::size_t run, std::span<const Tensor> inputs)>& body) const;

  /// Reads one run: the graph's inputs. Throws Error(kInvalidData) for a sample of another
  /// shape than the others where the graph leaves no extents open.
  std::vector<Tensor> read(std::size_t run) const;

 private:
  struct Input {
    std::string name;
    TensorType type;
    bool is_whole;  ///< is_whole_input()
    /// Of a sample: the names of extents that the model leaves open, by axis; empty where it
    /// does not.
    std::vector<std::string> open;
  };
  void require_shape(const Input&, const Tensor& sample, std::size_t index) const;
  std::vector<Tensor> read_rows(std::size_t first_run, std::size_t runs) const;
  std::vector<Tensor> inputs_of(std::span<const Tensor> rows, std::size_t run) const;
  std::size_t first_run(std::size_t chunk) const { return chunk * runs_per_chunk_; }
  std::size_t runs_in(std::size_t chunk) const;

  const Dataset& data_;
  std::vector<Input> inputs_;
  std::size_t first_sample_ = 0;
  std::size_t batch_ = 1;
  std::size_t runs_ = 0;
  std::size_t runs_per_chunk_ = 1;
};

}  // namespace tare
