// Random networks of the fuzzer in a real ONNX Runtime: with inner graphs, recurrent layers,
// state that flows back, and samples of several shapes. TARE_NETWORKS in the environment asks
// for more of them, TARE_NETWORK is the number of the only one to try.
#include "tare/config.h"
#include "tare/execute.h"
#include "tare/integer_graph.h"
#include "tare/model_files.h"
#include "tare/quantize.h"

#include "fuzz/envelope.h"
#include "fuzz/network.h"
#include "onnxruntime_cases.h"
#include "support/config.h"
#include "support/other_shapes.h"
#include "support/run.h"
#include "with_onnxruntime.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

namespace fs = std::filesystem;

std::optional<int> environment(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::nullopt : std::optional(std::atoi(text));
}

/// What networks of successive numbers are quantized with.
Config config_of(int number) {
  static const std::vector<std::vector<std::string>> all{
      {},
      {"activations.storage=int8", "activations.symmetric=true"},
      {"weights.bits=4"},
      {"weights.bits=6", "weights.symmetric=false"},
      {"activations.storage=int16"},
      {"weights.granularity=per_tensor", "calibration.schedule=independent"}};
  std::vector<std::string> settings = all[static_cast<std::size_t>(number) % all.size()];
  settings.emplace_back("objective=coverage");  // else little is quantized in small networks
  settings.emplace_back("accuracy.effort=fast");
  return config_with(settings);
}

fuzz::Network network_of(int number) {
  std::mt19937 random(static_cast<unsigned>(number));
  std::vector<std::byte> bytes(600);
  std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::byte>(random()); });
  fuzz::Choices choices(bytes);
  fuzz::NetworkKind kind = fuzz::kind_of(number % 16);
  kind.is_tame = true;
  return fuzz::any_network(choices, kind);
}

/// The inputs of each run, without those that are state but for the first run.
std::vector<Tensors> runs_of(const fuzz::Network& network) {
  std::vector<Tensors> runs(network.samples.begin()->second.size());
  for (const auto& [name, samples] : network.samples) {
    for (std::size_t i = 0; i < samples.size(); ++i) {
      runs[i].emplace(name, samples[i]);
    }
  }
  for (const auto& [input, output] : network.state) {
    const TensorType& type = network.graph.type(*network.graph.find_value(input));
    runs[0].emplace(input, Tensor(type.dtype, type.shape));
  }
  return runs;
}

std::vector<Tensor> in_order(const Graph& graph, const Tensors& inputs) {
  std::vector<Tensor> result;
  for (const ValueId id : graph.inputs()) {
    result.push_back(inputs.at(graph.name(id)));
  }
  return result;
}

float largest_of(const Tensor& tensor) {
  float largest = 0;
  for (const float value : tensor.to_float()) {
    largest = std::max(largest, std::abs(value));
  }
  return largest;
}

/// The largest number on the way to the results.
float largest_in(const Graph& graph, const std::vector<Tensor>& inputs) {
  float largest = 0;
  for (const auto& [name, tensor] : values_of(for_shapes_of(graph, inputs), inputs)) {
    if (tensor.dtype() == DType::kFloat32) {
      largest = std::max(largest, largest_of(tensor));
    }
  }
  return largest;
}

std::string difference(const Tensor& ours, const Tensor& theirs, float bound) {
  if (ours.shape() != theirs.shape()) {
    return "shape " + to_string(ours.shape()) + ", theirs " + to_string(theirs.shape());
  }
  const auto a = ours.to_float();
  const auto b = theirs.to_float();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(std::abs(a[i] - b[i]) <= bound)) {
      return "element " + std::to_string(i) + " is " + std::to_string(a[i]) + ", theirs " +
             std::to_string(b[i]) + ", bound " + std::to_string(bound);
    }
  }
  return {};
}

