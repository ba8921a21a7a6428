#include "tare/lower.h"

#include "lower/form_builder.h"

namespace tare {

Graph to_qdq(const Graph& integer) {
  return FormBuilder(integer).build();
}

}  // namespace tare
