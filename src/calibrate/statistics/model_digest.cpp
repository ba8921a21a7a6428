#include "calibrate/statistics/model_digest.h"

#include "tare/error.h"
#include "tare/graph.h"

#include "base/hash.h"

namespace tare {

std::uint64_t model_digest(const Graph& graph) {
  std::uint64_t result = hash(print(graph, 0));
  for (const ValueId id : graph.values()) {
    if (const Tensor* constant = graph.constant(id)) {
      result = hash({constant->data(), constant->byte_size()}, result);
    }
  }
  return result;
}

void require_model(std::uint64_t digest, const Statistics& statistics) {
  if (statistics.model != digest) {
    throw Error(ErrorCode::kInvalidData, "", "the statistics are of another model")
        .hint(
            "statistics belong to one model file, as this version of the program prepares it");
  }
}

}  // namespace tare
