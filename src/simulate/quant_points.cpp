#include "tare/quant_table.h"
#include "tare/simulate.h"

#include "base/check.h"
#include "graph/arithmetic/node_arithmetic.h"

namespace tare {

PointId QuantPoints::add(QuantPoint point) {
  const PointId id{static_cast<std::uint32_t>(points_.size())};
  check(by_name_.emplace(point.name, id).second, "two points have the same name");
  if (point.role == Role::kAccumulator) {
    accumulators_.emplace(
        std::pair(by_name_.find(point.input)->second, by_name_.find(point.weight)->second), id);
  }
  points_.push_back(std::move(point));
  return id;
}

void QuantPoints::shrink(std::size_t count) {
  for (; points_.size() > count; points_.pop_back()) {
    const QuantPoint& last = points_.back();
    if (last.role == Role::kAccumulator) {
      accumulators_.erase(
          {by_name_.find(last.input)->second, by_name_.find(last.weight)->second});
    }
    by_name_.erase(last.name);
  }
}

std::optional<PointId> QuantPoints::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<PointId> QuantPoints::accumulator(PointId input, PointId weight) const {
  const auto found = accumulators_.find({input, weight});
  return found == accumulators_.end() ? std::nullopt : std::optional(found->second);
}

const QuantPoint* SimulatedGraph::find(std::string_view point) const {
  const auto id = points.find(point);
  return id ? &points[*id] : nullptr;
}

}  // namespace tare
