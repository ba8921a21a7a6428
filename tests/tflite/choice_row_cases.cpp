#include "tflite/row_values.h"

namespace tare::test {

using namespace tflite::schema;
using tare::Tensor;  // and not that of files

namespace {

std::vector<RowCase> comparisons() {
  const RowOperand a{f32({2, 2}, {1, 2, 3, -4})};
  const RowOperand b{f32({2}, {1, 3})};
  const auto compared = [&](Builtin code, const std::vector<int>& wanted) {
    return RowCase{code, {a, b}, {{flags({2, 2}, wanted)}}};
  };
  return {
      compared(Builtin_EQUAL, {1, 0, 0, 0}),   compared(Builtin_NOT_EQUAL, {0, 1, 1, 1}),
      compared(Builtin_LESS, {0, 1, 0, 1}),    compared(Builtin_LESS_EQUAL, {1, 1, 0, 1}),
      compared(Builtin_GREATER, {0, 0, 1, 0}), compared(Builtin_GREATER_EQUAL, {1, 0, 1, 0})};
}

std::vector<RowCase> conditions() {
  const RowOperand a{flags({2, 2}, {0, 0, 1, 1})};
  const RowOperand b{flags({2, 2}, {0, 1, 0, 1})};
  const RowOperand x{f32({2, 2}, {1, 2, 3, 4})};
  const RowOperand y{f32({2, 2}, {-1, -2, -3, -4})};
  const RowOperand parts{flags({2}, {1, 0})};
  return {
      {Builtin_LOGICAL_AND, {a, b}, {{flags({2, 2}, {0, 0, 0, 1})}}},
      {Builtin_LOGICAL_OR, {a, b}, {{flags({2, 2}, {0, 1, 1, 1})}}},
      {Builtin_LOGICAL_NOT, {b}, {{flags({2, 2}, {1, 0, 1, 0})}}},
      // Of SELECT a row says which parts along the first axis to take, of SELECT_V2 it
      // broadcasts along the last.
      {Builtin_SELECT, {parts, x, y}, {{f32({2, 2}, {1, 2, -3, -4})}}},
      {Builtin_SELECT_V2, {parts, x, y}, {{f32({2, 2}, {1, -2, 3, -4})}}},
      {Builtin_REDUCE_ANY, {a, numbers({1})}, {{flags({2}, {0, 1})}}},
      {Builtin_REDUCE_ALL, {b, numbers({0})}, {{flags({2}, {0, 1})}}},
  };
}

std::vector<RowCase> arithmetic() {
  const RowOperand x{f32({2, 2}, {1, 2, 3, -4})};
  return {
      {Builtin_ADD_N, {x, x, x}, {{f32({2, 2}, {3, 6, 9, -12})}}},
      {Builtin_SIGN, {x}, {{f32({2, 2}, {1, 1, 1, -1})}}},
      {Builtin_SQUARE, {x}, {{f32({2, 2}, {1, 4, 9, 16})}}},
      {Builtin_SQUARED_DIFFERENCE, {x, {f32({2}, {2, 3})}}, {{f32({2, 2}, {1, 1, 1, 49})}}},
      {Builtin_FLOOR_DIV,
       {{i32({4}, {7, -7, 7, -7})}, {i32({4}, {2, 2, -2, -2})}},
       {{i32({4}, {3, -4, -4, 3})}}},
      {Builtin_FLOOR_MOD,
       {{i32({4}, {7, -7, 7, -7})}, {i32({4}, {3, 3, -3, -3})}},
       {{i32({4}, {1, 2, -2, -1})}}},
      {Builtin_REDUCE_PROD, {x, numbers({0})}, {{f32({2}, {3, -8})}}},
      // Two neighbours on either side of four: all see at least three.
      {Builtin_LOCAL_RESPONSE_NORMALIZATION,
       {{f32({1, 1, 1, 4}, {1, 2, 3, 4})}},
       {{f32({1, 1, 1, 4}, {1.0F / 15, 2.0F / 31, 3.0F / 31, 4.0F / 30})}},
       BuiltinOptions_LocalResponseNormalizationOptions,
       [](auto& to) {
         return CreateLocalResponseNormalizationOptions(to, 2, 1, 1, 1).Union();
       }},
  };
}

}  // namespace

std::vector<RowCase> choice_row_cases() {
  std::vector<RowCase> all = comparisons();
  for (auto* part : {conditions, arithmetic}) {
    for (RowCase& one : part()) {
      all.push_back(std::move(one));
    }
  }
  return all;
}

}  // namespace tare::test
