#pragma once

#include "tare/report.h"

#include "printing/terminal.h"

#include <optional>
#include <string>

namespace tare::cli {

/// "good. On 64 samples ..."
std::string verdict_text(const Report&, const Terminal&);
/// The layer that loses most by itself; null where none loses anything, or no error is known.
const LayerReport* worst_layer(const Report&);
/// The output of least SQNR; null where there is none.
const OutputReport* worst_output(const Report&);

/// Of a language model, that of both networks; nothing for others.
std::optional<std::string> perplexity_text(const Report&);

/// The report in short: verdict, outputs, the ten worst layers, advice.
std::string report_text(const Report&, const Terminal&);

}  // namespace tare::cli
