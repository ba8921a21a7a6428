
#include "tare/error.h"
#include "tare/report.h"

#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <string_view>

namespace tare {
namespace {

class Row {
 public:
  /// As RFC 4180 quotes it. Spreadsheets take what begins like a formula for one, unless an
  /// apostrophe says that it is text.
  void text(const std::string& value) {
    constexpr std::string_view kBeginsFormula = "=+-@";
    const std::string shown = printable(value);
    const bool is_formula =
        !shown.empty() && kBeginsFormula.find(shown[0]) != std::string_view::npos;
    std::string quoted = is_formula ? "'" : "";
    for (const char c : shown) {
      quoted += c == '"' ? "\"\"" : std::string(1, c);
    }
    const bool needs_quotes = shown.find_first_of(",\"") != std::string::npos;
    cell(needs_quotes ? '"' + quoted + '"' : quoted);
  }
  /// Empty where there is none.
  void number(const std::optional<double>& value) {
    std::array<char, 32> digits{};
    cell(value && std::isfinite(*value)
             ? std::string(digits.data(),
                           std::to_chars(digits.begin(), digits.end(), *value).ptr)
             : std::string());
  }
  void error(const std::optional<Deviation>& error) {
    const Deviation& known = error ? *error : none_;
    number(known.sqnr);
    number(known.cosine);
    number(known.mse);
    number(known.relative_l2);
    number(known.largest ? std::optional(known.largest->value) : std::nullopt);
  }
  std::string take() { return line_ + "\n"; }

 private:
  void cell(const std::string& value) {
    line_ += is_first_ ? value : "," + value;
    is_first_ = false;
  }

  const Deviation none_{};
  std::string line_;
  bool is_first_ = true;
};

template <class T>
std::optional<double> as_number(const std::optional<T>& value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

constexpr const char* kHead =
    "layer,op,result,depth,runs_as,float_because,macs,"
    "local_sqnr,local_cosine,local_mse,local_relative_l2,local_max_error,"
    "cumulative_sqnr,cumulative_cosine,cumulative_mse,cumulative_relative_l2,"
    "cumulative_max_error,"
    "point,storage,scale,zero_point,observed_low,observed_high,calibrated_low,calibrated_high,"
    "calibrator,"
    "saturated_low,saturated_high,levels_used,effective_bits,"
    "weight,weight_axis,weight_sqnr,weight_range_ratio,"
    "accumulator_bits_observed,accumulator_bits_worst_case,bias_margin,widened_channels\n";

void point_cells(const PointReport* point, Row& row) {
  if (point == nullptr) {
    for (int i = 0; i < 13; ++i) {
      row.number({});
    }
    return;
  }
  row.text(point->name);
  row.text(std::string(name_of(point->params.storage)));
  const bool per_axis = point->params.per_axis();
  row.number(per_axis ? std::nullopt : std::optional<double>(point->params.scale[0]));
  row.number(per_axis ? std::nullopt : std::optional<double>(point->params.zero_point[0]));
  row.number(point->observed.low);
  row.number(point->observed.high);
  row.number(point->calibrated.low);
  row.number(point->calibrated.high);
  row.text(point->calibrator);
  row.number(point->saturated.low);
  row.number(point->saturated.high);
  row.number(static_cast<double>(point->levels_used));
  row.number(point->effective_bits);
}

}  // namespace

std::string report_csv(const Report& report) {
  std::map<std::string, const PointReport*> points;
  for (const PointReport& point : report.points) {
    points.emplace(point.name, &point);
  }
  std::string text = kHead;
  for (const LayerReport& layer : report.layers) {
    Row row;
    row.text(layer.name);
    row.text(layer.op);
    row.text(layer.result);
    row.number(static_cast<double>(layer.depth));
    row.text(layer.runs_as);
    row.text(layer.float_because);
    row.number(layer.macs);
    row.error(layer.local);
    row.error(layer.cumulative);
    const auto point = points.find(layer.point);
    point_cells(point == points.end() ? nullptr : point->second, row);
    const auto& weight = layer.weight;
    row.text(weight ? weight->name : "");
    row.number(weight ? as_number(weight->axis) : std::nullopt);
    row.number(weight ? weight->sqnr : std::nullopt);
    row.number(weight ? weight->range_ratio : std::nullopt);
    const auto& sums = layer.accumulator;
    row.number(sums ? as_number(sums->bits_observed) : std::nullopt);
    row.number(sums ? std::optional<double>(sums->bits_worst_case) : std::nullopt);
    row.number(sums ? sums->bias_margin : std::nullopt);
    row.number(sums ? std::optional(static_cast<double>(sums->widened_channels))
                    : std::nullopt);
    text += row.take();
  }
  return text;
}

}  // namespace tare
