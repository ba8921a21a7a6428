#include "tare/error.h"
#include "tare/statistics.h"

#include "base/hash.h"
#include "base/input_file.h"
#include "base/version.h"
#include "graph/operators/usable_labels.h"
#include "io/config_digest.h"
#include "pipeline/store/search_checkpoint.h"

#include <algorithm>

namespace tare {
namespace {

std::uint64_t digest_of(const Dataset& data, std::size_t samples) {
  std::uint64_t result = samples;
  for (const DatasetInput& input : data.inputs()) {
    result = hash(input.name, result);
    const std::size_t at_once = data.has_several_shapes() ? 1 : 16;
    for (std::size_t first = 0; first < samples; first += at_once) {
      const Tensor some = data.read(input.name, first, std::min(at_once, samples - first));
      result = hash({some.data(), some.byte_size()}, result);
    }
  }
  if (const auto labels = usable_labels(data)) {
    result = hash(std::as_bytes(std::span(*labels).first(std::min(samples, labels->size()))),
                  result);
  }
  return result;
}

/// What changes only how long it takes, and what the digest of the samples says, is left out.
Config without_effects(Config config) {
  config.memory = 0;
  config.samples = {};
  config.plugins = {};
  return config;
}

}  // namespace

std::optional<std::uint64_t> file_digest(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) {
    return std::nullopt;
  }
  return hash(InputFile(path).contents());
}

SearchIdentity search_identity(const Graph& model, const Dataset& data, const Config& config,
                               std::span<const std::filesystem::path> plugins) {
  const std::size_t samples =
      config.samples ? std::min(data.size(), static_cast<std::size_t>(*config.samples))
                     : data.size();
  SearchIdentity result{
      .model = model_digest(model),
      .data = digest_of(data, samples),
      .configuration = hash(version(), config_digest(without_effects(config)))};
  for (const std::filesystem::path& plugin : plugins) {
    const auto digest = file_digest(plugin);
    if (!digest) {
      throw Error(ErrorCode::kIo, plugin.string(), "no such file");
    }
    result.configuration = hash(hexadecimal(*digest), result.configuration);
  }
  return result;
}

}  // namespace tare
