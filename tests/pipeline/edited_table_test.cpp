
#include "tare/config.h"
#include "tare/quant_table.h"
#include "tare/quantize.h"
#include "tare/simulate.h"
#include "tare/statistics.h"

#include "base/hash.h"
#include "lower/forms/forms.h"
#include "lower/lower.h"
#include "support/files/damaged.h"
#include "support/files/files.h"
#include "support/files/folder.h"
#include "support/graphs.h"
#include "support/simulated.h"

#include <random>
#include <regex>

namespace tare::test {
namespace {

/// y = Conv(x, w, b) on two channels, with round numbers for parameters.
struct OneConvolution {
  SimulatedGraph simulated;
  QuantTable table;

  OneConvolution() {
    Graph graph;
    const Shape shape{1, 2, 4, 4};
    const ValueId x = graph.add_input("x", f32(shape));
    const ValueId w =
        graph.add_constant("w", Tensor::of<float>({2, 2, 1, 1}, {1, -1, 0.5F, 2}));
    const ValueId b = graph.add_constant("b", Tensor::of<float>({2}, {3, -4}));
    graph.set_outputs({add(graph, "Conv", {x, w, b}, shape)});
    simulated = simulated_with(graph);
    for (const QuantPoint& point : simulated.points) {
      PointResult& result = table[point.name];
      if (point.role == Role::kAccumulator) {
        result.bias_correction = {0.5F, -1};
        continue;
      }
      result.calibrator = "max";
      result.elements = 32;
      if (point.role == Role::kActivation) {
        result.params.storage = DType::kUint8;
        result.params.scale = {0.25F};
        result.params.zero_point = {8};
        result.observed = {{-1, 3.5}};
        result.calibrated = {{-1.5, 3.5}};
        result.clipped = Clipped{0, 0.125};
      } else {
        result.params.scale = {0.5F, 0.125F};
        result.params.zero_point = {0, 0};
        result.params.axis = 0;
        result.params.narrow_range = true;
        result.observed = result.calibrated = {{-1, 1}, {0.5, 2}};
        result.widened_channels = {0};
      }
    }
  }
};

using Replacements = std::vector<std::pair<std::string, std::string>>;

class EditedTable : public InFolder {
 protected:
  /// The file with the first of each text replaced, one after another.
  std::string edited(const Replacements& replacements = {}) const {
    QuantizeResult result;
    result.simulated = conv_.simulated;
    result.table = conv_.table;
    result.audit = {.samples = 5, .data = 10, .warnings = {}};
    write_table(path("t.yaml"), result);
    std::string text = bytes_of(path("t.yaml"));
    for (const auto& [from, to] : replacements) {
      const std::size_t at = text.find(from);
      EXPECT_NE(at, std::string::npos) << from << " is not in\n" << text;
      text.replace(at, from.size(), to);
    }
    return text;
  }
  QuantTable table_of(const std::string& text) const {
    write_bytes(path("t.yaml"), text);
    return TableFile(path("t.yaml")).table(conv_.simulated);
  }
  QuantTable edited_table(const Replacements& replacements) const {
    return table_of(edited(replacements));
  }
  std::string faults_of(const std::string& text) const {
    return message_of([&] { (void)table_of(text); }, ErrorCode::kInvalidConfig);
  }
  std::string faults_of(const Replacements& replacements) const {
    return faults_of(edited(replacements));
  }

