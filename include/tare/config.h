#pragma once

#include "tare/arithmetic.h"
#include "tare/dataset.h"
#include "tare/tensor.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tare {

/// A calibrator by name, with the options the user gave it.
struct CalibratorChoice {
  std::string name = "max";
  std::map<std::string, double> options;

  friend bool operator==(const CalibratorChoice&, const CalibratorChoice&) = default;
};

/// How the integer graph goes from accumulators to storage values. What is absent is as the
/// target says.
struct RequantizeConfig {
  std::optional<RequantizeRounding> rounding;
  std::optional<RequantizeArithmetic> arithmetic;  ///< absent: the usual one for the rounding
  /// A bias is added to the storage values that the accumulator became, in their type, and not
  /// to the accumulator in int32.
  std::optional<bool> bias_after;

  friend bool operator==(const RequantizeConfig&, const RequantizeConfig&) = default;
};

/// The register that sums of products are added up in. What is absent is as the target says.
struct AccumulatorConfig {
  std::optional<int> bits;  ///< 8 to 32
  std::optional<Overflow> overflow;

  friend bool operator==(const AccumulatorConfig&, const AccumulatorConfig&) = default;
};

/// How one class of values is quantized. `storage` absent means auto: the target decides.
struct ValueConfig {
  std::optional<DType> storage;
  /// Of weights absent is auto: false for up to 4 bits in bytes of their own, else true.
  std::optional<bool> symmetric;
  std::optional<bool> narrow;  ///< of weights absent is auto: as `symmetric`
  bool power_of_two = false;
  /// Number of bits: 2 to 8 of weights, 2 to 16 of activations; absent: all of the type.
  std::optional<int> bits;
  int block = 0;  ///< as QuantParams::block, of weights of matrix products only
  Granularity granularity = Granularity::kPerTensor;
  CalibratorChoice calibrator;  ///< of weights, "auto" is what suits their number of bits
  /// Operands of products with constant weights get their parameters while the network runs,
  /// and nothing else is quantized; of activations only.
  bool dynamic = false;

  friend bool operator==(const ValueConfig&, const ValueConfig&) = default;
};

/// The keys of a ValueConfig that a layer rule overrides; absent ones keep the general setting.
struct ValueOverride {
  std::optional<DType> storage;
  std::optional<bool> symmetric;
  std::optional<bool> narrow;
  std::optional<bool> power_of_two;
  std::optional<int> bits;
  std::optional<int> block;
  std::optional<Granularity> granularity;
  std::optional<CalibratorChoice> calibrator;
  std::optional<bool> dynamic;

  friend bool operator==(const ValueOverride&, const ValueOverride&) = default;
};

/// How weights become integers.
enum class Rounding : std::uint8_t {
  kAuto,     ///< for the least error of the layer, where the schedule sees its inputs
  kNearest,  ///< each to the integer nearest to it
};

/// Integers from one to another, both included.
struct IntegerRange {
  std::int64_t low = 0;
  std::int64_t high = std::numeric_limits<std::int64_t>::max();

  bool holds(std::int64_t value) const { return low <= value && value <= high; }
  friend bool operator==(const IntegerRange&, const IntegerRange&) = default;
};

/// Conditions on convolutions and matrix products with constant weights; any of them leaves out
/// all other operators. A depthwise convolution has 1 input channel and more than 1 group.
struct LayerShape {
  std::optional<IntegerRange> groups;
  std::optional<IntegerRange> kernel;  ///< each extent of the window; 1 of a product
  std::optional<IntegerRange>
      input_channels;  ///< of a group: factors of one result, per position
  std::optional<IntegerRange> output_channels;
  std::optional<IntegerRange> depth;  ///< its place, from 0, or counted back from -1, the last

  friend bool operator==(const LayerShape&, const LayerShape&) = default;
};

