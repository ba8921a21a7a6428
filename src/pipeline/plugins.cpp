// Plug-ins: shared objects that add parts to a toolkit. What they throw is not ours to know, so
// that each callback of theirs is called within one that turns any exception into an Error with
// the name of the file.
#include "tare/error.h"
#include "tare/process.h"
#include "tare/toolkit.h"

#include "base/files.h"

#include <algorithm>

#include <dlfcn.h>

namespace tare {
namespace {

Error fault(const std::filesystem::path& path, ErrorCode code, const std::string& what) {
  return {code, "plug-in '" + path.string() + "'", what};
}

void* load(const std::filesystem::path& path) {
  require_readable(path);
  // A name without a slash would be looked for in system folders.
  void* const library = dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw fault(path, ErrorCode::kIo, std::string("cannot be loaded: ") + dlerror());
  }
  return library;
}

/// Calls it; whatever it throws that is no Error becomes one of this plug-in.
template <class Call>
auto guarded(const std::filesystem::path& path, const std::string& part, const Call& call) {
  try {
    return call();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw fault(path, ErrorCode::kInvalidConfig, part + " threw an exception: " + error.what());
  } catch (...) {
    throw fault(path, ErrorCode::kInvalidConfig, part + " threw an exception");
  }
}

/// The same for a callback that is called later. An absent one stays absent.
template <class Result, class... Arguments>
std::function<Result(Arguments...)> guarded_callback(
    const std::filesystem::path& path, const std::string& part,
    std::function<Result(Arguments...)> callback) {
  if (!callback) {
    return callback;
  }
  return [path, part, callback = std::move(callback)](Arguments... arguments) -> Result {
    return guarded(path, part,
                   [&]() -> Result { return callback(std::forward<Arguments>(arguments)...); });
  };
}

class GuardedObserver final : public Observer {
 public:
  GuardedObserver(std::unique_ptr<Observer> observer, std::filesystem::path path,
                  std::string part)
      : observer_(std::move(observer)), path_(std::move(path)), part_(std::move(part)) {}
  void observe(std::span<const float> sample) override {
    guarded(path_, part_, [&] { observer_->observe(sample); });
  }
  void merge(const Observer& other) override {
    guarded(path_, part_,
            [&] { observer_->merge(*dynamic_cast<const GuardedObserver&>(other).observer_); });
  }
  Range choose(const TensorStatistics& observed, const QuantSpec& spec) const override {
    return guarded(path_, part_, [&] { return observer_->choose(observed, spec); });
  }
  CalibratorAnswer answer(const TensorStatistics& observed, const QuantSpec& spec,
                          const CalibrationPoint& point) const override {
    return guarded(path_, part_, [&] { return observer_->answer(observed, spec, point); });
  }

 private:
  std::unique_ptr<Observer> observer_;
  std::filesystem::path path_;
  std::string part_;
};

class GuardedCalibrator final : public Calibrator {
 public:
  GuardedCalibrator(std::unique_ptr<const Calibrator> calibrator, std::filesystem::path path,
                    std::string part)
      : calibrator_(std::move(calibrator)), path_(std::move(path)), part_(std::move(part)) {}
  std::unique_ptr<Observer> observer() const override {
    auto own = guarded(path_, part_, [&] { return calibrator_->observer(); });
    return own == nullptr ? nullptr
                          : std::make_unique<GuardedObserver>(std::move(own), path_, part_);
  }
  Range choose(const TensorStatistics& observed, const QuantSpec& spec) const override {
    return guarded(path_, part_, [&] { return calibrator_->choose(observed, spec); });
  }
  CalibratorAnswer answer(const TensorStatistics& observed, const QuantSpec& spec,
                          const CalibrationPoint& point) const override {
    return guarded(path_, part_, [&] { return calibrator_->answer(observed, spec, point); });
  }

 private:
  std::unique_ptr<const Calibrator> calibrator_;
  std::filesystem::path path_;
  std::string part_;
};

class GuardedMetric final : public Metric {
 public:
  GuardedMetric(std::unique_ptr<Metric> metric, std::filesystem::path path, std::string part)
      : metric_(std::move(metric)), path_(std::move(path)), part_(std::move(part)) {}
  void observe(const SampleResults& results) override {
    guarded(path_, part_, [&] { metric_->observe(results); });
  }
  void merge(const Metric& other) override {
    guarded(path_, part_,
            [&] { metric_->merge(*dynamic_cast<const GuardedMetric&>(other).metric_); });
  }
  std::optional<std::string> told() const override {
    return guarded(path_, part_, [&] { return metric_->told(); });
  }
  void merge_told(std::string_view bytes) override {
    guarded(path_, part_, [&] { metric_->merge_told(bytes); });
  }
  std::optional<double> value() const override {
    return guarded(path_, part_, [&] { return metric_->value(); });
  }

 private:
  std::unique_ptr<Metric> metric_;
  std::filesystem::path path_;
  std::string part_;
};

/// Adds parts of one plug-in to a toolkit, all or none.
class PartsOfFile final : public PluginParts {
 public:
  PartsOfFile(const std::filesystem::path& path, const Toolkit& toolkit)
      : path_(path), toolkit_(toolkit) {}

