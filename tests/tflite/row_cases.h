#pragma once

#include "tare/tensor.h"

#include "tflite/tflite_builder.h"

#include <cstddef>
#include <optional>
#include <ostream>
#include <vector>

namespace tare::test {

/// A tensor of an operator: its elements, or what they are to be.
struct RowOperand {
  Tensor values;
  bool constant = false;
  std::optional<FileQuantization> quantization{};
  bool variable = false;  ///< a state
  bool absent = false;

  bool is_input() const { return !constant && !variable && !absent; }
};

/// One operator, and what it makes of a few numbers.
struct RowCase {
  tflite::schema::Builtin code;
  std::vector<RowOperand> operands;
  std::vector<RowOperand> results;
  tflite::schema::BuiltinOptions type = tflite::schema::BuiltinOptions_NONE;
  TfliteBuilder::Options options{};
  std::string custom{};  ///< the name of a custom operator
  std::vector<std::uint8_t> custom_options{};
  std::vector<RowOperand> intermediates{};

  friend void PrintTo(const RowCase& one, std::ostream* out) {
    *out << EnumNameBuiltin(one.code);
  }
};

/// One or more for each row of the table of operators, with results known from elsewhere.
std::vector<RowCase> row_cases();

/// Those of operators that compare and choose, and of those that index, fill or remember.
std::vector<RowCase> choice_row_cases();
std::vector<RowCase> index_row_cases();

/// A model of that operator alone: operands that are no constants are its inputs.
std::vector<std::byte> file_of(const RowCase&);

}  // namespace tare::test