/// One entry of `layers:`, about the operators of which all its conditions hold. Where several
/// are about one, each key counts as the last of them says that has it; see LayerRules.
struct LayerRule {
  std::string op;       ///< operator type; empty: any
  std::string name;     ///< glob over the node name (* and ?); empty: any
  std::string pattern;  ///< the node is part of a match of it, see parse_pattern(); empty: any
  LayerShape shape;
  bool if_present = false;           ///< it may match nothing
  std::optional<bool> keep_float;    ///< absent: as the target says
  std::string because;               ///< why it is in float; empty: it is configured
  std::optional<bool> equalization;  ///< this and the next two, absent: as for all
  std::optional<bool> bias_correction;
  std::optional<Rounding> rounding;
  RequantizeConfig requantize;  ///< of sums of products, as the accumulator
  AccumulatorConfig accumulator;
  ValueOverride activations;  ///< of what it computes, behind an activation that it fuses with
  ValueOverride inputs;       ///< of what it reads
  ValueOverride weights;
  std::string where;  ///< "file:line:column" of the entry; empty where no file has it

  friend bool operator==(const LayerRule&, const LayerRule&) = default;
};

/// What quantization is for; it decides what stays in float.
enum class Objective : std::uint8_t {
  kLatency,   ///< quantized where that saves the target time, conversions included
  kCoverage,  ///< everything that can be: no float operator between integers
  kSize,      ///< every layer with weights
};

/// Kinds of nodes of one operator that an engine runs at different speed.
enum class NodeKind : std::uint8_t {
  kAny,
  kDepthwise,        ///< Conv: one input channel per group
  kOddDepthwise,     ///< the same of sequences, or where 4 does not divide the channels
  kRaggedDepthwise,  ///< the same of sequences, or where 16 does not
  kSequence,         ///< Conv: of operands [batch, channels, length]
  kVolume,           ///< Conv: of operands [batch, channels, depth, height, width]
  kGrouped,          ///< Conv: several groups of several input channels
  kFewChannels,      ///< Conv: fewer than 8 input channels per group
  kActivations,      ///< products: neither factor is constant
};

/// What an operator takes on one thread, in nanoseconds: `call`, however small it is; `work`
/// for each multiplication of a sum of products or element of another operator; `result` for
/// each result of a sum of products or pool, or step of a recurrent layer; `weight` for each
/// weight of a product. `gathered` for each element that a pool reads, or a convolution that is
/// not depthwise for a position; on integers `window` for each position and place in a window.
struct KernelCost {
  double call = 0;
  double work = 0;
  double result = 0;
  double weight = 0;
  double window = 0;
  double gathered = 0;
};

/// An operator that an engine runs on integers, and what it costs.
struct TargetOperator {
  std::string op;
  NodeKind only = NodeKind::kAny;
  std::string runs_as;            ///< the engine's integer kernel
  bool wide = false;              ///< which takes storage of 16 bits as well
  bool quantized_result = false;  ///< needed by the kernel: a Conv runs in float without
  KernelCost floats;
  KernelCost integers;
};

/// The accumulator of one operator.
struct OperatorAccumulator {
  std::string op;
  NodeKind only = NodeKind::kAny;
  AccumulatorConfig accumulator;
};

/// Nanoseconds of a Quantize or Dequantize that an engine does not merge with its neighbours.
struct ConversionCost {
  double call = 0;
  double element = 0;
  double dequantized = 0;  ///< per element of a Dequantize; 0: as `element`
  double layout = 0;  ///< per element and reader of values of rank 4, which change layout too
};

/// Nodes that a target leaves in float unless a layer rule or the objective says otherwise.
struct FloatRule {
  std::string pattern;  ///< see parse_pattern()
  std::string because;
};

/// Results of an operator that have the same range whatever the samples say: from `low` to one
/// step below `high`, so that steps are powers of two where the distance is one.
struct FixedRange {
  std::string op;
  double low = 0;
  double high = 0;

  Range range(DType storage) const;
};

/// A shape of integer graphs that a device runs as one.
struct FusedUnit {
  std::string name;
  std::string pattern;  ///< see parse_pattern()
};

