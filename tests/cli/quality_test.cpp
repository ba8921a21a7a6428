// What `tare quantize` says of what it made.

#include "tare/graph.h"
#include "tare/model_files.h"

#include "cli/in_program_folder.h"
#include "cli/inputs.h"
#include "cli/program.h"
#include "equalize/equalize.h"
#include "support/files/files.h"
#include "support/files/hdf5_builder.h"
#include "support/files/models.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tare::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class Quality : public InProgramFolder {
 protected:
  Json quantized(const std::string& options) const {
    return Json::parse(succeed("tare quantize digits.onnx -o q.onnx --json " + options).out);
  }
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

TEST_F(Quality, IsWhatCompareSaysOnTheSameSamples) {
  const Json quality =
      quantized("--data calibration.h5 --eval evaluation.h5 --report q.json").at("quality");
  succeed("tare compare digits.onnx q.onnx --data evaluation.h5 --json c.json > c.txt");
  const Json compared = Json::parse(bytes_of(folder_ / "c.json"));
  EXPECT_EQ(quality.at("evaluated_on"), "given");
  EXPECT_EQ(quality.at("file"), "evaluation.h5");
  EXPECT_EQ(quality.at("samples"), 597);
  EXPECT_EQ(quality.at("verdict"), compared.at("verdict").at("level"));
  EXPECT_NEAR(quality.at("sqnr").get<double>(), compared.at("output").at("sqnr").get<double>(),
              1e-6);
  EXPECT_EQ(quality.at("agreement").at("count"),
            compared.at("output").at("agreement").at("count"));
  double worst = 1e9;
  for (const Json& layer : compared.at("layers")) {
    if (layer.at("local").at("sqnr").is_number()) {
      worst = std::min(worst, layer.at("local").at("sqnr").get<double>());
    }
  }
  EXPECT_NEAR(quality.at("worst_layer").at("sqnr").get<double>(), worst, 1e-6);
}

TEST_F(Quality, IsEvaluatedOnAFewOfTheCalibrationSamplesOtherwise) {
  const Json quality = quantized("--data calibration.h5").at("quality");
  EXPECT_EQ(quality.at("evaluated_on"), "calibration");
  EXPECT_EQ(quality.at("samples"), 25);
  EXPECT_GT(quality.at("sqnr").get<double>(), 30);
  EXPECT_GT(quality.at("seconds").get<double>(), 0);
  EXPECT_GT(quality.at("predicted_speed").get<double>(), 1);
}

TEST_F(Quality, OfAGivenFileIsEvaluatedOn64OfItsSamples) {
  EXPECT_EQ(quantized("--data calibration.h5 --eval evaluation.h5").at("quality").at("samples"),
            64);
}

TEST_F(Quality, IsEvaluatedOnTheHoldoutThatWasNotCalibratedOn) {
  const Json result = quantized("--data calibration.h5 --holdout 40");
  EXPECT_EQ(result.at("quality").at("evaluated_on"), "held_out");
  EXPECT_EQ(result.at("quality").at("samples"), 40);
  EXPECT_EQ(result.at("samples"), 160);
  EXPECT_EQ(result.at("calibration").at("samples"), 160);
  const Json fewer = quantized("--data calibration.h5 --holdout 10 --samples 50");
  EXPECT_EQ(fewer.at("calibration").at("samples"), 40);
  EXPECT_EQ(run_in(folder_,
                   "tare quantize digits.onnx -o q.onnx --data calibration.h5 "
                   "--holdout 200")
                .status,
            2);
}

TEST_F(Quality, OfOneNetworkIsTheSameForAnyNumberOfThreads) {
  const auto sqnr = [&](const std::string& threads) {
    return quantized("--data calibration.h5 --threads " + threads).at("quality").at("sqnr");
  };
  EXPECT_EQ(sqnr("1"), sqnr("3"));
}

TEST_F(Quality, WithoutSamplesSaysHowToMeasureIt) {
  succeed("tare calibrate digits.onnx --data calibration.h5 -o s.h5");
  const std::string without = succeed("tare quantize digits.onnx --stats s.h5 -o q.onnx").out;
  EXPECT_NE(without.find("verdict     not measured; --eval FILE"), std::string::npos)
      << without;
  const std::string with = succeed(
                               "tare quantize digits.onnx --stats s.h5 -o q.onnx --eval "
                               "evaluation.h5 --report r.csv")
                               .out;
  EXPECT_NE(with.find("verdict     good. On 597 samples"), std::string::npos) << with;
  EXPECT_TRUE(fs::exists(folder_ / "r.csv"));
}

TEST_F(Quality, OfAReportSaysThatItsSamplesWereCalibratedOn) {
  succeed(
      "tare quantize digits.onnx --data calibration.h5 -o q.onnx --report r.json --report "
      "r.html");
  const Json report = Json::parse(bytes_of(folder_ / "r.json"));
  EXPECT_EQ(report.at("data").at("evaluated_on"), "calibration");
  EXPECT_EQ(
      report.at("verdict").at("text").get<std::string>().find("On 200 calibration samples "),
      0U);
  EXPECT_NE(bytes_of(folder_ / "r.html").find("\"evaluated_on\""), std::string::npos);
}

TEST_F(Quality, QuietPrintsNothing) {
  const Outcome outcome =
      succeed("tare quantize digits.onnx --data calibration.h5 -o q.onnx --quiet");
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "");
}

