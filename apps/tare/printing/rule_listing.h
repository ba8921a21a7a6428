#pragma once

#include "tare/config.h"
#include "tare/simulate.h"

#include "printing/terminal.h"
#include "text.h"

#include <cstddef>
#include <string>
#include <vector>

namespace tare::cli {

/// A key that an entry of `layers:` decides, as the last one that says anything of it.
struct RuleSetting {
  std::string key;  ///< "activations.calibrator"
  std::string value;
  std::size_t rule = 0;  ///< index of the entry
  std::string name;      ///< "rule 2 (config.yaml:14)"
  std::string as;        ///< by which operator, where it is not the node itself; may be empty
};

/// What entries of `layers:` decide for one node of a prepared graph.
struct RuledNode {
  std::string node;
  std::string op;
  std::vector<RuleSetting> settings;
};

struct AppliedRules {
  /// For which some entry says something, in topological order. `activations` stands for what
  /// the node computes and `inputs` for what it reads, whichever node an entry says it of.
  std::vector<RuledNode> nodes;
  std::vector<std::string> idle;  ///< names of entries that match nothing
};

/// Of simulated.source, the prepared graph.
AppliedRules applied_rules(const SimulatedGraph& simulated, const Config&);

/// Nodes with the same settings are shown together, unless `one_by_one`, which says by which
/// operators as well and nothing of idle entries.
std::string rules_text(const AppliedRules&, bool one_by_one, const Terminal&);
Json rules_json(const std::vector<RuledNode>&);

}  // namespace tare::cli
