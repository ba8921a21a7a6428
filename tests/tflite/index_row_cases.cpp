#include "tflite/row_values.h"

#include <cmath>

namespace tare::test {

using namespace tflite::schema;
using tare::Tensor;  // and not that of files

namespace {

std::vector<RowCase> indices() {
  const RowOperand rows{f32({2, 3}, {1, 2, 3, 4, 5, 6})};
  return {
      {Builtin_GATHER_ND, {rows, constant(i32({2, 2}, {1, 2, 0, 1}))}, {{f32({2}, {6, 2})}}},
      // Two updates of one place add up.
      {Builtin_SCATTER_ND,
       {constant(i32({3, 1}, {2, 0, 2})), {f32({3}, {1, 2, 4})}, numbers({4})},
       {{f32({4}, {2, 0, 5, 0})}}},
      // Neither -1 nor 3 is among three.
      {Builtin_ONE_HOT,
       {{i32({4}, {2, -1, 0, 3})},
        number(3),
        constant(Tensor::scalar(5.0F)),
        constant(Tensor::scalar(1.0F))},
       {{f32({4, 3}, {1, 1, 5, 1, 1, 1, 5, 1, 1, 1, 1, 1})}},
       BuiltinOptions_OneHotOptions,
       [](auto& to) { return CreateOneHotOptions(to, -1).Union(); }},
      // Of two 5 the one before comes first.
      {Builtin_TOPK_V2,
       {{f32({1, 4}, {5, 7, 5, 1})}, number(3)},
       {{f32({1, 3}, {7, 5, 5})}, {i32({1, 3}, {1, 0, 2})}}},
      {Builtin_CUMSUM,
       {rows, number(1)},
       {{f32({2, 3}, {5, 3, 0, 11, 6, 0})}},
       BuiltinOptions_CumsumOptions,
       [](auto& to) { return CreateCumsumOptions(to, true, true).Union(); }},
      {Builtin_REVERSE_V2, {rows, numbers({-1})}, {{f32({2, 3}, {3, 2, 1, 6, 5, 4})}}},
      // A padded column in front; positions of blocks become images.
      {Builtin_SPACE_TO_BATCH_ND,
       {{f32({1, 2, 3, 1}, {1, 2, 3, 4, 5, 6})},
        numbers({2, 2}),
        constant(i32({2, 2}, {0, 0, 1, 0}))},
       {{f32({4, 1, 2, 1}, {0, 2, 1, 3, 0, 5, 4, 6})}}},
      {Builtin_BATCH_TO_SPACE_ND,
       {{f32({4, 1, 2, 1}, {0, 2, 1, 3, 0, 5, 4, 6})},
        numbers({2, 2}),
        constant(i32({2, 2}, {0, 0, 1, 0}))},
       {{f32({1, 2, 3, 1}, {1, 2, 3, 4, 5, 6})}}},
  };
}

std::vector<RowCase> fills() {
  const RowOperand rows{f32({2, 3}, {1, 2, 3, 4, 5, 6})};
  return {
      {Builtin_FILL, {numbers({2, 2}), {Tensor::scalar(3.0F)}}, {{f32({2, 2}, {3, 3, 3, 3})}}},
      {Builtin_BROADCAST_TO,
       {{f32({2, 1}, {1, 2})}, numbers({2, 2})},
       {{f32({2, 2}, {1, 1, 2, 2})}}},
      {Builtin_ZEROS_LIKE, {rows}, {{f32({2, 3}, std::vector<float>(6))}}},
      {Builtin_SHAPE, {rows}, {{i32({2}, {2, 3})}}},
      {Builtin_RANK, {rows}, {{i32({}, {2})}}},
      {Builtin_RANGE, {number(7), number(-2), number(-3)}, {{i32({3}, {7, 4, 1})}}},
  };
}

/// One step from a state of zeros.
std::vector<RowCase> recurrences() {
  RowCase svdf{Builtin_SVDF,
               {{f32({1, 2}, {1, 10})},
                constant(f32({2, 2}, {1, 2, 3, 4})),
                constant(f32({2, 3}, {7, 7, 2, 7, 7, -1})),
                constant(f32({1}, {0.5F})),
                state({1, 6})},
               {{f32({1, 1}, {-0.5F})}},  // 2 * 21 - 43 and the bias
               BuiltinOptions_SVDFOptions,
               [](auto& to) { return CreateSVDFOptions(to, 2).Union(); }};
  // Gates of a half, and a candidate of tanh(1).
  const RowOperand none = constant(f32({1, 1}, {0}));
  const RowOperand zero = constant(f32({1}, {0}));
  RowCase lstm{Builtin_UNIDIRECTIONAL_SEQUENCE_LSTM,
               {{f32({1, 1, 1}, {3})}, none, none, none, none, none, none, none, none},
               {{f32({1, 1, 1}, {0.5F * std::tanh(0.5F * std::tanh(1.0F))})}},
               BuiltinOptions_UnidirectionalSequenceLSTMOptions,
               [](auto& to) {
                 return CreateUnidirectionalSequenceLSTMOptions(to, Activation_TANH).Union();
               }};
  for (int i = 9; i < 12; ++i) {
    lstm.operands.push_back(absent());
  }
  lstm.operands.insert(lstm.operands.end(), {zero, zero, constant(f32({1}, {1})), zero,
                                             absent(), absent(), state({1, 1}), state({1, 1})});
  return {svdf, lstm};
}

}  // namespace

std::vector<RowCase> index_row_cases() {
  std::vector<RowCase> all = indices();
  for (auto* part : {fills, recurrences}) {
    for (RowCase& one : part()) {
      all.push_back(std::move(one));
    }
  }
  return all;
}

}  // namespace tare::test