  void add(const CalibratorInfo& info) override {
    CalibratorInfo& own = append(info, "calibrator", toolkit_.calibrators);
    const std::string part = called("calibrator", info.name);
    if (info.make) {
      own.make = [make = guarded_callback(path_, part, info.make), path = path_,
                  part](const CalibratorOptions& options) {
        return std::make_unique<GuardedCalibrator>(make(options), path, part);
      };
    } else {
      require(!info.candidates.empty(), part, "'make' or 'candidates'");
    }
  }
  void add(const MetricInfo& info) override {
    MetricInfo& own = append(info, "metric", toolkit_.metrics);
    const std::string part = called("metric", info.name);
    require(info.make != nullptr, part, "'make'");
    own.make = [make = guarded_callback(path_, part, info.make), path = path_, part] {
      return std::make_unique<GuardedMetric>(make(), path, part);
    };
  }
  void add(const QuantPattern& info) override {
    QuantPattern& own = append(info, "pattern", toolkit_.patterns);
    const std::string part = called("pattern", info.name);
    require(info.pattern && info.simulate && info.quantize, part,
            "'pattern', 'simulate' and 'quantize'");
    own.pattern = guarded_callback(path_, part, info.pattern);
    own.simulate = guarded_callback(path_, part, info.simulate);
    own.quantize = guarded_callback(path_, part, info.quantize);
    own.plugin = path_.string();
  }
  void add(const RewriteRule& info) override {
    RewriteRule& own = append(info, "rule", toolkit_.rules);
    const std::string part = called("rule", info.name);
    require(info.pattern && info.rewrite, part, "'pattern' and 'rewrite'");
    own.pattern = guarded_callback(path_, part, info.pattern);
    own.rewrite = guarded_callback(path_, part, info.rewrite);
    own.plugin = path_.string();
  }

  void add(const AffineOp& row) override {
    // Rows of one operator may differ in what they apply to, so their names need not be new.
    const std::string part = called("affine row", row.op);
    require(!row.op.empty() && !row.reason.empty(), part, "'op' and 'reason'");
    AffineOp& own = toolkit_.affine_ops.emplace_back(row);
    if (row.applies) {
      own.applies = guarded_callback(path_, part, row.applies);
    }
    added_ = true;
  }
  void add(const LintRule& info) override {
    LintRule& own = append(info, "lint rule", toolkit_.lint_rules);
    const std::string part = called("lint rule", info.name);
    require(info.check != nullptr, part, "'check'");
    own.check = guarded_callback(path_, part, info.check);
    own.plugin = path_.string();
  }
  void add(const FindingInfo& info) override {
    FindingInfo& own = append(info, "finding", toolkit_.findings);
    const std::string part = called("finding", info.name);
    require(info.find != nullptr, part, "'find'");
    own.find = guarded_callback(path_, part, info.find);
    own.plugin = path_.string();
  }
  void add(const ExportOperator& info) override {
    ExportOperator& own = append(info, "export operator", toolkit_.exports);
    const std::string part = called("export operator", info.name);
    require(info.pattern && !info.op.empty() && !info.domain.empty(), part,
            "'pattern', 'domain' and 'op'");
    own.pattern = guarded_callback(path_, part, info.pattern);
    if (info.attributes) {
      own.attributes = guarded_callback(path_, part, info.attributes);
    }
    own.plugin = path_.string();
  }

  Toolkit take() {
    if (!added_) {
      throw fault(path_, ErrorCode::kInvalidConfig, "adds nothing")
          .expected("calls of 'parts.add' in its entry point");
    }
    return std::move(toolkit_);
  }

 private:
  static std::string called(const char* kind, std::string_view name) {
    return std::string(kind) + " '" + std::string(name) + "'";
  }

  template <class Info>
  Info& append(const Info& info, const char* kind, std::vector<Info>& known) {
    if (info.name.empty()) {
      throw fault(path_, ErrorCode::kInvalidConfig, std::string(kind) + " without a name");
    }
    if (std::any_of(known.begin(), known.end(),
                    [&](const Info& other) { return other.name == info.name; })) {
      throw fault(path_, ErrorCode::kInvalidConfig,
                  called(kind, info.name) + " exists already");
    }
    added_ = true;
    return known.emplace_back(info);
  }

  void require(bool holds, const std::string& part, const std::string& expected) const {
    if (!holds) {
      throw fault(path_, ErrorCode::kInvalidConfig, part + " is not complete")
          .expected(expected);
    }
  }

  std::filesystem::path path_;
  Toolkit toolkit_;
  bool added_ = false;
};

}  // namespace

void load_plugins(const std::vector<std::filesystem::path>& paths, Toolkit& toolkit) {
  for (const std::filesystem::path& path : paths) {
    void* const library = load(path);
    const auto* version = static_cast<const int*>(dlsym(library, "tare_plugin_abi"));
    void* const entry = dlsym(library, "tare_plugin");
    if (version == nullptr || entry == nullptr) {
      throw fault(path, ErrorCode::kInvalidConfig, "is no plug-in")
          .expected("'tare_plugin_abi' and 'tare_plugin', which TARE_PLUGIN_ENTRY makes")
          .hint("compile a file of one part with TARE_PLUGIN defined");
    }
    if (*version != TARE_PLUGIN_ABI) {
      throw fault(
          path, ErrorCode::kInvalidConfig,
          "is made for version " + std::to_string(*version) + " of the interface to plug-ins")
          .expected("version " + std::to_string(TARE_PLUGIN_ABI))
          .hint("compile it with the headers of this version of Tare");
    }
    PartsOfFile parts(path, toolkit);
    guarded(path, "its entry point",
            [&] { reinterpret_cast<void (*)(PluginParts&)>(entry)(parts); });
    toolkit = parts.take();
  }
}

}  // namespace tare
