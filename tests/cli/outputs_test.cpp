
#include "tare/graph.h"
#include "tare/model_files.h"

#include "cli/in_program_folder.h"
#include "support/files/hdf5_builder.h"

#include <algorithm>
#include <string>
#include <vector>

namespace tare::test {
namespace {

using Program = InProgramFolder;

TEST_F(Program, WritesTheResultOfEverySampleInOrder) {
  succeed("tare run digits.onnx --data evaluation.h5 -o all.h5");
  const StoredNumbers logits = stored_numbers(folder_ / "all.h5", "logits");
  const StoredNumbers labels = stored_numbers(folder_ / "evaluation.h5", "labels");
  ASSERT_EQ(logits.extents, (Extents{597, 10}));
  std::size_t hits = 0;
  for (std::size_t sample = 0; sample < 597; ++sample) {
    const auto row = logits.values.begin() + static_cast<std::ptrdiff_t>(sample * 10);
    hits += std::max_element(row, row + 10) - row == static_cast<int>(labels.values[sample]);
  }
  EXPECT_EQ(hits, 595U);  // data/README.md

  succeed("tare run digits.onnx --data evaluation.h5 -o some.h5 --samples 7");
  const StoredNumbers some = stored_numbers(folder_ / "some.h5", "logits");
  EXPECT_EQ(some.extents, (Extents{7, 10}));
  EXPECT_EQ(some.values,
            std::vector<double>(logits.values.begin(), logits.values.begin() + 70));
}

TEST_F(Program, WritesTheSameBytesWithAnyNumberOfThreads) {
  succeed("tare run digits.onnx --data evaluation.h5 -o 1.h5 --threads 1");
  succeed("tare quantize digits.onnx --data calibration.h5 -o 1.onnx --threads 1");
  for (const std::string threads : {"1", "2", "3"}) {
    succeed("tare run digits.onnx --data evaluation.h5 -o n.h5 --threads " + threads);
    EXPECT_EQ(bytes("n.h5"), bytes("1.h5")) << threads;
    succeed("tare quantize digits.onnx --data calibration.h5 -o n.onnx --threads " + threads);
    EXPECT_EQ(bytes("n.onnx"), bytes("1.onnx")) << threads;
  }
}

TEST_F(Program, FindsWhatQuantizeMakesWithThePrintedConfiguration) {
  succeed(
      "tare search digits.onnx --data calibration.h5 --samples 60 -o found.onnx "
      "--require 'output.sqnr>=45' | sed -n '/^calibration/,$p' > found.yaml");
  EXPECT_NE(bytes("found.yaml").find("keep_float"), std::string::npos);
  succeed("tare quantize digits.onnx --data calibration.h5 --config found.yaml -o again.onnx");
  EXPECT_EQ(bytes("again.onnx"), bytes("found.onnx"));
}

TEST_F(Program, FindsTheSameWithAnyNumberOfThreads) {
  const std::string search =
      "tare search digits.onnx --data calibration.h5 --samples 60 --require 'output.sqnr>=40' ";
  succeed(search + "-o 1.onnx --json --threads 1 | sed 's/1.onnx//' > 1.json");
  for (const std::string threads : {"2", "3"}) {
    succeed(search + "-o n.onnx --json --threads " + threads + " | sed 's/n.onnx//' > n.json");
    EXPECT_EQ(bytes("n.onnx"), bytes("1.onnx")) << threads;
    EXPECT_EQ(bytes("n.json"), bytes("1.json")) << threads;
  }
}

TEST_F(Program, WritesTablesAsIntegersWhereTheFileIsToBeSmall) {
  std::string numbers = "0.5";
  for (int i = 1; i < 512 * 8; ++i) {
    numbers += ", " + std::to_string(i % 17 - 8);
  }
  write_onnx(parse("graph \"g\" opset 17 (%x : i64[1,4]) -> (%y) {\nconst %w : f32[512,8] = [" +
                   numbers +
                   "]\nrows: %r = Gather(%w, %x) : f32[1,4,8]\n"
                   "sinh: %y = Sinh(%r) : f32[1,4,8]\n}"),
             folder_ / "lookup.onnx");
  for (const std::string objective : {"latency", "size"}) {
    succeed("tare quantize lookup.onnx --data tokens.h5 -o " + objective +
            ".onnx --set objective=" + objective);
  }
  EXPECT_GT(bytes("latency.onnx").size(), 512U * 8 * 4);
  EXPECT_LT(bytes("size.onnx").size(), 512U * 8 * 1.5);
}

TEST_F(Program, LeavesItsInputsAsTheyWere) {
  const std::string model = bytes("digits.onnx");
  const std::string samples = bytes("calibration.h5");
  succeed("tare quantize digits.onnx --data calibration.h5 -o out.onnx");
  EXPECT_EQ(bytes("digits.onnx"), model);
  EXPECT_EQ(bytes("calibration.h5"), samples);
}

TEST_F(Program, ReplacesAnOlderOutput) {
  succeed(
      "echo older > out.h5; tare run digits.onnx --data evaluation.h5 -o out.h5 --samples 2");
  EXPECT_EQ(stored_numbers(folder_ / "out.h5", "logits").extents, (Extents{2, 10}));
}

}  // namespace
}  // namespace tare::test
