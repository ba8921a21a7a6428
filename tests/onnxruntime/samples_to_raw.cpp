// samples_to_raw MODEL.onnx SAMPLES.h5 FOLDER : the samples as ONNX Runtime's side of a
// benchmark reads them (onnxruntime.mjs), so that both sides start from files.

#include "tare/quantize.h"

#include "raw_samples.h"

#include <exception>
#include <iostream>

int main(int argc, char** argv) try {
  if (argc != 4) {
    std::cerr << "usage: samples_to_raw MODEL.onnx SAMPLES.h5 FOLDER\n";
    return 2;
  }
  const auto data = tare::open_dataset(argv[2]);
  const tare::Graph graph = tare::load_model(argv[1], {}, data.get());
  std::filesystem::create_directories(argv[3]);
  std::cout << tare::test::write_raw_samples(graph, *data, 0, argv[3]).string() << "\n";
  return 0;
} catch (const std::exception& error) {
  std::cerr << "samples_to_raw: " << error.what() << "\n";
  return 1;
}