/// What operators cost on a kind of processor, which decides how fast floats and integers are.
struct ProcessorCosts {
  std::string name;     ///< see processor_names()
  std::string summary;  ///< where the numbers come from
  ConversionCost conversion;
  double least_gain = 0;  ///< as in Target
  double slowdown = 0.01;
  /// Of operators, float ones included; of several rows for a node the first counts.
  std::vector<TargetOperator> costs;
};

/// What an engine wants of a quantized graph; data in configs/targets/<name>.yaml, or in a file
/// of the user's own.
struct Target {
  std::string name;     ///< of a file: its name without the suffix
  std::string extends;  ///< the target that a file changes, as it says it; empty: none
  std::string summary;
  Objective objective = Objective::kLatency;  ///< unless the configuration says
  std::vector<std::string> patterns;          ///< quantization patterns to use, by name
  DType activation_storage = DType::kUint8;
  bool activation_symmetric = false;
  bool activation_narrow = false;      ///< without the lowest storage value
  std::optional<int> activation_bits;  ///< unless the configuration says; as ValueConfig::bits
  bool power_of_two = false;           ///< every scale is one, so that rescaling is a shift
  /// Types of 16 bits that activations may have where the configuration asks for one.
  std::vector<DType> wide_activations;
  DType weight_storage = DType::kInt8;
  std::optional<int> weight_bits;                          ///< unless the configuration says
  Granularity weight_granularity = Granularity::kPerAxis;  ///< kPerTensor: never per axis
  bool packs_weights = false;  ///< files hold those of up to 4 bits in as many: opset 21
  bool packs_blocks = true;  ///< the same for weights in blocks, which no kernel wants in bytes
  /// Of MatMulNBits in files: 1: float32, 2: float16, 3: bfloat16, 4: int8; 0: it decides.
  int block_accuracy_level = 0;
  /// Largest |q[i] + q[i+1]| over neighbouring weights of one output, in the order in which the
  /// engine's kernel reads them; 0: no limit. 128 keeps u8 * i8 pair sums inside int16.
  int weight_pair_limit = 0;
  /// What it runs on integers; of several rows for a node the first counts. An engine of which
  /// nothing is listed is taken to run everything.
  std::vector<TargetOperator> operators;
  /// Where no operators are listed: what they cost, relative to each other and to `conversion`,
  /// as far as that is known without measuring. What has none here is on integers wherever it
  /// can be.
  std::vector<TargetOperator> costs;
  bool merges_activations = false;  ///< a Relu or Clip with what computes its operand
  bool float_bias = false;          ///< biases stay real, instead of int32
  bool channels_last = false;       ///< of images from float convolutions that become integers
  bool pads_storage = false;        ///< between conversions it would run a Pad in float
  bool quick_spelling = false;      ///< in float, spelled as ONNX Runtime is fast at them
  bool fuse_silu = true;            ///< engines may make one operator of x * Sigmoid(x)
  bool rounds_float_weights = false;  ///< of products that read a DequantizeLinear of one scale
  /// Averages of integers are averages in float32 of what they stand for, rounded once: files
  /// can steer where halves go.
  bool averages_in_float = false;
  std::vector<std::string> unified;  ///< operators whose operands and result share parameters
  std::vector<FixedRange> fixed_ranges;
  std::vector<FloatRule> keep_float;  ///< but not where coverage is the objective
  std::vector<FusedUnit> units;       ///< the larger ones first, see partition()
  ConversionCost conversion;
  /// Nanoseconds that a layer must save to stay in float: its weights stay large.
  double least_gain = 0;
  double slowdown = 0.01;  ///< see slowdown_of()
  /// In place of the costs above, on the processor that `processor` names.
  std::vector<ProcessorCosts> processors;
  std::string processor;          ///< of `processors`, as the configuration says; empty: none
  RequantizeConfig requantize;    ///< unless the configuration says
  AccumulatorConfig accumulator;  ///< likewise, and unless `accumulators` has the operator
  std::vector<OperatorAccumulator> accumulators;  ///< of several for a node the first counts
};

/// In which order activations are decided: see calibrate() and calibrate_sequentially().
enum class Schedule : std::uint8_t { kSequential, kIndependent };

