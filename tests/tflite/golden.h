#pragma once

#include "tare/config.h"
#include "tare/graph.h"

#include "support/files/samples_in_memory.h"
#include "tflite/model_file.h"

#include <filesystem>
#include <map>
#include <ostream>
#include <string>
#include <vector>

namespace tare::test {

/// A .tflite file with what a TensorFlow Lite interpreter made of some inputs.
struct Golden {
  std::string name;
  std::filesystem::path model;
  std::filesystem::path arrays;
  std::filesystem::path layers;  ///< every activation of the first inputs; may not exist

  friend void PrintTo(const Golden& golden, std::ostream* out) { *out << golden.name; }
};

/// Networks, and files of one operator; none where they are not beside the source.
std::vector<Golden> golden_networks();
std::vector<Golden> golden_operators();

/// One call of an interpreter: arrays of the inputs and of results, by index of the tensor.
struct GoldenRun {
  std::map<int, Tensor> inputs;
  std::map<int, Tensor> results;
};
/// All calls of that runtime ("tflm", "builtin", "default", "litert") that were kept; results
/// are the outputs of the graph.
std::vector<GoldenRun> golden_runs(const Golden&, const tflite::ModelFile&,
                                   const std::string& runtime);
/// Their inputs as samples, one after the other.
SamplesInMemory samples_of(const tflite::ModelFile&, const std::vector<GoldenRun>&);
/// Every activation of the first call, by index of the tensor; nothing where none were kept.
std::map<int, Tensor> golden_layers(const Golden&, const std::string& runtime);

/// The canonical integer graph of a file, with that numerics.
Graph integer_graph(const tflite::ModelFile&, Numerics);
/// And for that target, as `tare import` writes it.
Graph integer_graph(const tflite::ModelFile&, const Target&);

/// One operator of the file as a file of its own: its operands that are no constants are the
/// inputs, its results the outputs. The others go.
void keep_operator(tflite::ModelFile&, std::size_t index);

/// What the graph gives for tensors of the file, in the file's order of elements: of those that
/// are values of it.
std::map<int, Tensor> tensors_of(const Graph& integer, const tflite::ModelFile&,
                                 const std::map<int, Tensor>& inputs);

/// How far apart the integers (or float32 numbers) of two arrays are.
struct Apart {
  std::size_t elements = 0;
  std::size_t different = 0;
  double most = 0;

  Apart& operator+=(const Apart& other);
};
Apart apart(const Tensor& a, const Tensor& b);

}  // namespace tare::test
