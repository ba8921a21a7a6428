#include "tare/pipeline.h"

#include "pipeline/stages.h"

#include <limits>

namespace tare {

struct Search::Impl {
  Stages stages;
  std::vector<Tradeoff> curve;
};

Search::Search(const Graph& model, const Dataset& data, const Config& config,
               const Toolkit& toolkit, const CalibrateOptions& options)
    : impl_(std::make_unique<Impl>(Impl{Stages(model, config, toolkit), {}})) {
  impl_->stages.calibrate(data, options);
  // Slower than any network that stays float.
  constexpr double kAny = 1e6;
  impl_->curve = impl_->stages.tradeoffs(data, options, kAny);
}

Search::~Search() = default;
Search::Search(Search&&) noexcept = default;
Search& Search::operator=(Search&&) noexcept = default;

const std::vector<Tradeoff>& Search::curve() const {
  return impl_->curve;
}

QuantizeResult Search::result(const Tradeoff& chosen) const {
  Stages stages = impl_->stages;
  if (!chosen.float_nodes.empty()) {
    stages.leave_float(chosen.float_nodes);
  }
  return stages.finish();
}

}  // namespace tare
