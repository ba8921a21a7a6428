// What files of quantized models say beside the model: docs/metadata.md.
#include "tare/arithmetic.h"
#include "tare/config.h"
#include "tare/error.h"
#include "tare/graph.h"
#include "tare/integer_graph.h"
#include "tare/model_files.h"
#include "tare/quant_table.h"
#include "tare/quantize.h"
#include "tare/simulate.h"

#include "base/escape.h"
#include "equalize/equalize.h"
#include "graph/arithmetic/node_arithmetic.h"
#include "lower/lower.h"
#include "pipeline/load.h"
#include "pipeline/stages.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

namespace tare {
namespace {

constexpr const char* kFactorsKey = "tare.equalization";
constexpr const char* kArithmeticKey = "tare.arithmetic";
constexpr const char* kPointsKey = "tare.points";
constexpr const char* kVersion = "version=1";

std::string metadata(const char* key) {
  return std::string("metadata '") + key + "'";
}

[[noreturn]] void refuse(const char* key, const std::string& what, const char* expected) {
  throw Error(ErrorCode::kInvalidModel, metadata(key), what).expected(expected);
}

/// The words behind the version.
std::istringstream versioned(const char* key, const std::string& text) {
  std::istringstream words(text);
  std::string version;
  words >> version;
  if (version != kVersion) {
    refuse(key, "begins with '" + version + "'", kVersion);
  }
  return words;
}

/// " rounding=upward accumulator_bits=16"
std::string arithmetic_words(const SumArithmetic& arithmetic) {
  Attributes attributes = to_attributes(arithmetic.requantize);
  set_accumulator(attributes, arithmetic.accumulator);
  std::string text;
  for (const auto& [name, value] : attributes.items()) {
    const auto* number = std::get_if<std::int64_t>(&value);
    text += ' ' + name + '=' +
            (number != nullptr ? std::to_string(*number) : attributes.text(name));
  }
  return text;
}

/// A line for all layers, and one for each that is different.
std::string arithmetic_text(const NetworkArithmetic& arithmetic) {
  std::string text = kVersion + arithmetic_words(arithmetic.usual);
  for (const auto& [node, own] : arithmetic.layers) {
    text += '\n' + escaped(node) + arithmetic_words(own);
  }
  return text;
}

/// The rest of a line, as the attributes of Requantize and of sums of products.
Attributes arithmetic_attributes(std::istream& words) {
  Attributes attributes;
  for (std::string word; words >> word;) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string name = word.substr(0, equals);
    const std::string value = word.substr(std::min(equals + 1, word.size()));
    if (attributes.has(name)) {
      refuse(kArithmeticKey, "says '" + name + "' twice", "each word once");
    }
    if (name == "rounding" || name == "arithmetic" || name == "accumulator_overflow") {
      attributes.set(name, value);
    } else if (name == "accumulator_bits") {
      std::int64_t bits = 0;
      const auto [end, fault] =
          std::from_chars(value.data(), value.data() + value.size(), bits);
      if (fault != std::errc() || end != value.data() + value.size()) {
        refuse(kArithmeticKey, "says '" + word + "'", "an integer");
      }
      attributes.set(name, bits);
    } else {
      refuse(kArithmeticKey, "says '" + word + "'",
             "rounding, arithmetic, accumulator_bits or accumulator_overflow");
    }
  }
  return attributes;
}

SumArithmetic read_arithmetic(std::istream& words) {
  const Attributes attributes = arithmetic_attributes(words);
  try {
    return {.accumulator = accumulator(attributes), .requantize = requantize_mode(attributes)};
  } catch (Error& error) {
    error.at(metadata(kArithmeticKey));
    throw;
  }
}

NetworkArithmetic read_arithmetic(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  std::istringstream usual = versioned(kArithmeticKey, line);
  NetworkArithmetic result;
  result.usual = read_arithmetic(usual);
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    const auto node = unescaped(word);
    if (!node || node->empty() ||
        !result.layers.emplace(*node, read_arithmetic(words)).second) {
      refuse(kArithmeticKey, "says '" + line + "'", "each layer once, by name");
    }
  }
  return result;
}