TEST_F(Quality, QuietKeepsWarnings) {
  const Outcome outcome =
      succeed("tare quantize digits.onnx --data calibration.h5 -o q.onnx --quiet --samples 10");
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("there are only 10"), std::string::npos) << outcome.err;
}

TEST_F(Quality, SaysThatAModelIsQuantizedAlready) {
  succeed("tare quantize digits.onnx --data calibration.h5 -o q.onnx");
  const Outcome again = succeed("tare quantize q.onnx --data calibration.h5 -o again.onnx");
  EXPECT_NE(again.err.find("is quantized already"), std::string::npos) << again.err;
  EXPECT_EQ(again.err.find("there are only"), std::string::npos) << again.err;
  EXPECT_NE(succeed("tare explain q.onnx").out.find("the model is quantized already: Add 4, "),
            std::string::npos);
}

/// Recurrent networks have nothing that the target runs on integers.
TEST_F(Quality, SaysFirstWhereNothingWasQuantized) {
  write_onnx(parse("graph \"g\" opset 17 (%x : f32[1,4]) -> (%y) {\n"
                   "a: %a = Sinh(%x) : f32[1,4]\n"
                   "b: %y = Cosh(%a) : f32[1,4]\n}"),
             folder_ / "floats.onnx");
  const std::vector<float> zeros(40 * 4, 0.5F);
  Hdf5Builder(folder_ / "floats.h5").dataset("x", H5T_NATIVE_FLOAT, {40, 4}, zeros.data());
  const std::string out = succeed("tare quantize floats.onnx --data floats.h5 -o q.onnx").out;
  EXPECT_EQ(out.find("floats.onnx -> q.onnx: nothing runs on integers; --set "
                     "objective=coverage"),
            0U)
      << out;
  EXPECT_NE(out.find("kept float  2"), std::string::npos) << out;
}

/// Exporters give operators the path of the code that made them.
TEST_F(Quality, IsReadableWithNamesOfAnyLength) {
  std::string body;
  std::string before = "x";
  for (int i = 0; i < 12; ++i) {
    const std::string name = "StatefulPartitionedCall/" + std::string(180, 'a') + "/conv" +
                             std::to_string(i) + "/" + std::string(60, 'b');
    const std::string value = "v" + std::to_string(i);
    body += "const %w" + std::to_string(i) + " : f32[4,4] = [" +
            (i % 2 == 0 ? "1, 0, 0, 2, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1"
                        : "0, 0, 0, 0, 1, 0, 0, 2, 0, 1, 0, 0, 0, 0, 0, 1") +
            "]\n\"" + name + "\": %\"" + name + "_out\" = MatMul(%" +
            (i == 0 ? before : "\"" + before + "\"") + ", %w" + std::to_string(i) +
            ") : f32[1,4]\n\"" + name + "_s\": %\"" + name + value + "\" = Sinh(%\"" + name +
            "_out\") : f32[1,4]\n";
    before = name + value;
  }
  write_onnx(
      parse("graph \"g\" opset 17 (%x : f32[1,4]) -> (%\"" + before + "\") {\n" + body + "}"),
      folder_ / "long.onnx");
  std::vector<float> samples(40 * 4);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i] = static_cast<float>(i % 7) / 70 - 0.04F;
  }
  Hdf5Builder(folder_ / "long.h5").dataset("x", H5T_NATIVE_FLOAT, {40, 4}, samples.data());
  for (const std::string command :
       {"tare quantize long.onnx --data long.h5 -o q.onnx --set objective=coverage",
        "tare explain long.onnx", "tare explain q.onnx",
        "tare compare long.onnx q.onnx --data long.h5 --json a.json",
        "tare compare long.onnx q.onnx --data long.h5 --fail-if 'min(layers.local.sqnr)<300' "
        "|| "
        "true",
        "tare search long.onnx --data long.h5 -o s.onnx --require "
        "'min(layers.local.sqnr)>=300' --set objective=coverage || true",
        "tare accumulators q.onnx",
        "tare quantize long.onnx --data long.h5 -o r.onnx --set weights.bits=2 --set "
        "weights.symmetric=true --set weights.calibrator=max --set objective=coverage "
        "--report b.json > r.txt; "
        "tare diff a.json b.json"}) {
    const Outcome outcome = succeed(command);
    for (const std::string& line : lines_of(outcome.out + outcome.err)) {
      // Lines of configuration have to have names as they are.
      if (line.find("{match:") == std::string::npos) {
        EXPECT_LE(line.size(), 100U) << command;
      }
    }
    EXPECT_NE((outcome.out + outcome.err).find("..."), std::string::npos) << command;
  }
}

TEST_F(Quality, FitsAScreenOf24Rows) {
  for (const TestModel& model : test_models()) {
    const Outcome outcome =
        succeed("tare quantize " + model.model.string() + " --data " +
                model.calibration.string() + " -o q.onnx --effort fast --samples 16");
    const std::vector<std::string> lines = lines_of(outcome.err + outcome.out);
    EXPECT_LE(lines.size(), 24U) << outcome.err << outcome.out;
    for (const std::string& line : lines) {
      const bool has_paths = line.find(" -> ") != std::string::npos;
      EXPECT_TRUE(has_paths || line.size() <= 100) << line;
    }
  }
}

}  // namespace
}  // namespace tare::test
