#pragma once

#include "tare/graph.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace tare {

/// Evaluates a node on constants, so that shapes computed inside the graph become known.
using Evaluator = std::function<std::vector<Tensor>(const Node&, std::span<const Tensor* const>,
                                                    std::span<const TensorType>)>;

struct ReadOptions {
  /// Symbolic dimension name -> extent. A dimension that is absent here and not bound by
  /// `input_shapes` becomes 1 when it is the first one (the batch) and an error otherwise.
  std::map<std::string, std::int64_t> dims;
  /// Input name -> shape of one sample (without the first dimension); binds what is symbolic.
  std::map<std::string, Shape> input_shapes;
  /// Operators that can be run, sorted; others are reported all at once. Empty: not checked.
  std::vector<std::string> supported_ops;
  Evaluator evaluate;  ///< may be empty; then data-dependent shapes are errors
};

/// Reads an ONNX model of opset 7 to 22 (external data included) and normalizes its operators
/// to the forms of opset 17. Every value gets a static type, inferred by the onnx library.
/// Throws Error(kIo), Error(kInvalidModel) (not ONNX, or breaks its rules) or
/// Error(kUnsupported) (all unsupported operators, types and dynamic shapes at once).
Graph read_onnx(const std::filesystem::path&, const ReadOptions& = {});

/// The metadata_props of a model. Throws as read_onnx() for what is no ONNX model.
std::map<std::string, std::string> read_metadata(const std::filesystem::path&);

/// The files beside the model that it says hold constants of it; of constants that no node
/// reads they may be missing. Throws as read_onnx() for what is no ONNX model.
std::set<std::filesystem::path> external_files(const std::filesystem::path&);

/// Writes `graph` as an ONNX model of its opset, raised where a feature needs it. The graph
/// must hold operators of ONNX only (lower with an export form first), apart from those that
/// have an exact ONNX spelling (Gelu below opset 20). Models above 2 GB get their constants in
/// "<name>.data" beside the file. Written under a temporary name and renamed; where the path is
/// a link, to the file that it leads to. Constants with parameters of 4 bits are stored as INT4
/// or UINT4. `metadata` becomes metadata_props.
void write_onnx(const Graph&, const std::filesystem::path&,
                const std::map<std::string, std::string>& metadata = {});
/// The bytes of the files that write_onnx() would make of it.
std::uintmax_t written_bytes(const Graph&, const std::filesystem::path&,
                             const std::map<std::string, std::string>& metadata = {});

}  // namespace tare
