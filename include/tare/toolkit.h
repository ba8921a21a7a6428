#pragma once

#include "tare/arithmetic.h"
#include "tare/calibrator.h"
#include "tare/config.h"
#include "tare/integer_graph.h"
#include "tare/node.h"
#include "tare/pattern.h"
#include "tare/report.h"

#include <filesystem>
#include <string>
#include <vector>

namespace tare {

/// The extension points, gathered. No globals: a test may build one with a single pattern in
/// it.
struct Toolkit {
  std::vector<RewriteRule> rules;
  std::vector<QuantPattern> patterns;
  std::vector<CalibratorInfo> calibrators;
  std::vector<MetricInfo> metrics{};
  std::vector<AffineOp> affine_ops{};   ///< the whole allow-list, in the order of Tare's own
  std::vector<LintRule> lint_rules{};   ///< beside what lint() holds graphs against
  std::vector<FindingInfo> findings{};  ///< beside those of Tare
  std::vector<ExportOperator> exports{};

  /// Everything in src/prepare/rules, patterns/, calibrators/ and src/metrics/, and the
  /// allow-list of Tare.
  static const Toolkit& builtin();
  std::vector<std::string> calibrator_names() const;
};

/// Adds the parts of shared objects, see PluginParts. They stay loaded. Exceptions of theirs
/// become Error(kInvalidConfig) with the name of the file. Throws Error(kIo) for one that
/// cannot be loaded, Error(kInvalidConfig) for one that is no plug-in of this version, that
/// throws or adds nothing, or of which a part has a name that is taken.
void load_plugins(const std::vector<std::filesystem::path>&, Toolkit&);

/// The configured target as this toolkit serves it: `patterns` has all that it uses, those that
/// it does not list included (QuantPattern::targets), and its objective and how weights are
/// packed are as configured.
/// Throws as read_target(), and Error(kInvalidConfig) with every pattern that a target file
/// lists and the toolkit does not have.
Target target_of(const Config&, const Toolkit&);

}  // namespace tare
