#pragma once

#include "tare/arithmetic.h"
#include "tare/process.h"
#include "tare/quant_table.h"
#include "tare/tensor.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tare {

class Communicator;

// What quantization cost, layer by layer: the result of compare(), and in this order the
// content of a report file. docs/report.md says what each figure means. Absent figures are not
// defined, or not finite.

/// The element that is off by most.
struct LargestError {
  double value = 0;  ///< |quantized - real|
  std::size_t sample = 0;
  Shape index;  ///< in the tensor of one run
  double real = 0;
  double quantized = 0;
};

/// How far the values y of a quantized network are from the values x of the float one; sums run
/// over all elements of all samples.
struct Deviation {
  std::optional<double> sqnr;  ///< 10 log10(sum x^2 / sum (y-x)^2), in dB
  bool exact = false;          ///< y = x everywhere; then there is no SQNR
  std::optional<double> cosine;
  std::optional<double> mse;
  std::optional<double> relative_l2;
  std::optional<LargestError> largest;
};

/// So many of so many.
struct Proportion {
  std::uint64_t count = 0;
  std::uint64_t of = 0;

  double share() const;  ///< 0 when it is of nothing
  /// Wilson score interval (1927): where the true share lies with 95 % confidence.
  Range interval() const;
};

/// One of the network's results.
struct OutputReport {
  std::string name;
  Deviation error;
  /// Samples whose largest element is at the same place; absent unless each is a row of scores.
  std::optional<Proportion> agreement;
};

/// How often the first output is right, where samples have labels.
struct AccuracyReport {
  Proportion real;
  Proportion quantized;
};

/// What a metric says of the quantized network; nothing where it is not defined.
struct MetricReport {
  std::string name;
  std::optional<double> value;
};

struct ChannelReport {
  double low = 0;
  double high = 0;
  double scale = 0;  ///< the largest of its blocks, where weights are in blocks
  std::int32_t zero_point = 0;
  std::optional<double> sqnr;
};

struct WeightReport {
  std::string name;
  DType storage = DType::kInt8;
  std::optional<int> axis;     ///< absent: one scale for all channels
  int block = 0;               ///< as QuantParams::block
  std::optional<double> sqnr;  ///< of the weights themselves, in dB
  /// Largest magnitude of the widest channel over that of the narrowest that is not 0.
  std::optional<double> range_ratio;
  std::vector<ChannelReport> channels;  ///< one for each result of the layer
};

/// Registers in which a layer adds up.
struct AccumulatorReport {
  std::optional<int> bits_observed;  ///< the fewest that held every partial sum of some samples
  int bits_worst_case = 0;           ///< that hold any partial sum there can be
  int bits_there = 32;               ///< of engines with kernels for these factors: 32, or 64
  /// Bits between the largest bias and the largest int32.
  std::optional<double> bias_margin;
  std::size_t widened_channels = 0;  ///< weights whose scale is twice what they need, or more
};

/// What lies between quantized values: usually one operator and its activation.
struct LayerReport {
  std::string name;       ///< of its main operator, as `layers:` of a configuration matches it
  std::string op;         ///< that operator
  std::string result;     ///< name of the value it computes
  std::size_t depth = 0;  ///< layers before it, on the longest way
  std::vector<std::string> inputs;  ///< names of layers and of network inputs
  std::string runs_as;              ///< integer kernel of the target; empty: runs on floats
  std::string float_because;        ///< why; empty when it does not or nobody knows
  double macs = 0;                  ///< multiplications of one run
  /// This layer quantized alone: exact inputs, rounded where the network rounds them.
  std::optional<Deviation> local;
  /// The quantized network as it runs.
  std::optional<Deviation> cumulative;
  std::string point;  ///< of its result; empty: stays real
  std::optional<WeightReport> weight;
  std::optional<AccumulatorReport> accumulator;
};

/// What another calibrator would choose, and the expected mean squared error, or error_behind.
struct AlternativeCalibrator {
  std::string calibrator;
  Range range;
  double error = 0;
};

struct HistogramReport {
  double low = 0;  ///< where the first bar begins
  double high = 0;
  std::vector<std::uint64_t> counts;  ///< of bars of equal width; exact zeros are in none
};

