#include "tare/error.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tare {
namespace {

std::string hint_line(const std::string& hint) {
  return hint.empty() ? "" : "\n  hint: " + printable(hint);
}

}  // namespace

Error::Error(ErrorCode code, std::string where, std::string what)
    : Error(code, std::vector<Fault>{{std::move(where), std::move(what), {}}}) {}

Error::Error(ErrorCode code, std::vector<Fault> faults)
    : code_(code), faults_(std::move(faults)) {
  compose();
}

Error::Error(const Error&) = default;
Error::Error(Error&&) noexcept = default;
Error& Error::operator=(const Error&) = default;
Error& Error::operator=(Error&&) noexcept = default;
Error::~Error() = default;

Error& Error::expected(std::string_view what) {
  faults_.back().expected = what;
  compose();
  return *this;
}

Error& Error::hint(std::string_view text) {
  hint_ = text;
  compose();
  return *this;
}

Error& Error::at(std::string_view place) {
  for (Fault& fault : faults_) {
    fault.where =
        fault.where.empty() ? std::string(place) : std::string(place) + ": " + fault.where;
  }
  compose();
  return *this;
}

Error& Error::during(std::string_view activity) {
  activities_.emplace_back(activity);
  compose();
  return *this;
}

void Error::compose() {
  message_.clear();
  for (const Fault& fault : faults_) {
    if (!message_.empty()) {
      message_ += '\n';
    }
    message_ += printable(fault.where.empty() ? fault.what : fault.where + ": " + fault.what);
    if (!fault.expected.empty()) {
      message_ += ", expected " + printable(fault.expected);
    }
    message_ += hint_line(fault.hint);
  }
  for (const std::string& activity : activities_) {
    message_ += "\n  while " + printable(activity);
  }
  message_ += hint_line(hint_);
}

void Faults::add(std::string where, std::string what, std::string expected, std::string hint) {
  faults_.push_back({std::move(where), std::move(what), std::move(expected), std::move(hint)});
}

void Faults::raise(ErrorCode code) const {
  if (!faults_.empty()) {
    throw Error(code, faults_);
  }
}

namespace {

/// The fewest characters to insert, leave out or exchange (Levenshtein, "Binary Codes Capable
/// of Correcting Deletions, Insertions and Reversals", 1966), by one row of the usual table: as
/// many steps as the product of both lengths.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(std::string_view name, const std::vector<std::string>& candidates) {
  std::string best;
  // A third of the letters may be wrong; beyond that a suggestion would puzzle.
  std::size_t best_distance = (name.size() + 2) / 3 + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string suggestion(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string near = nearest(name, candidates);
  return near.empty() ? "" : "did you mean '" + near + "'?";
}

}  // namespace tare
