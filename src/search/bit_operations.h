#pragma once

#include "tare/simulate.h"

#include <map>

namespace tare {

/// How many bits the storage values of such a point have.
int bits_of(const QuantSpec&);

/// Of each product and recurrent layer of simulated.source, in one run: its multiplications
/// times the bits of both factors, as in Yao et al., HAWQ-V3: Dyadic Neural Network
/// Quantization, 2021. What is real has 32 bits, what is quantized while the network runs 8.
using BitOperations = std::map<NodeId, double>;
BitOperations bit_operations(const SimulatedGraph&);

/// The sum of those.
double total(const BitOperations&);

/// The share of the multiplications that are of integers.
double integer_share(const SimulatedGraph&);

}  // namespace tare
