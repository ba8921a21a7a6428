#pragma once

#include "tare/quant_params.h"
#include "tare/requantize.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tare {

/// A calibrator by name, with the options the user gave it.
struct CalibratorChoice {
  std::string name = "max";
  std::map<std::string, double> options;

  friend bool operator==(const CalibratorChoice&, const CalibratorChoice&) = default;
};

/// How one class of values is quantized. `storage` absent means auto: the target decides.
struct ValueConfig {
  std::optional<DType> storage;
  bool symmetric = false;
  bool narrow = false;
  bool power_of_two = false;
  Granularity granularity = Granularity::kPerTensor;
  CalibratorChoice calibrator;

  friend bool operator==(const ValueConfig&, const ValueConfig&) = default;
};

/// The keys of a ValueConfig that a layer rule overrides; absent ones keep the general setting.
struct ValueOverride {
  std::optional<DType> storage;
  std::optional<bool> symmetric;
  std::optional<bool> narrow;
  std::optional<bool> power_of_two;
  std::optional<Granularity> granularity;
  std::optional<CalibratorChoice> calibrator;

  friend bool operator==(const ValueOverride&, const ValueOverride&) = default;
};

/// One entry of `layers:`. The first entry whose conditions all hold decides, for a node.
struct LayerRule {
  std::string op;    ///< operator type; empty: any
  std::string name;  ///< glob over the node name (* and ?); empty: any
  bool keep_float = false;
  ValueOverride activations;
  ValueOverride weights;

  friend bool operator==(const LayerRule&, const LayerRule&) = default;
};

/// What an engine wants of a quantized graph; data in configs/targets/<name>.yaml.
struct Target {
  std::string name;
  std::string summary;
  /// Quantization patterns to use, by name.
  std::vector<std::string> patterns;
  DType activation_storage = DType::kUint8;
  bool activation_symmetric = false;
  DType weight_storage = DType::kInt8;
  /// Largest |q[i] + q[i+1]| over neighbouring weights of one output, in the order in which the
  /// engine's kernel reads them; 0: no limit. 128 keeps u8 * i8 pair sums inside int16.
  int weight_pair_limit = 0;
  /// Operators whose integer kernel needs a quantized output too (a Conv whose result stays
  /// float would run in float).
  std::vector<std::string> quantized_output;
  /// Operators, beside those of the patterns, that it runs on integers where their operands and
  /// results are: what comes from them costs no conversion.
  std::vector<std::string> integer_operators;
};

/// In which order activations are decided: see calibrate() and calibrate_sequentially().
enum class Schedule : std::uint8_t { kSequential, kIndependent };

/// How much time accuracy is worth.
enum class Effort : std::uint8_t {
  kFast,     ///< one pass over the data
  kDefault,  ///< about two
};

/// How weights become integers.
enum class Rounding : std::uint8_t {
  kAuto,     ///< for the least error of the layer, where the schedule sees its inputs
  kNearest,  ///< each to the integer nearest to it
};

/// How the integer graph goes from accumulators to storage values.
struct RequantizeConfig {
  RequantizeRounding rounding = RequantizeRounding::kHalfEven;
  std::optional<RequantizeArithmetic> arithmetic;  ///< absent: the usual one for the rounding

  RequantizeMode mode() const { return requantize_mode(rounding, arithmetic); }

  friend bool operator==(const RequantizeConfig&, const RequantizeConfig&) = default;
};

struct Config {
  int version = 1;
  std::string target = "ort-cpu";
  ValueConfig activations{.storage = {},
                          .symmetric = false,
                          .narrow = false,
                          .power_of_two = false,
                          .granularity = Granularity::kPerTensor,
                          .calibrator = {.name = "mse", .options = {}}};
  ValueConfig weights{.storage = {},
                      .symmetric = true,
                      .narrow = true,
                      .power_of_two = false,
                      .granularity = Granularity::kPerAxis,
                      .calibrator = {}};
  std::optional<Schedule> schedule;     ///< absent: as the effort says
  std::size_t memory = 0;               ///< as CalibrateOptions::memory
  std::optional<std::int64_t> samples;  ///< absent: all
  Effort effort = Effort::kDefault;
  bool bias_correction = true;
  Rounding rounding = Rounding::kAuto;
  RequantizeConfig requantize;
  std::vector<std::string> plugins;  ///< shared objects; see load_plugins()
  std::map<std::string, std::int64_t> dims;
  std::vector<LayerRule> layers;

  friend bool operator==(const Config&, const Config&) = default;
};

/// The configured schedule, or that of the effort.
Schedule schedule_of(const Config&);

/// Reads a configuration file; `overrides` are "key.sub=value" texts applied on top, in order.
/// An empty path means the defaults. `calibrators` are the known names. Throws
/// Error(kInvalidConfig) with every fault at once: unknown keys (file:line:column, nearest
/// known key as hint), wrong types, values outside their range, a version other than 1, unknown
/// target or calibrator.
Config read_config(const std::filesystem::path&, const std::vector<std::string>& overrides,
                   const std::vector<std::string>& calibrators);

/// The `plugins` of a configuration, relative ones of a file beside that file. They come before
/// the rest, since they add to the names that it may mention; what is wrong with it is left to
/// read_config(). Throws Error(kIo) or Error(kInvalidConfig) when the file is no YAML.
std::vector<std::filesystem::path> read_plugins(const std::filesystem::path&,
                                                const std::vector<std::string>& overrides);

/// One key of a configuration file, for documentation.
struct ConfigKey {
  std::string path;    ///< "activations.calibrator", "layers[].match.op"
  std::string values;  ///< what it takes
  std::string summary;
};
/// Every key that read_config knows, in the order of configs/default.yaml.
std::vector<ConfigKey> config_keys(const std::vector<std::string>& calibrators);

/// The target of that name. Throws Error(kInvalidConfig) listing the known ones.
Target read_target(const std::string& name);
std::vector<std::string> target_names();

/// A number of bytes with its unit: B, KiB, MiB, GiB, or KB, MB, GB in powers of 1000; 0 needs
/// none. Nothing for any other text, and for more bytes than memory can have.
std::optional<std::size_t> parse_bytes(std::string_view text);

/// True when `text` matches `glob` (* any run of characters, ? any one).
bool glob_match(std::string_view glob, std::string_view text);

}  // namespace tare