std::string points_text(const std::map<std::string, std::string>& unnamed) {
  std::string text = std::string(kVersion) + '\n';
  for (const auto& [value, point] : unnamed) {
    text += escaped(value) + '=' + escaped(point) + '\n';
  }
  return text;
}

std::map<std::string, std::string> read_points(const std::string& text) {
  std::map<std::string, std::string> unnamed;
  std::istringstream words = versioned(kPointsKey, text);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    const auto value = unescaped(word.substr(0, std::min(equals, word.size())));
    const auto point =
        equals == std::string::npos ? std::nullopt : unescaped(word.substr(equals + 1));
    if (!value || value->empty() || !point || !unnamed.emplace(*value, *point).second) {
      refuse(kPointsKey, "says '" + word + "'", "each value once, with a point");
    }
  }
  return unnamed;
}

}  // namespace

std::map<std::string, std::string> file_metadata(const QuantizeResult& result) {
  const SimulatedGraph& simulated = result.simulated;
  std::map<std::string, std::string> all{
      {kArithmeticKey, arithmetic_text(simulated.arithmetic)},
      {kPointsKey, points_text(unnamed_points(result.integer))}};
  if (!result.factors.empty()) {
    all.emplace(kFactorsKey, text_of(result.factors));
  }
  return all;
}

FileMetadata read_file_metadata(const std::filesystem::path& path) {
  FileMetadata result;
  if (is_tflite(path) || is_text(path)) {
    return result;
  }
  for (const auto& [key, text] : read_metadata(path)) {
    if (key == kFactorsKey) {
      result.factors = channel_factors(text);
    } else if (key == kArithmeticKey) {
      result.arithmetic = read_arithmetic(text);
    } else if (key == kPointsKey) {
      result.unnamed_points = read_points(text);
    }
  }
  return result;
}

ChannelFactors read_factors(const std::filesystem::path& quantized) {
  return read_file_metadata(quantized).factors;
}

Config with_metadata(Config config, const FileMetadata& stated) {
  const auto& [accumulator, requantize] = stated.arithmetic.usual;
  if (config.requantize == RequantizeConfig{}) {
    config.requantize = {requantize.rounding, requantize.arithmetic, {}};
  }
  if (config.accumulator == AccumulatorConfig{}) {
    config.accumulator = {accumulator.bits, accumulator.overflow};
  }
  return config;
}

namespace {

/// The layers of the file, unless the configuration says something for all.
std::map<std::string, SumArithmetic, std::less<>> layers_of(const FileMetadata& stated,
                                                            const Config& config) {
  const bool is_general =
      config.requantize != RequantizeConfig{} || config.accumulator != AccumulatorConfig{};
  return is_general ? std::map<std::string, SumArithmetic, std::less<>>{}
                    : stated.arithmetic.layers;
}

}  // namespace

Graph lower_quantized(Graph model, const FileMetadata& stated, const Config& config,
                      const Toolkit& toolkit) {
  Graph integer = lower_quantized(std::move(model), with_metadata(config, stated), toolkit,
                                  layers_of(stated, config));
  return stated.unnamed_points ? with_points(std::move(integer), *stated.unnamed_points)
                               : integer;
}

void write_model(const QuantizeResult& result, const std::filesystem::path& path, Form form,
                 const Toolkit& toolkit) {
  const Target& target = result.simulated.target;
  if (!toolkit.exports.empty()) {
    const Graph units = with_export_operators(result.integer, target, toolkit.exports);
    write_onnx(export_form(units, form, target), path, file_metadata(result));
  } else if (form == Form::kQdq) {
    write_onnx(result.qdq, path, file_metadata(result));
  } else {
    write_onnx(export_form(result.integer, form, target), path, file_metadata(result));
  }
}

}  // namespace tare
