#include "printing/rule_listing.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace tare::cli {
namespace {

bool is_about_values(const std::string& key) {
  return key != "activations.dynamic" &&
         (key.starts_with("activations.") || key.starts_with("inputs."));
}

class Lister {
 public:
  Lister(const SimulatedGraph& simulated, const Config& config)
      : graph_(simulated.source), config_(config), rules_(graph_, config.layers) {
    for (const Region& region : simulated.regions) {
      rules_.join(graph_, region.match.nodes());
    }
    for (const LayerRule& rule : config.layers) {
      keys_.push_back(rule_keys(rule));
    }
  }

  AppliedRules run() {
    AppliedRules result;
    for (const NodeId id : graph_.topological_order()) {
      const Node& node = graph_.node(id);
      RuledNode ruled{node.name, node.op, {}};
      add_layer(id, ruled);
      for (const ValueId value : LayerRules::computed(graph_, node)) {
        // What fuses with a node, or moves what it computes, is listed where a rule names it.
        if (computed_.insert(value).second || !rules_.uses(id).empty()) {
          add_value(id, value, "activations.", ruled);
        }
      }
      for (const ValueId value : LayerRules::read(graph_, node)) {
        if (says_what_it_reads(id, value)) {
          add_value(id, value, "inputs.", ruled);
        }
      }
      if (!ruled.settings.empty()) {
        result.nodes.push_back(std::move(ruled));
      }
    }
    for (std::size_t i = 0; i < config_.layers.size(); ++i) {
      if (!rules_.matches(i)) {
        result.idle.push_back(rule_name(config_, i));
      }
    }
    return result;
  }

 private:
  void add_layer(NodeId id, RuledNode& ruled) const {
    std::map<std::string, RuleSetting> settings;
    for (const RuleUse& use : rules_.uses(id)) {
      for (const auto& [key, value] : keys_[use.rule]) {
        if (!is_about_values(key)) {
          settings[key] = setting(id, use, key, value);
        }
      }
    }
    append(settings, ruled);
  }

  void add_value(NodeId id, ValueId value, const std::string& prefix, RuledNode& ruled) const {
    std::map<std::string, RuleSetting> settings;
    for (const RuleUse& use : rules_.uses(value)) {
      const std::string part = use.part == RulePart::kInputs ? "inputs." : "activations.";
      for (const auto& [key, text] : keys_[use.rule]) {
        if (is_about_values(key) && key.starts_with(part)) {
          const std::string own = prefix + key.substr(part.size());
          settings[own] = setting(id, use, own, text);
        }
      }
    }
    append(settings, ruled);
  }

  static void append(const std::map<std::string, RuleSetting>& settings, RuledNode& ruled) {
    for (const auto& [key, setting] : settings) {
      const bool known = std::any_of(
          ruled.settings.begin(), ruled.settings.end(), [&](const RuleSetting& other) {
            return other.key == key && other.rule == setting.rule && other.as == setting.as;
          });
      if (!known) {
        ruled.settings.push_back(setting);
      }
    }
  }

  bool says_what_it_reads(NodeId id, ValueId value) const {
    const auto& uses = rules_.uses(value);
    return std::any_of(uses.begin(), uses.end(), [&](const RuleUse& use) {
      return use.part == RulePart::kInputs && use.node == id;
    });
  }

  RuleSetting setting(NodeId id, const RuleUse& use, const std::string& key,
                      const std::string& value) const {
    std::string as;
    if (use.node != id) {
      as = fmt::format("as what '{}' {}", use.origin.name,
                       use.part == RulePart::kInputs ? "reads" : "computes");
    } else if (use.origin.name != graph_.node(id).name) {
      as = fmt::format("as '{}' ({})", use.origin.name, use.origin.op);
    } else if (use.origin.op != graph_.node(id).op) {
      as = fmt::format("as the {} that it was", use.origin.op);
    }
    return {key, value, use.rule, rule_name(config_, use.rule), std::move(as)};
  }

  const Graph& graph_;
  const Config& config_;
  LayerRules rules_;
  std::vector<std::vector<std::pair<std::string, std::string>>> keys_;  ///< by rule
  std::set<ValueId> computed_;
};

/// Who decided what; with `in_full` also as which operator, on a line of its own where it needs
/// one.
std::string line(const RuleSetting& setting, bool in_full, std::size_t columns) {
  std::string text =
      fmt::format("    {}={} by {}", setting.key, setting.value, printable(setting.name));
  if (in_full && !setting.as.empty()) {
    const std::string as = printable(setting.as);
    text += text.size() + 2 + as.size() > columns ? ",\n      " : ", ";
    text += as;
  }
  return text + "\n";
}

/// As many names as fit on a line, and how many more there are.
std::string names_text(const std::vector<std::string>& names, std::size_t columns) {
  constexpr std::size_t kRoom = std::string_view("  , and 10000 more").size();
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string name = printable(names[i]);
    if (i > 0 && text.size() + name.size() + kRoom > columns) {
      return text + fmt::format(" and {} more", names.size() - i);
    }
    text += (i > 0 ? ", " : "") + name;
  }
  return text;
}

}  // namespace

AppliedRules applied_rules(const SimulatedGraph& simulated, const Config& config) {
  return Lister(simulated, config).run();
}

std::string rules_text(const AppliedRules& rules, bool one_by_one, const Terminal& terminal) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  std::map<std::string, std::size_t> index;
  for (const RuledNode& node : rules.nodes) {
    std::string settings;
    for (const RuleSetting& setting : node.settings) {
      settings += line(setting, one_by_one, terminal.columns);
    }
    const std::string key = one_by_one ? node.node : settings;
    const auto [entry, is_new] = index.emplace(key, groups.size());
    if (is_new) {
      groups.emplace_back(std::move(settings), std::vector<std::string>{});
    }
    groups[entry->second].second.push_back(node.node);
  }
  const std::size_t idle = one_by_one ? 0 : rules.idle.size();
  std::string text =
      groups.size() + idle == 0
          ? ""
          : terminal.styled(Style::kHeading, "what 'layers' of the configuration decides") +
                "\n";
  for (const auto& [settings, names] : groups) {
    text += "  " + names_text(names, terminal.columns) + "\n" + settings;
  }
  for (std::size_t i = 0; i < idle; ++i) {
    text += "  " + printable(rules.idle[i]) + " matches nothing\n";
  }
  return text;
}

Json rules_json(const std::vector<RuledNode>& nodes) {
  Json list = Json::array();
  for (const RuledNode& node : nodes) {
    Json settings = Json::array();
    for (const RuleSetting& setting : node.settings) {
      Json& entry = settings.emplace_back(Json{{"key", setting.key},
                                               {"value", setting.value},
                                               {"rule", setting.rule + 1},
                                               {"by", setting.name}});
      if (!setting.as.empty()) {
        entry["as"] = setting.as;
      }
    }
    list.push_back({{"node", node.node}, {"op", node.op}, {"settings", std::move(settings)}});
  }
  return list;
}

}  // namespace tare::cli
