#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

namespace tare::test {

struct TestModel {
  std::string name;
  std::filesystem::path model;
  std::filesystem::path calibration;
  std::filesystem::path evaluation;

  friend void PrintTo(const TestModel&, std::ostream*);
};

/// What lies beside the source and is no part of the project; may be missing.
std::filesystem::path shared_files();

/// The project's own network, and the ones beside the source when they are there.
std::vector<TestModel> test_models();

/// Models of all kinds beside the source, which need not be supported, in the order of their
/// names; those of TensorFlow Lite come without samples.
std::vector<TestModel> field_models();

}  // namespace tare::test
