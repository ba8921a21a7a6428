#pragma once

#include "tare/quantize.h"

#include "printing/terminal.h"
#include "text.h"

#include <cstddef>
#include <string>

namespace tare::cli {

/// What a dry run prints.
struct DryRun {
  CostEstimate cost;
  std::string model;
  std::string output;
  Effort effort = Effort::kDefault;
  std::size_t samples = 0;
};

std::string as_text(const DryRun&, const Terminal&);
Json as_json(const DryRun&);

/// "fast", "default" or "best".
std::string effort_text(Effort);
/// "default; best is expected to take perhaps 4 min".
std::string fitting_text(const CostEstimate&, Effort fitting, Effort most);

}  // namespace tare::cli
