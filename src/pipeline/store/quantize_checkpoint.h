#pragma once

#include "tare/config.h"
#include "tare/dataset.h"
#include "tare/node.h"
#include "tare/quant_table.h"
#include "tare/statistics.h"

#include "calibrate/sequential/level_journal.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tare {

/// What is decided before the levels.
struct PreparedPlan {
  ChannelFactors factors;
  std::set<std::string> float_nodes;
  std::set<std::string> wide_values;

  friend bool operator==(const PreparedPlan&, const PreparedPlan&) = default;
};

/// The decisions of quantize() in a file, each added as it is made, so that the same work goes
/// on from there however it ended. A record that was not written to its end does not count. A
/// file of other work is replaced, and where none can be written nothing is kept. Of several
/// the first one reads and writes it.
class QuantizeCheckpoint final : public LevelJournal {
 public:
  /// Without options.checkpoint nothing is known and nothing kept.
  QuantizeCheckpoint(const Graph& model, const Dataset&, const Config&,
                     const CalibrateOptions&);
  ~QuantizeCheckpoint() override;
  QuantizeCheckpoint(const QuantizeCheckpoint&) = delete;
  QuantizeCheckpoint& operator=(const QuantizeCheckpoint&) = delete;

  /// Of an earlier run; to be asked for before the levels.
  std::optional<PreparedPlan> plan();
  void add(const PreparedPlan&);

  std::optional<LevelDecisions> next() override;
  void add(const LevelDecisions&) override;

  /// Deletes the file of this process.
  void discard();

 private:
  void open(std::uint64_t identity);
  void write(const std::string& bytes);
  void append(const std::string& record);
  std::optional<std::string> next_record();

  std::filesystem::path path_;
  int file_ = -1;  ///< where this process writes
  std::vector<std::string> known_;
  std::size_t place_ = 0;
};

}  // namespace tare
