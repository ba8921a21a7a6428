#include "tare/lower.h"

#include "base/check.h"

namespace tare {
namespace {

Graph qdq_for(const Graph& integer, const Target& target) {
  Graph qdq = to_qdq(integer);
  if (target.merges_activations) {
    qdq = merge_activations(std::move(qdq));
  }
  return target.float_bias ? with_real_biases(std::move(qdq)) : qdq;
}

}  // namespace

Graph export_form(const Graph& integer, Form form, const Target& target) {
  switch (form) {
    case Form::kQdq:
      return qdq_for(integer, target);
    case Form::kQoperator:
      return to_qoperator(integer);
    case Form::kInteger:
      return to_integer_operators(integer);
  }
  check(false, "a form that is none");
  return {};
}

}  // namespace tare
