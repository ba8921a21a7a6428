#pragma once

#include "tare/integer_graph.h"
#include "tare/model_files.h"
#include "tare/statistics.h"

#include "engine/engine.h"
#include "engine/temporary_files.h"

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tare {

struct QuantizeResult;
struct Toolkit;

/// Regions of a network that may be on integers, by the name of the node they start from, with
/// the nodes of each.
using PlanRegions = std::map<std::string, std::set<std::string>>;

/// A network with some of its regions on integers, in a file that the engine has.
struct PlanFile {
  std::set<std::string> integers;  ///< regions
  LoadedModel model;
  std::filesystem::path path;
  /// Regions between which no value is converted. Those at the border of one have a neighbour
  /// in float.
  std::vector<std::set<std::string>> islands;
  std::set<std::string> border;
  /// Regions in float that could be on integers, as far as values connect them.
  std::vector<std::set<std::string>> float_islands;
};

/// Makes files of plans that take the time of those that will be written: the ranges are those
/// of a few samples, which do not change the time.
class PlanFiles {
 public:
  PlanFiles(Engine&, const Graph& model, const Dataset* data, const Config&, const Toolkit&,
            Form, const ModelInputs&);

  /// All that could be on integers for this target and configuration, but for what the
  /// configuration demands there.
  const PlanRegions& regions() const { return regions_; }
  /// Those that would be for a target, by its costs.
  std::set<std::string> placed(const std::string& target) const;
  /// Of regions that follow others, as a product its sum, as many as these allow. Nothing where
  /// the engine refuses the file. Throws where it broke.
  std::optional<PlanFile> load(const std::set<std::string>& integers);
  void unload(const PlanFile&);
  /// The configuration that leads to such a plan, and lets accuracy keep more in float. The
  /// target's costs place what the plan has no say in.
  Config config(const std::set<std::string>& integers, const std::string& target) const;

 private:
  std::set<std::string> on_integers(const SimulatedGraph&) const;
  QuantizeResult quantized(const Config&) const;

  Engine& engine_;
  const Graph& model_;
  const Config& config_;
  const Toolkit& toolkit_;
  Form form_;
  const ModelInputs& inputs_;
  TemporaryFiles files_;
  Statistics statistics_;
  std::string all_target_;  ///< a target file by which everything is worth being on integers
  PlanRegions regions_;
};

}  // namespace tare
