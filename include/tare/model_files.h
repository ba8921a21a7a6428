#pragma once

#include "tare/arithmetic.h"
#include "tare/dataset.h"
#include "tare/node.h"
#include "tare/tensor.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace tare {

struct Config;
struct Tail;
struct Toolkit;

// Models as files: ONNX, read and written, and TensorFlow Lite, read.

/// Evaluates a node on constants, so that shapes computed inside the graph become known.
using Evaluator = std::function<std::vector<Tensor>(const Node&, std::span<const Tensor* const>,
                                                    std::span<const TensorType>)>;

struct ReadOptions {
  /// Symbolic dimension name -> extent. A dimension that is absent here and not bound by
  /// `input_shapes` becomes 1 when it is the first one (the batch) and an error otherwise.
  std::map<std::string, std::int64_t> dims;
  /// Input name -> shape of one sample (without the first dimension); binds what is symbolic.
  std::map<std::string, Shape> input_shapes;
  /// Input name -> its value in all samples, one element. Conditions and shapes that depend on
  /// it are decided for that value; elsewhere it stays an input.
  std::map<std::string, Tensor> input_values{};
  /// Operators that can be run, sorted; others are reported all at once. Empty: not checked.
  std::vector<std::string> supported_ops;
  Evaluator evaluate;  ///< may be empty; then data-dependent shapes are errors
  /// What a graph cannot hold becomes its tail, if what stands before it is a network.
  /// Otherwise it is an error.
  bool keeps_tail = false;
};

/// Reads an ONNX model of opset 6 to 25 (external data included) and normalizes its operators
/// to the forms of opset 17. Every value gets a static type, inferred by the onnx library.
/// Throws Error(kIo), Error(kInvalidModel) (not ONNX, or breaks its rules) or
/// Error(kUnsupported) (all unsupported operators, types and dynamic shapes at once).
Graph read_onnx(const std::filesystem::path&, const ReadOptions& = {});

/// The graph, which may be one of any stage after reading, with inputs of these shapes, in
/// their order, and the shapes of all values that follow. Handles stay as they are. Throws
/// Error at the node that does not take its operands then.
Graph with_input_shapes(const Graph&, std::span<const Shape>, const Evaluator&);

/// Computes the outputs of the model that stand behind a graph, by name. `values` are what the
/// tail reads, by name and in the types of its file. What it cannot compute is missing.
class TailRunner {
 public:
  explicit TailRunner(const Tail&);
  ~TailRunner();
  TailRunner(TailRunner&&) noexcept;
  std::map<std::string, Tensor> run(const std::map<std::string, Tensor>& values,
                                    const Evaluator&) const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

/// The inputs that a model declares, without looking at what is behind them. Throws Error(kIo),
/// Error(kInvalidModel), and Error(kUnsupported) for inputs that are no tensors of numbers.
std::vector<ModelInput> read_onnx_inputs(const std::filesystem::path&);

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
/// The bytes of the files that write_onnx() would make of it; of an empty path, under some
/// name.
std::uintmax_t written_bytes(const Graph&, const std::filesystem::path&,
                             const std::map<std::string, std::string>& metadata = {});

/// Bytes of a model's file, and of those beside it that hold its constants.
std::uintmax_t stored_bytes(const std::filesystem::path& model);

/// Reads a TensorFlow Lite model, float or quantized, as a graph of ONNX operators. Each tensor
/// that the file quantizes is a QuantizeLinear (or an input, or a constant) and a
/// DequantizeLinear with the file's scales and zero points, bit for bit, and operators stand
/// between these on real values: from_qdq() and lower() make the canonical integer graph of it,
/// whose `TensorType::point` is the tensor's name. Biases get the product of the scales of what
/// they are added to.
///
/// Images are NCHW inside; inputs and outputs keep the file's shapes. A first extent of -1 in
/// shape signatures is what the file's shapes say, usually 1. See docs/tflite.md for what
/// becomes of each operator.
///
/// `numerics` are those that the graph shall be run with. They matter to RELU6 between two
/// pairs of parameters: the reference kernels, as the port for microcontrollers has them, bound
/// the operand's integers and do not rescale them, and for Numerics::kTfliteRef the graph does
/// the same.
///
/// Throws Error(kIo), Error(kInvalidModel) (not such a file, or it breaks the format's rules),
/// or Error(kUnsupported) (all unsupported operators and tensors at once).
Graph read_tflite(const std::filesystem::path&, Numerics numerics = Numerics::kOnnxRuntime);

// Files of all formats.

/// Reads a model with every operator the executor has; symbolic dimensions are bound by `dims`,
/// then by the shapes in `data` (may be null). A name that ends in .tflite is that of a
/// TensorFlow Lite model: its shapes are as it says, and where it is quantized it comes in the
/// form of to_qdq(), with_tflite_averages(), made for `numerics` (see read_tflite()). One that
/// ends in .tir is that of a graph of any stage in the textual form, which is taken as it is.
/// Real values of other models are float32, see in_float32().
Graph load_model(const std::filesystem::path&, const std::map<std::string, std::int64_t>& dims,
                 const Dataset* data, Numerics numerics = Numerics::kOnnxRuntime);
/// The same with shapes of one sample, by input.
Graph load_model(const std::filesystem::path&, const std::map<std::string, std::int64_t>& dims,
                 const std::map<std::string, Shape>& samples,
                 Numerics numerics = Numerics::kOnnxRuntime);

/// The inputs of a model of any of these formats, before its dimensions are bound but for
/// `dims`.
std::vector<ModelInput> model_inputs(const std::filesystem::path&,
                                     const std::map<std::string, std::int64_t>& dims = {});

/// Opens samples of any format that open_samples() takes for the model in the other file, as
/// the configuration prepares inputs; `notice` is told what was guessed, in a line each. Where
/// it names states, the samples are those of with_states(). An HDF5 file says itself what it
/// holds, so the model is read only for preparations and states. Throws as open_samples(),
/// model_inputs() and with_states().
std::unique_ptr<Dataset> open_samples(
    const std::filesystem::path&, const std::filesystem::path& model, const Config&,
    const Toolkit&, const Hdf5Options& = {},
    const std::function<void(const std::string&)>& notice = {});

}  // namespace tare
