// search_and_report MODEL CALIBRATION.h5 EVALUATION.h5: the fastest model that keeps 40 dB
#include <iostream>

#include <tare/tare.h>

int main(int count, char** argument) try {
  if (count != 4) return 2;
  const auto samples = tare::open_dataset(argument[2]);
  const auto evaluation = tare::open_dataset(argument[3]);
  const tare::Graph model = tare::load_model(argument[1], {}, samples.get());
  const tare::Toolkit& toolkit = tare::Toolkit::builtin();
  const tare::SearchOptions options{.conditions = {tare::ReportCondition("output.sqnr>=40")}};
  const auto found = tare::search(model, *samples, {}, toolkit, options);
  tare::write_model(*found.quantized, "searched.onnx");
  const auto report = tare::compare_result(*found.quantized, *evaluation, toolkit);
  tare::write_report("searched.html", report, tare::ReportFormat::kHtml);
  std::cout << found.plans[found.chosen].plan.float_nodes.size() << " layers stay in float\n"
            << report.verdict << '\n';
} catch (const tare::Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
