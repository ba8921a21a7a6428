#include "tare/lower.h"

#include "base/check.h"

namespace tare {

Graph export_form(const Graph& integer, Form form) {
  switch (form) {
    case Form::kQdq:
      return to_qdq(integer);
    case Form::kQoperator:
      return to_qoperator(integer);
    case Form::kInteger:
      return to_integer_operators(integer);
  }
  check(false, "a form that is none");
  return {};
}

}  // namespace tare