/// How much time accuracy is worth.
enum class Effort : std::uint8_t {
  kFast,     ///< one pass over the data
  kDefault,  ///< about three
  kBest,     ///< hundreds: every calibrator is tried, and all is decided again in the end
};

/// How caches of keys and values are kept outside of a decoder, between its steps.
struct CacheConfig {
  bool is_stored = false;  ///< as int8; else real
  bool per_head = false;   ///< a scale for each head, instead of each channel of all heads

  friend bool operator==(const CacheConfig&, const CacheConfig&) = default;
};

/// A configuration for a kind of networks. Of decoders: weights in blocks of few bits alone.
enum class Recipe : std::uint8_t { kNone, kDecoder };

struct Config {
  int version = 1;
  std::optional<Recipe> recipe;    ///< absent: that of the kind that the network is
  std::string target = "ort-cpu";  ///< see read_target()
  /// What the file is going to run on, one of processor_names(); empty: this machine's; "any":
  /// the target's general costs.
  std::string processor;
  std::optional<Objective> objective;  ///< absent: as the target says
  std::optional<bool> fuse_silu;       ///< as that of Target; absent: as it says
  bool may_fall_back = true;           ///< operators may stay in float
  ValueConfig activations{.storage = {},
                          .symmetric = false,
                          .narrow = false,
                          .power_of_two = false,
                          .bits = {},
                          .block = 0,
                          .granularity = Granularity::kPerTensor,
                          .calibrator = {.name = "mse", .options = {}},
                          .dynamic = false};
  ValueConfig weights{.storage = {},
                      .symmetric = {},
                      .narrow = {},
                      .power_of_two = false,
                      .bits = {},
                      .block = 0,
                      .granularity = Granularity::kPerAxis,
                      .calibrator = {.name = "auto", .options = {}},
                      .dynamic = false};
  CacheConfig cache;
  bool stores_embeddings = false;           ///< of tokens, as int8 with a scale for each row
  std::optional<bool> packs_weights;        ///< as both of Target; absent: as they say
  std::optional<int> block_accuracy_level;  ///< as that of Target; absent: as it says
  std::optional<Schedule> schedule;         ///< absent: as the effort says
  std::size_t memory = 0;                   ///< as CalibrateOptions::memory
  std::optional<std::int64_t> samples;      ///< absent: all
  Effort effort = Effort::kDefault;
  /// How much longer, at most, the target may take for the sake of accuracy: 0.01 is 1 %.
  /// Absent: as the effort says.
  std::optional<double> slowdown;
  /// Give channels alike ranges, where the schedule is sequential and that helps.
  bool equalization = true;
  bool bias_correction = true;
  bool rotation = false;  ///< turn the residual stream of a decoder by a Hadamard matrix
  Rounding rounding = Rounding::kAuto;
  std::optional<Reconstruction> reconstruction;  ///< absent: as effort and bits say
  RequantizeConfig requantize;
  AccumulatorConfig accumulator;
  bool avoid_overflow = false;  ///< widen weight scales until no sum can leave the accumulator
  std::vector<std::string> plugins;  ///< shared objects; see load_plugins()
  std::map<std::string, std::int64_t> dims;
  std::map<std::string, InputPreparation> inputs;  ///< see SampleOptions::preparations
  /// Inputs that are what outputs were one step before, by name: state that flows back.
  std::map<std::string, std::string> state;
  std::optional<std::int64_t> steps;  ///< of a sequence; absent: all samples are one
  std::vector<LayerRule> layers;

  friend bool operator==(const Config&, const Config&) = default;
};

/// What errors and explanations call an entry of `layers:`: "rule 2 (config.yaml:14)", counted
/// from 1.
std::string rule_name(const Config&, std::size_t index);

/// The keys of an entry of `layers:` that say something, but for its conditions, with what they
/// say: {"weights.bits", "4"}; in the order of configs/default.yaml.
std::vector<std::pair<std::string, std::string>> rule_keys(const LayerRule&);

/// The configured schedule, or that of the effort.
Schedule schedule_of(const Config&);