/// One activation and its parameters. Shares are of all its values, in [0,1].
struct PointReport {
  std::string name;   ///< of the value; a second point on it has a number behind
  std::string value;  ///< the real value that is rounded
  std::string layer;  ///< that computes it; empty: an input of the network
  /// What computes it: the operator whose `activations:` in a configuration count here. Of an
  /// input of the network the first that reads it, whose `inputs:` count.
  std::string node;
  QuantParams params;
  Range observed;                                   ///< extremes of the real values
  Range calibrated;                                 ///< what the storage type spans
  std::string calibrator;                           ///< that chose it; empty: not known
  std::vector<AlternativeCalibrator> alternatives;  ///< the least error first
  Clipped saturated;                                ///< off by more than rounding at each end
  std::size_t levels_used = 0;                      ///< storage values that occur
  std::size_t levels = 0;                           ///< that there are
  double effective_bits = 0;                        ///< entropy of the storage values
  double zeros = 0;                                 ///< real values that are 0
  double lost = 0;                                  ///< that are not 0 and become 0
  double bulk = 0;  ///< magnitude that 99.9 % of the values do not exceed
  /// The channel (axis 1) of largest magnitude, and that over the median's; absent without any.
  std::optional<std::size_t> widest_channel;
  std::optional<double> channel_ratio;
  HistogramReport histogram;
  Deviation error;  ///< of rounding exact values at this point alone
  /// What alone reads the rounded values is an activation function, or a Relu behind a sum: the
  /// expected mean squared error there, which `mse` minimizes then, and SQNR in dB.
  std::optional<double> error_behind;
  std::optional<double> sqnr_behind;
};

/// The float network, for drawing it.
struct ReportNode {
  std::string name;
  std::string op;
  bool integer = false;
  std::optional<std::size_t> layer;  ///< index into the layers
  std::vector<std::size_t> inputs;   ///< indices of nodes
};

struct SampleReport {
  std::size_t index = 0;
  double sqnr = 0;             ///< of all outputs together, in dB; may be negative infinity
  std::optional<bool> agrees;  ///< in its top class
};

/// A change of the configuration: layers that stay float, or another range of one point.
struct ProposedChange {
  std::vector<std::string> keep_float;  ///< names of layers
  std::string point;                    ///< that is to span `range`; empty: none
  Range range;

  bool empty() const { return keep_float.empty() && point.empty(); }
};

/// What a change did to the least SQNR of all outputs, in dB, when it was tried: the quantized
/// network ran in real values, with nothing but ranges behind the change calibrated anew.
/// Infinite where nothing is lost.
struct TriedChange {
  double alone = 0;
  double with_others = 0;  ///< on top of all others that were tried: what these hide
  std::size_t samples = 0;
};

struct Diagnosis {
  std::string kind;
  double severity = 0;  ///< 0 to 1
  std::string layer;
  std::string point;        ///< may be empty
  std::string text;         ///< what is the matter, with numbers
  std::string advice;       ///< what to do about it
  std::string yaml;         ///< lines of a configuration that do it; may be empty
  ProposedChange change{};  ///< what these lines do; empty where they do something else
  std::optional<TriedChange> tried{};  ///< absent: not tried
};

struct Report;

/// A kind of finding of one's own.
struct FindingInfo {
  std::string_view name;     ///< `kind` of what it finds where that is left empty
  std::string_view summary;  ///< its heading in the page of the report
  /// Looks at the figures of a report, whose diagnoses so far are those of Tare. What a
  /// diagnosis proposes as `change` is tried on the samples.
  std::function<std::vector<Diagnosis>(const Report&)> find;
  std::string plugin{};  ///< the file that it comes from; empty: none
};

struct FloatOperator {
  std::string name;
  std::string op;
  std::string because;   ///< in the same words for all with that reason
  std::string detail{};  ///< numbers to it; may be empty
};

struct ModelFacts {
  std::string file;
  std::uint64_t bytes = 0;
  /// Of the quantized model those that count, see count_operators().
  std::size_t operators = 0;
  std::size_t integer_operators = 0;
};

/// Which samples a report is evaluated on.
enum class EvaluatedOn : std::uint8_t {
  kGiven,        ///< those of a file; whether they were calibrated on is not known
  kCalibration,  ///< that the model was calibrated on: figures flatter
  kHeldOut,      ///< of the same file as those, but not calibrated on
};

