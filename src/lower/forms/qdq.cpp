
#include "lower/forms/form_builder.h"
#include "lower/forms/forms.h"

namespace tare {

Graph to_qdq(const Graph& integer) {
  return FormBuilder(integer).build();
}

}  // namespace tare