/// The configured slowdown, or that of the effort: 0 for the fast one, the target's by default,
/// at least that for the best: 10 %, or by costs of a processor 60 % of `saved`, the time in
/// float divided by that of the fastest network, less 1. Where that is not known, 30 %.
double slowdown_of(const Config&, const Target&, std::optional<double> saved = {});

/// Reads a configuration file; `overrides` are "key.sub=value" texts applied on top, in order.
/// An empty path means the defaults. `calibrators` are the known names. Throws
/// Error(kInvalidConfig) with every fault at once: unknown keys (file:line:column, nearest
/// known key as hint), wrong types, values outside their range, a version other than 1, unknown
/// target or calibrator.
Config read_config(const std::filesystem::path&, const std::vector<std::string>& overrides,
                   const std::vector<std::string>& calibrators);

/// The `plugins` of a configuration, relative ones of a file beside that file. They come before
/// the rest, since they add to the names that it may mention; what is wrong with it is left to
/// read_config(), trust to refuse_plugins_of_file(). Throws Error(kIo), Error(kInvalidConfig)
/// for no YAML.
std::vector<std::filesystem::path> read_plugins(const std::filesystem::path&,
                                                const std::vector<std::string>& overrides);

/// One key of a configuration file, for documentation.
struct ConfigKey {
  std::string path;    ///< "activations.calibrator", "layers[].match.op"
  std::string values;  ///< what it takes
  std::string summary;
  /// What holds without it, as a file would say it; of a key of `layers[]`, which are absent by
  /// default, an example. Empty for maps.
  std::string value;
};
/// Every key that read_config knows, in the order of configs/default.yaml.
std::vector<ConfigKey> config_keys(const std::vector<std::string>& calibrators);

/// Names of the built-in targets.
std::vector<std::string> target_names();
/// True for what has a slash in it or ends in .yaml or .yml: the path of a target file, and no
/// name.
bool is_target_file(std::string_view name);
/// Kinds of processors that targets may have costs of, those with more instructions first.
std::vector<std::string> processor_names();
/// That of this machine, or what the environment variable TARE_PROCESSOR says; "any" where it
/// is none of processor_names().
std::string this_processor();
/// The configured one, or that of this machine.
std::string processor_of(const Config&);
/// The built-in target of that name, or that of a file. A file has the keys of target_keys(),
/// on top of those of the target that it `extends`, where a path is relative to the file; a
/// list stands in place of the one that it changes. Costs are those of `processor` where it has
/// any, and otherwise the general ones; costs that a file states hold in place of those of what
/// it extends. Throws Error(kIo), and Error(kInvalidConfig) with every fault of the file at
/// once, keys that are missing where it extends nothing included.
Target read_target(const std::string& name, const std::string& processor = "any");
/// The `units` of a YAML file that has nothing else. Throws as read_target().
std::vector<FusedUnit> read_units(const std::filesystem::path&);
/// The files that read_target() reads for that name: none for a built-in target, else its own
/// and those that it extends. A file that cannot be read is the last one.
std::vector<std::filesystem::path> target_files(const std::string& name);
/// The `target` of a configuration, see read_plugins().
std::string read_target_name(const std::filesystem::path&,
                             const std::vector<std::string>& overrides);
/// Every key of a target file, in the order of Target. `value` is what holds without it.
std::vector<ConfigKey> target_keys();

/// A number of bytes, as 0.5MB, with B, KiB, MiB, GiB, or kB, KB, MB, GB in powers of 1000; 0
/// needs no unit. Nothing for other texts, and for more bytes than memory can have.
std::optional<std::size_t> parse_bytes(std::string_view text);

/// True when `text` matches `glob` (* any run of characters, ? any one).
bool glob_match(std::string_view glob, std::string_view text);

/// Throws Error(kInvalidConfig) with all plug-ins that a configuration file lists: they are
/// programs, files may come from anywhere, and who trusts one does not call this. `overrides`
/// as for read_plugins(); plug-ins listed there are in the place of those of the file.
void refuse_plugins_of_file(const std::filesystem::path&,
                            const std::vector<std::string>& overrides);

}  // namespace tare