/// "given", "calibration", "held_out"
std::string_view name_of(EvaluatedOn);

/// How a sample looks to a network that was trained on others.
struct InputWarning {
  std::string input;
  std::string text;
};

enum class Level : std::uint8_t { kGood, kFair, kPoor };

/// "good", "fair", "poor"
std::string_view name_of(Level);

struct Report {
  ModelFacts real;
  ModelFacts quantized;
  std::string target;
  std::string data;
  std::size_t samples = 0;
  EvaluatedOn evaluated_on = EvaluatedOn::kGiven;
  std::vector<InputWarning> input_warnings{};  ///< what looks wrongly prepared
  /// Values of the float model whose channels were divided by factors before quantizing; points
  /// and weights are what became of them, while outputs and layers are those of the float
  /// model.
  std::vector<std::string> equalized;
  Level level = Level::kGood;
  std::string verdict;  ///< one sentence
  std::vector<OutputReport> outputs;
  std::optional<AccuracyReport> accuracy;
  std::vector<MetricReport> metrics;
  std::vector<LayerReport> layers;  ///< in topological order
  std::vector<PointReport> points;  ///< likewise
  std::vector<ReportNode> nodes;
  std::vector<SampleReport> worst_samples;  ///< at most 20, the worst first
  std::vector<Diagnosis> diagnoses;         ///< the most severe first
  std::vector<FloatOperator> float_operators;
};

struct CompareOptions {
  int threads = 0;          ///< 0: one per core
  std::size_t samples = 0;  ///< use the first ones only; 0: all
  /// Processes that share the samples; null: this one runs all. The result does not depend on
  /// their number.
  Communicator* communicator = nullptr;
  bool brief = false;  ///< outputs and layers only; of a result few samples, unless told
  EvaluatedOn evaluated_on = EvaluatedOn::kGiven;  ///< which samples these are, for the report
  /// Gets the report with all that does not depend on samples before these are run, such as the
  /// names of layers; may be empty. What it throws ends the comparison.
  std::function<void(const Report&)> begin{};
  /// Told about every few samples, from any thread but one at a time; may be empty. What it
  /// throws ends the comparison.
  std::function<void(std::size_t done, std::size_t total)> progress{};
};

/// The report as JSON; docs/report.md has its schema. Equal reports give equal bytes. What is
/// not defined, or not finite, is null.
std::string report_json(const Report&);
/// One row for each layer, with a head.
std::string report_csv(const Report&);
/// The local SQNR of each layer that has one, by its result: node data for Model Explorer.
std::string report_overlay(const Report&);

enum class ReportFormat : std::uint8_t {
  kJson,
  kCsv,
  kHtml,     ///< one page that needs no other file
  kOverlay,  ///< report_overlay()
};

/// What the file's name asks for: .overlay.json, .json, .csv or .html. Throws
/// Error(kInvalidConfig) for other names.
ReportFormat report_format(const std::filesystem::path&);
/// Written under a temporary name and renamed. Throws Error(kIo).
void write_report(const std::filesystem::path&, const Report&, ReportFormat);

/// What changed between two reports in JSON: outputs, layers that got better or worse by 0.1 dB
/// or more, parameters, and what appeared and vanished. JSON too; docs/report.md describes it.
/// Throws Error(kIo), and Error(kInvalidData) for files that hold something else.
std::string compare_reports(const std::filesystem::path& from, const std::filesystem::path& to);

/// Runs one kind of finding after the other and sorts what they find in, the most severe first.
void add_findings(std::span<const FindingInfo>, Report&);

/// A condition on the fields of a report, such as 'output.sqnr<30':
///
///   condition = value ("<" | "<=" | ">" | ">=" | "==" | "!=") number
///   value     = path | ("min" | "max") "(" path ")"
///   path      = metric | field ("." field | "[" name or index "]")...
///
/// A metric is one of those that measured the results, by its whole name. An entry of a list is
/// chosen by its name or its index; min and max go over all entries of the lists on the way
/// that nothing is chosen of.
class ReportCondition {
 public:
  /// Throws Error(kInvalidConfig) unless the text reads like that.
  explicit ReportCondition(const std::string& text);

