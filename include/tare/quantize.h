#pragma once

#include "tare/arithmetic.h"
#include "tare/calibrator.h"
#include "tare/config.h"
#include "tare/dataset.h"
#include "tare/graph.h"
#include "tare/integer_graph.h"
#include "tare/model_files.h"
#include "tare/pattern.h"
#include "tare/quant_table.h"
#include "tare/report.h"
#include "tare/simulate.h"
#include "tare/statistics.h"
#include "tare/tensor.h"
#include "tare/toolkit.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tare {

/// The clean float graph: constants folded, batch norms folded, canonical forms. Throws
/// Error(kInvalidModel) for a simulated graph.
Graph prepare(Graph, const Toolkit&, std::vector<RewriteEvent>* log = nullptr);

struct QuantizeResult {
  Graph prepared;
  ChannelFactors factors;             ///< of channels of `prepared`, applied in what follows
  std::set<std::string> float_nodes;  ///< that stay float for the sake of accuracy
  SimulatedGraph simulated;
  QuantTable table;
  CalibrationAudit audit;
  Graph integer;  ///< to be written in one of its forms: export_form()
  Graph qdq;      ///< `integer` in Form::kQdq, made for the target
  /// verdicts() of the operators of `prepared`, which hold for `qdq`.
  std::vector<Verdict> verdicts;
  std::string recipe{};  ///< which one was used and why, for people; empty: none
};

/// prepare, equalize, simulate, calibrate, lower: the stages in their order. Which layers stay
/// float within the configured slowdown is found between simulating and calibrating, in a pass
/// of the float network.
QuantizeResult quantize(const Graph& model, const Dataset&, const Config&, const Toolkit&,
                        const CalibrateOptions& = {});
/// The same with statistics of an earlier pass in place of the data.
QuantizeResult quantize(const Graph& model, const Statistics&, const Config&, const Toolkit&);
/// The same with a table that was decided before.
QuantizeResult quantize(const Graph& model, const TableFile&, const Config&, const Toolkit&);

/// The same without samples, for activations that get their parameters while the network runs.
/// Throws Error(kInvalidConfig) where the configuration leaves others.
QuantizeResult quantize(const Graph& model, const Config&, const Toolkit&);

/// What quantizing a network is expected to take, before it begins.
struct CostEstimate {
  /// Wall time in seconds of each effort, with as many threads as were asked for; of kBest no
  /// more than a guess, as it depends on what pays.
  std::map<Effort, double> seconds;
  double memory = 0;       ///< bytes, with the configured effort
  double activations = 0;  ///< of these, what the activation cache takes
  double disk = 0;         ///< bytes of temporary files, in TMPDIR, at most
};

/// Runs the float network for half a second, or once, and adds up what docs/scaling.md says
/// that quantizing costs, which also says how far off that is. Throws as prepare(), and as
/// running the network does.
CostEstimate estimate_cost(const Graph& model, const Dataset&, const Config&, const Toolkit&,
                           const CalibrateOptions& = {});

/// True for a graph with operators of ours on integers: a canonical integer graph, or one on
/// the way to it.
bool is_lowered(const Graph&);
/// True for a model that is quantized already, in whichever form.
bool is_quantized(const Graph& model);
/// The canonical integer graph of such a model, whoever quantized it. Of our own files it is
/// the graph they were made of.
Graph lower_quantized(Graph model, const Config&, const Toolkit&);

/// verdicts() of a quantized model that was read, whoever made it and in whichever form.
std::vector<Verdict> verdicts_of_file(Graph model, const Target&, const Toolkit&);

/// The model as it is run: the canonical integer graph of a quantized one, whose results are
/// those of engines with integer kernels, or the prepared graph of a float one; in float32.
Graph ready_to_run(Graph model, const Config&, const Toolkit&);

/// What the file of a quantized model says beside the model, in metadata_props: see
/// docs/metadata.md.
struct FileMetadata {
  ChannelFactors factors;        ///< that equalized the float model before it was quantized
  NetworkArithmetic arithmetic;  ///< how sums of products were to be added up and rescaled
  /// See with_points(). Absent: the file says nothing about points.
  std::optional<std::map<std::string, std::string>> unnamed_points;
};
std::map<std::string, std::string> file_metadata(const QuantizeResult&);
/// Throws Error(kInvalidModel) when it cannot be read.
FileMetadata read_file_metadata(const std::filesystem::path& quantized);
ChannelFactors read_factors(const std::filesystem::path& quantized);

/// Writes the integer graph in that form, for its target, with file_metadata() and with the
/// operators that the toolkit exports. Throws as export_form() and write_onnx().
void write_model(const QuantizeResult&, const std::filesystem::path&, Form = Form::kQdq,
                 const Toolkit& = Toolkit::builtin());

