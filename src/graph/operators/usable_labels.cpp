#include "graph/operators/usable_labels.h"

#include "tare/error.h"

namespace tare {

std::optional<std::vector<std::int64_t>> usable_labels(const Dataset& data) try {
  return data.labels();
} catch (const Error& error) {
  if (error.code() != ErrorCode::kInvalidData) {
    throw;
  }
  return std::nullopt;
}

}  // namespace tare
