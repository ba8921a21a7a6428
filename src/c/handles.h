#pragma once

#include "tare/c.h"
#include "tare/config.h"
#include "tare/dataset.h"
#include "tare/integer_graph.h"
#include "tare/report.h"
#include "tare/statistics.h"
#include "tare/toolkit.h"

#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace tare::c {

/// The names of callbacks, which a toolkit only looks at; their addresses stay.
using Names = std::deque<std::string>;

/// A configuration that was read, and all that it needs. Quantized networks refer to patterns
/// of the toolkit, so that they keep it.
struct ReadConfig {
  std::shared_ptr<const Names> names;
  Toolkit toolkit;
  Config config;
};

/// What a configuration says, or the defaults for null. Throws as read_config().
std::shared_ptr<const ReadConfig> settings_of(const tare_config*);

/// The model with the shapes of the samples (may be null).
Graph load(const tare_model&, const Config&, const Dataset*,
           Numerics numerics = Numerics::kOnnxRuntime);

/// The part of the data that is used, as the configuration and the caller say.
std::unique_ptr<Dataset> used_samples(const tare_samples&, std::size_t limit);

/// Throws Error(kIo) where an output is the same file as an input, by whatever name.
void require_other_file(const std::filesystem::path&, const std::filesystem::path& input,
                        const std::string& name);

/// "quantizing 'model.onnx'"
std::string activity(const char* verb, const tare_model*);

}  // namespace tare::c

struct tare_model {
  std::filesystem::path path;
  std::string name;           ///< that errors and reports have
  bool is_temporary = false;  ///< the folder that `path` is in goes with it
};

struct tare_samples {
  std::unique_ptr<const tare::Dataset> data;
  std::string name{};       ///< of the file; empty: there is none
  bool has_states = false;  ///< that flowed back in some model
};

struct tare_config {
  std::filesystem::path file{};
  std::string text{};
  std::vector<std::string> overrides{};
  std::shared_ptr<tare::c::Names> names{};
  tare::Toolkit toolkit{};
};

struct tare_statistics {
  tare::Statistics value;
};

struct tare_report {
  tare::Report value;
};
