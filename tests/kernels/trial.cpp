#include "kernels/trial.h"

#include "tare/execute.h"

#include "execute/libraries.h"
#include "support/graphs.h"
#include "support/node_run.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <map>
#include <optional>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

std::optional<int> environment(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::nullopt : std::optional(std::atoi(text));
}

/// Whether oneDNN uses the instructions that the environment asks for.
bool has_instructions() {
  static const std::map<std::string, std::string> kNames{
      {"SSE41", "SSE4.1"},
      {"AVX", "AVX"},
      {"AVX2", "AVX2"},
      {"AVX512_CORE", "AVX-512"},
      {"AVX512_CORE_VNNI", "AVX-512 with VNNI"}};
  const char* limit = std::getenv("ONEDNN_MAX_CPU_ISA");
  const auto wanted = limit == nullptr ? kNames.end() : kNames.find(limit);
  const auto libraries = execute_libraries();
  return wanted == kNames.end() ||
         std::any_of(libraries.begin(), libraries.end(), [&](const Library& library) {
           return library.name == "oneDNN" && library.features == wanted->second;
         });
}

std::string difference(const Tensor& result, const Expected& expected) {
  const std::vector<double> values = result.to_double();
  for (std::size_t i = 0; i < values.size(); ++i) {
    // The comparison fails for NaN too.
    if (!(std::abs(values[i] - expected.values[i]) <= expected.bounds[i])) {
      return "element " + std::to_string(i) + " is " + std::to_string(values[i]) +
             ", expected " + std::to_string(expected.values[i]) + " within " +
             std::to_string(expected.bounds[i]);
    }
  }
  return {};
}

}  // namespace

void hold_for_random_shapes(const std::function<std::string(Random&)>& property) {
  if (!has_instructions()) {
    GTEST_SKIP() << "this processor has no such instructions";
  }
  const std::optional<int> only = environment("TARE_SHAPE");
  const int first = only.value_or(0);
  const int end = only ? *only + 1 : environment("TARE_SHAPES").value_or(300);
  constexpr int kMostShown = 10;
  int wrong = 0;
  for (int number = first; number < end; ++number) {
    Random random(static_cast<std::uint32_t>(number));
    std::string fault;
    try {
      fault = property(random);
    } catch (const std::exception& error) {
      fault = error.what();
    }
    if (!fault.empty() && ++wrong <= kMostShown) {
      ADD_FAILURE() << "TARE_SHAPE=" << number << ": " << fault;
    }
  }
  std::cout << wrong << " of " << end - first << " shapes are wrong\n";
  EXPECT_EQ(wrong, 0);
}

std::int64_t random_channels(Random& random) {
  constexpr std::array<std::int64_t, 6> kWidths{8, 16, 24, 32, 48, 64};
  if (one_in(3, random)) {
    return random.integer(1, 9);
  }
  return one_in(4, random) ? random.integer(1, 70)
                           : kWidths.at(static_cast<std::size_t>(random.integer(0, 5))) +
                                 random.integer(-1, 1);
}

Expected::Expected(const std::vector<Sum>& sums, bool exact) : Expected(sums.size()) {
  for (std::size_t i = 0; i < sums.size(); ++i) {
    values[i] = sums[i].value;
    bounds[i] = exact ? 0 : sums[i].bound();
  }
}

Tensor Trial::numbers(Shape shape) {
  Tensor tensor = random.tensor(std::move(shape));
  if (whole) {
    for (float& value : tensor.mutable_view<float>()) {
      value = static_cast<float>(random.integer(-8, 8));
    }
  }
  return tensor;
}

Trial::Operand Trial::operand(Shape shape, bool constant) {
  const Tensor values = numbers(shape);
  return operand(values, f32(std::move(shape)), constant);
}

Trial::Operand Trial::operand(const Tensor& values, const TensorType& type, bool constant) {
  const std::string name = graph_.unique_name("operand");
  if (constant) {
    return {graph_.add_constant(name, values, type), values};
  }
  inputs_.push_back(values);
  return {graph_.add_input(name, type), values};
}

Trial::Operand Trial::constant(const Tensor& values) {
  return operand(values, typed(values.dtype(), values.shape()), true);
}

ValueId Trial::add(const std::string& op, std::vector<ValueId> operands, TensorType result,
                   Attributes attributes) {
  const NodeId node = graph_.add_node(graph_.unique_name("node"), op, std::move(operands),
                                      {{graph_.unique_name("result"), std::move(result)}},
                                      std::move(attributes));
  return graph_.node(node).outputs[0];
}

std::string Trial::wrong(ValueId result, const Expected& expected) {
  graph_.set_outputs({result});
  ExecuteOptions options;
  options.precise = random.coin();
  std::vector<Tensor> inputs = inputs_;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].shape().size() >= 3 && random.coin()) {
      options.channels_last.push_back(graph_.inputs()[i]);
      inputs[i] = relaid(inputs[i], Layout::kChannelsLast, false);
    }
  }
  const auto described = [&](const std::string& fault) {
    return fault + (options.precise ? ", precise, " : ", ") +
           std::to_string(options.channels_last.size()) + " inputs channels-last\n" +
           print(graph_, 4);
  };
  try {
    const Tensor given = Executable(graph_, options).run(inputs).at(0);
    const std::string fault = difference(given, expected);
    return fault.empty() ? fault : described(fault);
  } catch (const std::exception& error) {
    return described(error.what());
  }
}

Trial::Operand simulated_operand(Trial& trial, const Tensor& storage, const TensorType& type,
                                 bool constant) {
  TensorType simulated = type;
  simulated.dtype = DType::kFloat32;
  simulated.point = "point";
  return trial.operand(Tensor::of<float>(storage.shape(), storage.to_float()), simulated,
                       constant);
}

ValueId without_zero_point(Trial& trial, const Trial::Operand& operand,
                           const TensorType& type) {
  const auto zero = static_cast<float>(type.quant->zero_point[0]);
  if (zero == 0) {
    return operand.id;
  }
  const ValueId constant = trial.constant(Tensor::of<float>({}, {zero})).id;
  return trial.add("Sub", {operand.id, constant}, f32(type.shape));
}

Tensor random_storage(DType type, Shape shape, Random& random) {
  Tensor tensor(type, std::move(shape));
  const StorageRange range = storage_range(type, false);
  const bool ends = one_in(3, random);
  const auto draw = [&] {
    return ends ? (random.coin() ? range.low : range.high)
                : random.integer(range.low, range.high);
  };
  const auto fill = [&](auto values) {
    for (auto& value : values) {
      value = static_cast<std::remove_reference_t<decltype(value)>>(draw());
    }
  };
  switch (type) {
    case DType::kUint8:
      fill(tensor.mutable_view<std::uint8_t>());
      break;
    case DType::kInt8:
      fill(tensor.mutable_view<std::int8_t>());
      break;
    case DType::kUint16:
      fill(tensor.mutable_view<std::uint16_t>());
      break;
    default:
      fill(tensor.mutable_view<std::int16_t>());
  }
  return tensor;
}

}  // namespace tare::test
