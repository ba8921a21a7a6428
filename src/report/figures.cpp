#include "report/figures.h"

#include "report/report_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace tare {
namespace {

std::string text(double value, std::chars_format format, int precision) {
  std::array<char, 64> digits{};
  const auto [end, error] =
      std::to_chars(digits.begin(), digits.end(), value, format, precision);
  return error == std::errc{} ? std::string(digits.begin(), end) : "a number beyond measure";
}

}  // namespace

std::string decibels(double sqnr) {
  return text(sqnr, std::chars_format::fixed, 1) + " dB";
}

std::string brief(double value) {
  const double size = std::abs(value);
  if (size >= 1000 && size < 1e7) {
    return text(value, std::chars_format::fixed, 0);
  }
  return text(value, std::chars_format::general, 3);
}

std::string percent(double share) {
  const std::string text = brief(100 * share);
  return (share < 1 && text == "100" ? "over 99.9" : text) + " %";
}

std::string counted(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

double sqnr_of(const Deviation& error) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return error.exact ? kInfinity : error.sqnr.value_or(-kInfinity);
}

const OutputReport* worst_output(const std::vector<OutputReport>& outputs) {
  const auto worst = std::min_element(outputs.begin(), outputs.end(),
                                      [](const OutputReport& a, const OutputReport& b) {
                                        return sqnr_of(a.error) < sqnr_of(b.error);
                                      });
  return worst == outputs.end() ? nullptr : &*worst;
}

double least_sqnr(const std::string& report) {
  const Json json = Json::parse(report);
  double result = std::numeric_limits<double>::infinity();
  for (const Json& output : json.at("outputs")) {
    const auto sqnr = output.find("sqnr");
    if (sqnr != output.end() && sqnr->is_number()) {
      result = std::min(result, sqnr->get<double>());
    }
  }
  return result;
}

}  // namespace tare