/// One network, in the files that ONNX Runtime is to run.
class Trial {
 public:
  Trial(int number, const fs::path& folder)
      : network_(network_of(number)),
        data_(samples_of(network_)),
        path_(folder / std::to_string(number)) {
    verify(network_.graph);
    write_onnx(network_.graph, file("float"));
    graph_ = load_model(file("float"), {}, data_.get());
    write_onnx(graph_, file("again"));
    fuzz::leave_out_others(network_, graph_);
    runs_ = runs_of(network_);
    quantize_network(number);
  }

  /// How many numbers of quantized networks were compared, and with how many of them only what
  /// is between a hundredth of the largest around them would have passed.
  static std::size_t compared;
  static std::size_t bounded;

  static constexpr std::size_t kCases = 4;

  const Graph& drawn() const { return network_.graph; }
  bool is_left_open() const { return leaves_extents_open(graph_); }

  std::vector<OnnxRuntimeCase> cases() const {
    return {{file("float"), runs_, network_.state},
            {file("again"), runs_, network_.state},
            {file("quantized"), runs_, network_.state},
            {file("quantized"), runs_, network_.state, false}};
  }

  /// What is wrong with what ONNX Runtime says of cases().
  std::string fault(std::span<const OnnxRuntimeOutputs> theirs) const {
    const std::string of_floats = float_fault(theirs.first(2));
    if (!of_floats.empty()) {
      return of_floats;
    }
    // Where ONNX Runtime merges roundings, it computes something else than the file says.
    const std::string merged = quantized_fault(theirs[2], fuzz::Difference::kMerged);
    return merged.empty() ? quantized_fault(theirs[3], fuzz::Difference::kTies)
                          : "roundings merged, " + merged;
  }

 private:
  void quantize_network(int number) {
    std::unique_ptr<Dataset> data = samples_of(network_);
    Config config = config_of(number / 16);
    if (!network_.state.empty()) {
      config.state = network_.state;
      data = with_states(graph_, std::move(data), config, 1);
    }
    quantized_ = quantize(graph_, *data, config, Toolkit::builtin(), {.threads = 1});
    bound_ = tare::bind(quantized_.simulated, quantized_.table);
    const auto form = static_cast<Form>(number / 16 % 3);
    write_onnx(export_form(quantized_.integer, form, quantized_.simulated.target),
               file("quantized"));
  }

