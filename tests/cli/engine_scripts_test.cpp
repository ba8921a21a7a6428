// The programs that come with Tare and run models in engines (docs/engines.md).
#include "cli/in_program_folder.h"

namespace tare::test {
namespace {

class EngineScripts : public InProgramFolder {};

TEST_F(EngineScripts, ThatAreMissingAreNamedWithWhatRunsThem) {
  succeed("cp \"$(command -v tare)\" alone");
  const auto hint = [&](const std::string& engine) {
    const Outcome outcome = run("./alone measure digits.onnx digits.onnx --engine " + engine);
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    return outcome.err;
  };
  EXPECT_NE(hint("onnxruntime").find("'python3 FOLDER/onnxruntime_engine.py'"),
            std::string::npos);
  EXPECT_NE(hint("onnxruntime-node").find("'node FOLDER/onnxruntime_node_engine.cjs'"),
            std::string::npos);
}

}  // namespace
}  // namespace tare::test