  /// The condition that holds where this one does not.
  ReportCondition negated() const;

  /// Throws Error(kInvalidConfig), with the nearest name there is, where reports have no such
  /// field and `known` no such metric; where `known` has layers, points or outputs, also when
  /// it names others than those. Fields may have the names of the version before; each of them
  /// gives a warning.
  std::vector<Warning> check(const Report& known = {}) const;

  /// Why the condition holds for a report (as report_json() writes it); nothing when it does
  /// not. An exact result has an infinite SQNR. A value that is not defined meets every
  /// condition: what cannot be measured must not pass. Throws Error(kInvalidConfig) as
  /// check() does.
  std::optional<std::string> met_by(const std::string& report) const;

 private:
  friend class ConditionEvaluator;
  enum class Over { kOne, kMin, kMax };

  std::string text_;
  Over over_ = Over::kOne;
  std::string path_;
  std::string comparison_;
  double bound_ = 0;
};

/// Why those of the conditions hold that do, as met_by() of each says, which would read the
/// report once for each.
std::vector<std::string> conditions_met(const std::vector<ReportCondition>&,
                                        const std::string& report);

// ---- Metrics ----

/// What both networks make of one sample: their results in the order of the graph's outputs,
/// each as it would be in a batch of one.
struct SampleResults {
  std::span<const Tensor> real;
  std::span<const Tensor>
      quantized;  ///< of the same shapes and types; storage values expressed
  std::optional<std::int64_t> label;
  /// Of a language model, see TokenInterface in dataset.h: the tokens of the sample, -1 where
  /// they are masked; else empty.
  std::span<const std::int64_t> tokens{};
  std::size_t logits = 0;  ///< the result that has scores of next tokens, where there are any
};

/// Measures the results of a quantized network. Threads have one each, see samples in any order
/// and are merged: the number must not depend on how.
class Metric {
 public:
  virtual ~Metric() = default;
  virtual void observe(const SampleResults&) = 0;
  /// Adds what another metric of the same kind saw.
  virtual void merge(const Metric&) = 0;
  /// What it saw, for another process; nothing where it can tell none. Then each process that
  /// shares a comparison shows it all samples.
  virtual std::optional<std::string> told() const { return std::nullopt; }
  /// Adds what a metric of the same kind told.
  virtual void merge_told(std::string_view) {}
  /// Nothing where it is not defined: a requirement of it does not hold then.
  virtual std::optional<double> value() const = 0;
};

/// The mean of a number of each sample. Not defined where it is not for some sample, or not
/// finite. The sum is exact.
class MeanMetric final : public Metric {
 public:
  using OfSample = std::function<std::optional<double>(const SampleResults&)>;

  /// Calls it from any thread.
  explicit MeanMetric(OfSample of_sample) : of_sample_(std::move(of_sample)) {}
  void observe(const SampleResults&) override;
  void merge(const Metric&) override;
  std::optional<std::string> told() const override;
  void merge_told(std::string_view) override;
  std::optional<double> value() const override;

 private:
  OfSample of_sample_;
  ExactSum sum_;
  std::uint64_t samples_ = 0;
  bool is_defined_ = true;
};

struct MetricInfo {
  std::string_view name;  ///< in conditions and reports: words with dots between them
  std::string_view summary;
  std::function<std::unique_ptr<Metric>()> make;  ///< called from any thread
};

/// The only row of scores of a sample; nothing when the tensor is something else.
std::optional<std::span<const float>> scores_of(const Tensor&);
/// Index of the largest one, the first of several.
std::int64_t top_class(std::span<const float> scores);

}  // namespace tare

/// Entry point of a file with one kind of finding. A shared object of such a file, compiled
/// with TARE_PLUGIN defined, is a plug-in, see TARE_PART.
#define TARE_FINDING(stem) TARE_PART(FindingInfo, tare_finding_##stem)

/// Entry point of a file in src/metrics/; the file name is `stem`. A shared object of such a
/// file, compiled with TARE_PLUGIN defined, is a plug-in, see TARE_PART.
#define TARE_METRIC(stem) TARE_PART(MetricInfo, tare_metric_##stem)
