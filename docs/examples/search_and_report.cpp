// search_and_report MODEL CALIBRATION.h5 EVALUATION.h5: the fastest model that keeps 40 dB
#include <algorithm>
#include <iostream>

#include <tare/tare.h>

int main(int count, char** argument) try {
  if (count != 4) return 2;
  const auto samples = tare::open_dataset(argument[2]);
  const auto evaluation = tare::open_dataset(argument[3]);
  const tare::Graph model = tare::load_model(argument[1], {}, samples.get());
  const tare::Toolkit& toolkit = tare::Toolkit::builtin();
  const auto quantized = [&](const tare::MixedPrecisionPlan& plan) {
    return tare::quantize(model, *samples, tare::apply_plan({}, plan), toolkit);
  };
  const auto is_poor = [&](const tare::MixedPrecisionPlan& plan) {
    const tare::Report report = tare::compare_result(quantized(plan), *evaluation, toolkit);
    return report.outputs[0].error.sqnr.value_or(40) < 40;  // no value: it is exact
  };
  const auto plans = tare::mixed_precision_plans(model, *samples, {}, toolkit);
  const auto best = std::partition_point(plans.begin(), plans.end() - 1, is_poor);
  const tare::QuantizeResult result = quantized(*best);
  const tare::Report report = tare::compare_result(result, *evaluation, toolkit);
  tare::write_model(result, "searched.onnx");
  tare::write_report("searched.html", report, tare::ReportFormat::kHtml);
  std::cout << report.verdict << '\n';
} catch (const tare::Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