  const OneConvolution conv_;
};

TEST_F(EditedTable, HasAnEntryForEachPointInTheOrderOfTheGraph) {
  const std::string text = edited();
  EXPECT_EQ(text.substr(text.find("samples:")),
            R"(samples: 5
inputs:
  "x": [2, 4, 4]
points:

  - name: "x"
    role: activation
    enabled: true
    storage: uint8
    scale: 0.25
    zero_point: 8
    calibrator: "max"
    elements: 32
    observed: [-1, 3.5]
    calibrated: [-1.5, 3.5]
    clipped: [0, 0.125]

  - name: "w"
    role: weight
    enabled: true
    storage: int8
    narrow: true
    axis: 0
    scale: [0.5, 0.125]
    zero_point: 0
    calibrator: "max"
    elements: 32
    observed: [[-1, 1], [0.5, 2]]
    calibrated: [[-1, 1], [0.5, 2]]
    widened_channels: [0]

  - name: "x*w"
    role: accumulator
    enabled: true
    bias_correction: [0.5, -1]

  - name: "Conv"
    role: activation
    enabled: true
    storage: uint8
    scale: 0.25
    zero_point: 8
    calibrator: "max"
    elements: 32
    observed: [-1, 3.5]
    calibrated: [-1.5, 3.5]
    clipped: [0, 0.125]
)");
}

TEST_F(EditedTable, GivesAccumulatorsTheProductOfItsScales) {
  const QuantTable table = edited_table({{"scale: 0.25", "scale: 0.375"}});
  EXPECT_EQ(table.at("x").params.scale, (std::vector<float>{0.375F}));
  EXPECT_EQ(table.at("x*w").params.scale, (std::vector<float>{0.1875F, 0.046875F}));
  EXPECT_EQ(table.at("x*w").bias_correction, (std::vector<float>{0.5F, -1}));
}

TEST_F(EditedTable, WidensTheScaleForABiasThatAnEditedOneWouldThrowOutOfInt32) {
  const QuantTable table = edited_table({{"scale: 0.25", "scale: 1e-9"}});
  // Corrected biases are 3.5 and -5; 3.5 / 1e-9 / 0.5 is beyond 2^31, and so is the other.
  EXPECT_EQ(table.at("w").widened_channels, (std::vector<int>{0, 0, 1}));
  const QuantParams& params = table.at("x*w").params;
  EXPECT_LE(3.5 / params.scale[0], 0x1p31 - 1);
  EXPECT_LE(5 / params.scale[1], 0x1p31 - 1);
}

TEST_F(EditedTable, LetsOneNumberStandForAllChannels) {
  const QuantTable table = edited_table(
      {{"scale: [0.5, 0.125]", "scale: 2"}, {"zero_point: 0", "zero_point: [0, 0]"}});
  EXPECT_EQ(table.at("w").params.scale, (std::vector<float>{2, 2}));
}

TEST_F(EditedTable, IsReadInAnyOrderAndWithoutWhatIsForPeople) {
  const std::string digest = hexadecimal(model_digest(conv_.simulated.source));
  const QuantTable table = table_of(
      "points:\n"
      "- {name: Conv, role: activation, storage: int8, scale: 1, zero_point: -3}\n"
      "- {role: accumulator, name: x*w, enabled: false}\n"
      "- {name: x, role: activation, storage: uint8, scale: 2, zero_point: 0}\n"
      "- {name: w, role: weight, storage: int8, scale: [1, 2], zero_point: 0, axis: 0}\n"
      "target: ort-cpu\n"
      "version: 1\n"
      "model: " +
      digest + "\n");
  EXPECT_EQ(table.at("Conv").params.zero_point, (std::vector<std::int32_t>{-3}));
  EXPECT_FALSE(table.at("x*w").enabled);
  EXPECT_TRUE(table.at("x").enabled);
}

TEST_F(EditedTable, TakesTheEarlierNamesOfRangesAndWarnsOfEachOnce) {
  std::string text = edited();
  for (const auto& [now, earlier] :
       {std::pair("observed:", "seen:"), std::pair("calibrated:", "chosen:")}) {
    text = std::regex_replace(text, std::regex(now), earlier);
  }
  write_bytes(path("t.yaml"), text);
  CalibrationAudit audit;
  const QuantTable table = TableFile(path("t.yaml")).table(conv_.simulated, &audit);
  ASSERT_EQ(audit.warnings.size(), 2U);
  EXPECT_EQ(audit.warnings[0].kind, "earlier_name");
  EXPECT_EQ(audit.warnings[0].where, path("t.yaml").string() + ":20:11");
  EXPECT_EQ(audit.warnings[0].what, "'seen' is called 'observed' now");
  EXPECT_EQ(audit.warnings[1].what, "'chosen' is called 'calibrated' now");
  EXPECT_EQ(table, edited_table({}));
}

TEST_F(EditedTable, WithANameOfTodayGivesNoWarning) {
  write_bytes(path("t.yaml"), edited());
  CalibrationAudit audit;
  (void)TableFile(path("t.yaml")).table(conv_.simulated, &audit);
  EXPECT_TRUE(audit.warnings.empty());
}

TEST_F(EditedTable, RefusesAnEarlierNameBesideThatOfToday) {
  const std::string fault = faults_of({{"    clipped:", "    seen: [-1, 1]\n    clipped:"}});
  EXPECT_NE(fault.find("unknown key 'seen'"), std::string::npos) << fault;
}

TEST_F(EditedTable, TakesFewerBitsForWeightsOnly) {
  EXPECT_EQ(
      edited_table({{"storage: int8\n    narrow", "storage: int8\n    bits: 4\n    narrow"}})
          .at("w")
          .params.bits,
      4);
  EXPECT_EQ(faults_of({{"storage: uint8", "storage: uint8\n    bits: 4"}}),
            "t.yaml:16:11: 'bits' is given for what is no weight");
}

TEST_F(EditedTable, TakesSixteenBitsForActivationsWhereTheTargetHasThem) {
  const QuantTable table = edited_table(
      {{"storage: uint8", "storage: uint16"}, {"zero_point: 8", "zero_point: 256"}});
  EXPECT_EQ(table.at("x").params.storage, DType::kUint16);
  EXPECT_EQ(table.at("x").params.zero_point, std::vector<std::int32_t>{256});
  EXPECT_EQ(faults_of({{"storage: int8", "storage: int16"}}),
            "t.yaml:27:14: 'storage' of 'w' is of 16 bits, which weights do not have, expected "
            "int8 or uint8");
  SimulatedGraph elsewhere = conv_.simulated;
  elsewhere.target.wide_activations.clear();
  write_bytes(path("t.yaml"), edited({{"storage: uint8", "storage: uint16"}}));
  EXPECT_EQ(message_of([&] { (void)TableFile(path("t.yaml")).table(elsewhere); },
                       ErrorCode::kInvalidConfig),
            "t.yaml:15:14: 'storage' of 'x' is of 16 bits, which activations for 'ort-cpu' do "
            "not have, expected int8 or uint8");
}

TEST_F(EditedTable, WithFaultsSaysAllOfThem) {
  EXPECT_EQ(faults_of({{"version: 1", "version: 2"},
                       {"target: \"ort-cpu\"", "target: \"other\""},
                       {"data: \"a\"", "data: \"xyz\""},
                       {"samples: 5", "samples: -5"},
                       {"[2, 4, 4]", "[2, 0, 4.5]"},
                       {"scale: 0.25", "scale: 0"},
                       {"zero_point: 8", "zero_point: 256"},
                       {"enabled: true", "enabled: maybe"},
                       {"calibrator: \"max\"", "calibratr: \"max\""},
                       {"observed: [-1, 3.5]", "observed: [3.5, -1]"},
                       {"clipped: [0, 0.125]", "clipped: [0, 1.125]"},
                       {"storage: int8", "storage: int4"},
                       {"scale: [0.5, 0.125]", "scale: [0.5, nan]"},
                       {"widened_channels: [0]", "widened_channels: [-1]"},
                       {"bias_correction: [0.5, -1]", "bias_correction: [0.5, 1e99]"}}),
            "t.yaml:2:10: 'version' is '2', expected 1\n"
            "t.yaml:4:9: 'target' is 'other', expected 'ort-cpu', as the configuration says\n"
            "t.yaml:6:7: 'data' is 'xyz', expected a hexadecimal number\n"
            "t.yaml:7:10: 'samples' is '-5', expected an integer of at least 0\n"
            "t.yaml:9:12: an entry of 'x' is '0', expected an integer of at least 1\n"
            "t.yaml:9:15: an entry of 'x' is '4.5', expected an integer of at least 1\n"
            "t.yaml:14:14: 'enabled' is 'maybe', expected true or false\n"
            "t.yaml:16:12: 'scale' is '0', expected a number above 0\n"
            "t.yaml:17:17: 'zero_point' is '256', expected an integer in [0,255]\n"
            "t.yaml:20:16: an entry of 'observed' is '3.5', expected two numbers, [LOW, HIGH]\n"
            "t.yaml:20:21: an entry of 'observed' is '-1', expected two numbers, [LOW, HIGH]\n"
            "t.yaml:22:14: 'clipped' is a list, expected two numbers in [0,1]\n"
            "t.yaml:18:5: unknown key 'calibratr', expected name, role, enabled, storage, "
            "narrow, bits, axis, block, scale, zero_point, calibrator, elements, observed, "
            "calibrated, "
            "clipped, widened_channels or rounding\n"
            "  hint: did you mean 'calibrator'?\n"
            "t.yaml:27:14: 'storage' is 'int4', expected int8, uint8, int16 or uint16\n"
            "  hint: did you mean 'int8'?\n"
            "t.yaml:30:18: an entry of 'scale' is 'nan', expected a number above 0\n"
            "t.yaml:36:24: an entry of 'widened_channels' is '-1', expected an integer in "
            "[0,2147483647]\n"
            "t.yaml:41:28: an entry of 'bias_correction' is '1e99', expected a number");
}

TEST_F(EditedTable, ThatHasOtherPointsThanTheModelSaysWhich) {
  EXPECT_EQ(faults_of({{"name: \"Conv\"", "name: \"Con\""}}),
            "t.yaml:43:11: the model as configured has no point 'Con'\n"
            "  hint: did you mean 'Conv'?\n"
            "t.yaml:12:3: point 'Conv' is missing");
  EXPECT_EQ(faults_of({{"name: \"w\"", "name: \"x\""}}),
            "t.yaml:24:11: point 'x' is there twice\n"
            "t.yaml:12:3: point 'w' is missing");
  EXPECT_EQ(
      faults_of({{"role: weight", "role: activation"},
                 {"enabled: true\n    bias_correction", "scale: 1\n    bias_correction"}}),
      "t.yaml:25:11: point 'w' has another role, expected weight\n"
      "t.yaml:40:5: unknown key 'scale', expected name, role, enabled or bias_correction");
}

TEST_F(EditedTable, WithParametersOfOtherShapesSaysWhere) {
  EXPECT_EQ(faults_of({{"axis: 0", "axis: 1"}}), "t.yaml:29:11: 'axis' is 1, expected 0");
  EXPECT_EQ(faults_of({{"    axis: 0\n", ""}}), "t.yaml:24:5: 'axis' is missing, expected 0");
  EXPECT_EQ(faults_of({{"scale: 0.25", "axis: 0\n    scale: 0.25"}}),
            "t.yaml:16:11: 'axis' is 0, expected no 'axis': one scale is configured");
  EXPECT_EQ(faults_of({{"scale: 0.25", "scale: [0.25, 0.5]"},
                       {"scale: [0.5, 0.125]", "scale: [0.5, 0.125, 1]"},
                       {"bias_correction: [0.5, -1]", "bias_correction: [0.5]"}}),
            "t.yaml:16:12: 'scale' holds 2 numbers, expected 1\n"
            "t.yaml:30:12: 'scale' holds 3 numbers, expected 2\n"
            "t.yaml:41:22: 'bias_correction' holds 1 number, expected 2");
  EXPECT_EQ(faults_of({{"scale: 0.25", "scale: 1e30"}, {"[0.5, 0.125]", "[1e30, 1]"}}),
            "t.yaml:38:5: no float32 is the product of the scales of 'x' and 'w'");
}

TEST_F(EditedTable, OfAnotherModelSaysThatAndNothingOfItsPoints) {
  const std::string digest = hexadecimal(model_digest(conv_.simulated.source));
  EXPECT_EQ(faults_of({{"model: \"", "model: \"1"}, {"name: \"x\"", "name: \"other\""}}),
            "t.yaml:5:8: 'model' is '1" + digest + "', expected '" + digest +
                "', as tables belong to one model");
}

TEST_F(EditedTable, ThatLacksItsHeaderSaysSo) {
  EXPECT_EQ(faults_of(std::string()), "t.yaml: the document is empty, expected a map of keys");
  EXPECT_EQ(faults_of(std::string("just words\n")),
            "t.yaml:1:1: the document is 'just words', expected a map of keys");
  EXPECT_EQ(faults_of(std::string("points: []\n")),
            "t.yaml:1:1: 'version' is missing\n"
            "t.yaml:1:1: 'target' is missing\n"
            "t.yaml:1:1: 'model' is missing");
}

TEST_F(EditedTable, WithChangedCharactersIsReadOrAnError) {
  const std::string good = edited();
  const std::string characters = "{}[]:,&*!|>'\"%@`#-? \n\t0a\xff\x01";
  for (unsigned seed = 0; seed < 600; ++seed) {
    std::mt19937 random(seed);
    std::string bytes = good;
    for (unsigned i = 0; i < 1 + seed % 4; ++i) {
      bytes[random() % bytes.size()] = characters[random() % characters.size()];
    }
    write_bytes(path("t.yaml"),
                seed % 10 == 0 ? bytes.substr(0, random() % bytes.size()) : bytes);
    (void)is_read([&] {
      const TableFile file(path("t.yaml"));
      (void)file.inputs();
      const QuantTable table = file.table(conv_.simulated);
      (void)to_qdq(lower(conv_.simulated, table));
      (void)tare::bind(conv_.simulated, table);
    });
  }
}

}  // namespace
}  // namespace tare::test
