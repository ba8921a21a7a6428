#pragma once

#include <filesystem>

namespace tare::test {

/// Makes the files that the commands of the cases use:
///   digits.onnx calibration.h5 evaluation.h5   the network and samples of data/
///   truncated.onnx random.onnx truncated.h5 random.h5 random.yaml truncated.yaml
///   unknown_op.onnx    a model of the operators Frobnicate and Twist
///   detector.onnx      results of a shape that depends on data, and of the operator Frobnicate
///   tokens.onnx tokens.h5   a network in float that reads integers
///   outside.onnx outside.bin outside.h5   a network whose constant is in the file beside it
///   evil.onnx evil.h5   a network with names that no terminal should see
///   no_samples.h5 other_name.h5 other_shape.h5 other_type.h5 text.h5 nan.h5   samples that do
///   not fit it faults.yaml calibrator.yaml float.yaml   configurations
void make_inputs(const std::filesystem::path& folder);

}  // namespace tare::test