  /// Whether their numbers are those that rounding allows, where the states are theirs, too.
  std::string quantized_fault(const OnnxRuntimeOutputs& theirs,
                              fuzz::Difference difference) const {
    if (!theirs.error.empty()) {
      return "quantized: " + theirs.error;
    }
    const Executable executable(quantized_.integer);
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      Tensors inputs = runs_[run];
      for (const auto& [input, output] : network_.state) {
        if (run > 0) {
          inputs.insert_or_assign(input, theirs.samples[run - 1].at(output));
        }
      }
      const std::vector<Tensor> operands = in_order(bound_, inputs);
      const auto bounds = fuzz::envelopes(for_shapes_of(bound_, operands), quantized_.table,
                                          quantized_.simulated.arithmetic.usual.requantize,
                                          difference, operands);
      const std::vector<Tensor> ours = executable.run(operands);
      for (std::size_t i = 0; i < ours.size(); ++i) {
        const std::string& name = graph_.name(graph_.outputs()[i]);
        const Tensor& other = theirs.samples[run].at(name);
        if (difference == fuzz::Difference::kTies) {
          count(bounds[i]);
        }
        std::string what = "shape " + to_string(other.shape());
        if (other.shape() == ours[i].shape()) {
          what = first_outside(bounds[i], other);
        }
        if (!what.empty()) {
          return "quantized, run " + std::to_string(run) + ", output '" + name + "': " + what +
                 ", ours " + std::to_string(ours[i].to_float()[0]);
        }
      }
    }
    return {};
  }

  static void count(const fuzz::Envelope& e) {
    const auto low = e.low.view<float>();
    const auto high = e.high.view<float>();
    const float largest = std::max(largest_of(e.low), largest_of(e.high));
    for (std::size_t k = 0; k < low.size(); ++k) {
      ++compared;
      bounded += high[k] - low[k] <= 0.05F * largest && largest < 1e30F ? 1 : 0;
    }
  }

  std::string float_fault(std::span<const OnnxRuntimeOutputs> theirs) const {
    const Executable executable(graph_);
    Tensors state;
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      Tensors inputs = runs_[run];
      for (const auto& [input, output] : network_.state) {
        inputs.insert_or_assign(input, run == 0 ? inputs.at(input) : state.at(output));
      }
      const std::vector<Tensor> operands = in_order(graph_, inputs);
      const std::vector<Tensor> ours = executable.run(operands);
      state.clear();
      for (std::size_t i = 0; i < ours.size(); ++i) {
        state.emplace(graph_.name(graph_.outputs()[i]), ours[i]);
      }
      // Each sum of a few dozen terms is off by some 2^-24 of the largest of them, and a dozen
      // layers hand that on.
      const float bound = 1e-5F * (1 + largest_in(graph_, operands));
      for (const OnnxRuntimeOutputs& other : theirs) {
        const std::string which = &other == &theirs[0] ? "as drawn" : "as written back";
        if (!other.error.empty()) {
          return which + ": " + other.error;
        }
        for (const auto& [name, tensor] : state) {
          const auto found = other.samples[run].find(name);
          const std::string apart = found == other.samples[run].end()
                                        ? "is missing"
                                        : difference(tensor, found->second, bound);
          if (!apart.empty()) {
            return which + ", run " + std::to_string(run) + ", output '" + name + "': " + apart;
          }
        }
      }
    }
    return {};
  }

  fs::path file(const char* which) const { return path_.string() + "." + which + ".onnx"; }

  fuzz::Network network_;
  std::unique_ptr<Dataset> data_;
  fs::path path_;
  Graph graph_;
  std::vector<Tensors> runs_;
  QuantizeResult quantized_;
  Graph bound_;
};

std::size_t Trial::compared = 0;
std::size_t Trial::bounded = 0;

class RandomNetworks : public WithOnnxRuntime {};

TEST_F(RandomNetworks, GiveWhatOnnxRuntimeGives) {
  const std::optional<int> only = environment("TARE_NETWORK");
  const int first = only.value_or(0);
  const int end = only ? *only + 1 : environment("TARE_NETWORKS").value_or(240);
  constexpr int kAtOnce = 40;
  int wrong = 0;
  const auto report = [&](int number, const std::string& what, const Trial* trial) {
    if (++wrong <= 20) {
      ADD_FAILURE() << "TARE_NETWORK=" << number << ": " << what << "\n"
                    << (only && trial != nullptr ? print(trial->drawn(), 8) : std::string());
    }
  };
  for (int begin = first; begin < end; begin += kAtOnce) {
    std::vector<std::pair<int, Trial>> trials;
    std::vector<OnnxRuntimeCase> cases;
    for (int number = begin; number < std::min(begin + kAtOnce, end); ++number) {
      try {
        trials.emplace_back(number, Trial(number, folder_));
        for (OnnxRuntimeCase& each : trials.back().second.cases()) {
          cases.push_back(std::move(each));
        }
      } catch (const std::exception& error) {
        report(number, error.what(), nullptr);
        if (only) {
          std::cout << print(network_of(number).graph, 8);
        }
      }
    }
    const std::vector<OnnxRuntimeOutputs> theirs = run_cases(*runtime_, cases, folder_);
    std::span<const OnnxRuntimeOutputs> rest(theirs);
    for (const auto& [number, trial] : trials) {
      try {
        const std::string fault = trial.fault(rest.first(Trial::kCases));
        if (!fault.empty()) {
          report(number, fault, &trial);
        }
      } catch (const std::exception& error) {
        report(number, error.what(), &trial);
      }
      rest = rest.subspan(Trial::kCases);
    }
  }
  std::cout << wrong << " of " << end - first << " networks are wrong; bounds are narrow for "
            << Trial::bounded << " of " << Trial::compared << " numbers\n";
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tare::test
