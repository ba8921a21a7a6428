#pragma once

#include "tare/equalize.h"
#include "tare/quant_table.h"
#include "tare/simulate.h"

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace tare {

struct YamlNode;

/// A table as a file has it. It is checked against the graph that it is for.
class TableFile {
 public:
  /// Throws Error(kIo) when the file cannot be read or has more than 32 MiB,
  /// Error(kInvalidConfig) when it is no YAML.
  explicit TableFile(const std::filesystem::path&);

  /// What channels of the prepared graph are divided by. Throws Error(kInvalidConfig) with
  /// every value that the graph does not have, and where there is not one positive number for
  /// each channel.
  ChannelFactors factors(const Graph& prepared) const;
  /// Nodes of the prepared graph that stay float. Throws Error(kInvalidConfig) with all that it
  /// does not have.
  std::set<std::string> float_nodes(const Graph& prepared) const;
  /// Shape of one sample of each input, to load the model with; what is wrong with them is left
  /// to table().
  std::map<std::string, Shape> inputs() const;
  /// Parameters are those that were written, bit for bit; ranges and shares are rounded to
  /// float32. Scales of accumulators follow from their factors, and weights widen where a bias
  /// would not fit int32. The audit is of the pass that decided the table, without warnings.
  /// Throws Error(kInvalidConfig) with every fault at once, as file:line:column: unknown keys,
  /// values outside their range, another model or target, points that the graph does not have,
  /// points that are missing.
  QuantTable table(const SimulatedGraph&, CalibrationAudit* = nullptr) const;

 private:
  std::shared_ptr<const YamlNode> root_;
};

}  // namespace tare
