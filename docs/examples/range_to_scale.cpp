// range_to_scale LOW HIGH: the uint8 parameters of a range of real values, and what becomes of
// some values in and beside it.
#include "tare/arithmetic.h"
#include "tare/tensor.h"

#include <exception>
#include <iostream>
#include <string>
#include <vector>

int main(int count, char** argument) try {
  const std::vector<std::string> words(argument, argument + count);
  const tare::Range range{std::stod(words.at(1)), std::stod(words.at(2))};
  const tare::QuantParams params =
      tare::to_quant_params({range}, {.storage = tare::DType::kUint8});
  std::cout << to_string(params) << '\n';

  const auto at = [&](double share) {
    return static_cast<float>(range.low + share * (range.high - range.low));
  };
  const std::vector<float> real{at(-0.1), at(0), at(0.25), at(0.5), at(1), at(1.1)};
  const tare::Tensor stored = tare::quantize(tare::Tensor::of<float>({6}, real), params);
  const tare::Tensor expressed = tare::dequantize(stored, params);
  for (std::size_t i = 0; i < real.size(); ++i) {
    std::cout << real[i] << " is stored as " << int{stored.view<std::uint8_t>()[i]}
              << ", which stands for " << expressed.view<float>()[i] << '\n';
  }
} catch (const std::exception&) {
  std::cerr << "usage: range_to_scale LOW HIGH\n";
  return 2;
}
