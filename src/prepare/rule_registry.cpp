#include "prepare/rule_registry.h"

#define TARE_X(stem) TARE_RULE(stem);
#include "rule_list.inc"
#undef TARE_X

namespace tare {

const std::vector<RewriteRule>& prepare_rules() {
  static const std::vector<RewriteRule> rules{
#define TARE_X(stem) tare_rule_##stem(),
#include "rule_list.inc"
#undef TARE_X
  };
  return rules;
}

}  // namespace tare
