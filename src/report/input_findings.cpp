#include "report/findings.h"

#include <algorithm>

namespace tare {

void find_wrong_inputs(Findings& findings) {
  const Report& report = findings.report();
  for (const InputWarning& warning : report.input_warnings) {
    const auto reader =
        std::find_if(report.layers.begin(), report.layers.end(), [&](const LayerReport& layer) {
          return std::any_of(
              layer.inputs.begin(), layer.inputs.end(),
              [&](const std::string& name) { return warning.input == "input '" + name + "'"; });
        });
    Diagnosis found;
    found.kind = "input_preparation";
    found.severity = 1;
    found.layer = reader == report.layers.end() ? std::string() : reader->name;
    found.text = warning.input + " " + warning.text;
    found.advice =
        "prepare the samples as in training and quantize again; until then no other figure "
        "here means anything";
    findings.add(std::move(found));
  }
}

}  // namespace tare