/// The configuration with the arithmetic in the file's metadata, except where it sets something
/// other than the defaults itself.
Config with_metadata(Config, const FileMetadata&);
/// lower_quantized() with that configuration, and with the points of the file: the integer
/// graph that a file of ours was made of.
Graph lower_quantized(Graph model, const FileMetadata&, const Config&, const Toolkit&);

/// The stages that a model goes through, in order: float, prepared, simulated, affine,
/// expanded, integer, exported.
std::span<const std::string_view> stage_names();

/// The model after the stage of that name: as it was read, prepare(), simulate() or, with
/// samples, bind() to what calibration decided, lowered() to either LoweringStage, and the
/// integer graph and its QDQ form. A quantized model has no affine and expanded ones, and its
/// metadata comes from `file`, which it was read from. What is behind `simulated` takes samples
/// for a float model, otherwise they may be null.
/// Throws Error(kInvalidConfig) for a name or a stage that does not exist, or without samples.
Graph graph_at_stage(Graph model, std::string_view stage, const std::filesystem::path& file,
                     const Dataset*, const Config&, const Toolkit&,
                     const CalibrateOptions& = {});

/// Two models as they were read. If `quantized` is in fact a float model, it is compared as is.
struct ComparedModels {
  Graph real;
  Graph quantized;
  ChannelFactors factors{};  ///< of channels of the quantized one, see read_factors()
  /// Of layers of the quantized one that are not as the configuration says, see FileMetadata.
  std::map<std::string, SumArithmetic, std::less<>> arithmetic{};
  /// Whose arithmetic the quantized one runs with. Files are ONNX, so by default that of its
  /// runtime; absent: what the configuration says, for devices that take the integer graph.
  std::optional<Numerics> numerics = Numerics::kOnnxRuntime;
};

/// What quantization cost: compare() with verdicts of the configured target and the sums of the
/// first samples. Where the quantized model has storage values as inputs or outputs, samples
/// are rounded to them and results expressed. Throws Error(kInvalidModel) when the float model
/// is quantized.
Report compare_models(ComparedModels, const Dataset&, const Config&, const Toolkit&,
                      const CompareOptions& = {});
/// The same of a model that was just quantized, as a file of it runs in ONNX Runtime, and what
/// chose its parameters.
Report compare_result(const QuantizeResult&, const Dataset&, const Toolkit&,
                      const CompareOptions& = {});
/// Writes a copy of the quantized ONNX model that the report is about, whose nodes say what it
/// says of their layers, as metadata_props: docs/metadata.md has the keys. Constants in files
/// beside the model stay there. Throws as read_onnx() for what is no ONNX model, and Error(kIo)
/// where the copy would not find these files.
void annotate_model(const std::filesystem::path& quantized, const std::filesystem::path& copy,
                    const Report&);

/// The simulated graph whose statistics serve every configuration and objective of this target:
/// nothing is kept in float.
SimulatedGraph simulate_all(const Graph& model, Config, const Toolkit&);

/// Whether each sample is all that the graph takes in one run, as samples of networks with
/// state or with time first are, and not one row of a batch: one at least has the rank of its
/// input.
bool are_whole_inputs(const Graph&, const Dataset&);

/// Runs `graph` on every sample, in parallel; `take` gets the outputs sample by sample, in
/// order, from one thread at a time. `samples` 0 means all. A model whose first input dimension
/// is B > 1 consumes B samples per run.
void run_dataset(const Graph&, const Dataset&, int threads, std::size_t samples,
                 const std::function<void(std::size_t run, std::vector<Tensor> outputs)>& take,
                 const std::function<void(std::size_t done, std::size_t total)>& progress = {});

/// The same with the outputs of the model by name, those behind the graph included (see Tail).
/// What cannot be computed is missing.
void run_model(
    const Graph&, const Dataset&, int threads, std::size_t samples,
    const std::function<void(std::size_t run, std::map<std::string, Tensor> outputs)>& take,
    const std::function<void(std::size_t done, std::size_t total)>& progress = {});

/// Says what of a model is behind its graph; nothing where nothing is.
std::vector<Warning> audit_tail(const Graph&);

/// The samples as the steps of sequences, in which inputs of state are what the model computed
/// one step before: `state` has the output for each of them, `steps` of the configuration how
/// long a sequence is. The first step of each takes the state in the data, or zeros. The model
/// (see ready_to_run()) runs over all samples once, and what flows back is kept in a temporary
/// file. Throws Error(kInvalidConfig) with all names that the model does not have, and outputs
/// of other shapes or types than their inputs.
std::unique_ptr<Dataset> with_states(const Graph& model, std::unique_ptr<Dataset>,
                                     const Config&, int threads = 0);

/// Constants that leave a network no sensible results: NaN among them, infinities in weights
/// and other parameters of layers, variances that are not above 0 with their epsilon; one of
/// each, in the order of the graph. Infinities elsewhere, as in masks, are none.
std::vector<Warning> invalid_constants(const Graph&);

}  // namespace tare
