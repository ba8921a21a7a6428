// Plug-ins that are wrong, each in the way that TARE_BAD_<WAY> names.
#include <limits>
#include <stdexcept>

#include <tare/calibrator.h>
#include <tare/simulate.h>

#if defined(TARE_BAD_VERSION)

extern "C" {
extern const int tare_plugin_abi;
const int tare_plugin_abi = TARE_PLUGIN_ABI + 1;
void tare_plugin(tare::PluginParts& parts);
}
// It would crash: another version may have another table of functions.
void tare_plugin(tare::PluginParts&) {
  throw std::logic_error("called although the version is wrong");
}

#elif defined(TARE_BAD_SYMBOL)

extern "C" {
extern const int tare_plugin_abi;
const int tare_plugin_abi = TARE_PLUGIN_ABI;
}

#elif defined(TARE_BAD_ENTRY)

TARE_PLUGIN_ENTRY(parts) {
  (void)parts;
  throw std::runtime_error("no licence found");
}

#elif defined(TARE_BAD_NOTHING)

TARE_PLUGIN_ENTRY(parts) {
  (void)parts;
}

#elif defined(TARE_BAD_PATTERN)

TARE_PATTERN(thrower) {
  using namespace tare;
  const AffineForm form = [](AffineBuilder&, const Match&) -> ValueId {
    throw std::out_of_range("no such kernel");
  };
  return {.name = "thrower",
          .summary = "throws",
          .benefit = 1000,
          .pattern = [] { return op("Conv"); },
          .simulate = form,
          .quantize = form};
}

#elif defined(TARE_BAD_LOOP)

TARE_RULE(restless) {
  using namespace tare;
  return {
      .name = "restless",
      .summary = "swaps the operands of an Add for ever",
      .pattern = [] { return op("Add").with(any().as("a"), any().as("b")); },
      .rewrite = [](const Graph& graph, const Match& match) -> std::variant<Patch, Refusal> {
        Patch patch(graph);
        patch.replace_node(graph.node(match.root()), "Add",
                           {match.value("b"), match.value("a")});
        return patch;
      }};
}

#elif defined(TARE_BAD_CALIBRATOR)

namespace {

class NoNumber final : public tare::Calibrator {
 public:
  tare::Range choose(const tare::TensorStatistics& observed,
                     const tare::QuantSpec&) const override {
    return {std::numeric_limits<double>::quiet_NaN(), observed.high()};
  }
};

}  // namespace

TARE_CALIBRATOR(no_number) {
  return {.name = "no_number",
          .summary = "answers NaN",
          .options = {},
          .make = [](const tare::CalibratorOptions&) { return std::make_unique<NoNumber>(); }};
}

#endif
