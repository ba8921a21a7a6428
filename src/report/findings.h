#pragma once

#include "tare/report.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tare {

/// What is the matter, and what to do about it.
struct Explanation {
  std::string kind;
  std::string text;
  std::string advice;
  std::string yaml;
  ProposedChange change{};  ///< what the lines do, where it can be tried
};

/// The diagnoses of a report while they are made. A point or layer has one explanation: those
/// who look first are those who know best.
class Findings {
 public:
  explicit Findings(const Report&);

  const Report& report() const { return report_; }
  /// The layers that read a point, in order.
  std::vector<const LayerReport*> readers(const PointReport&) const;
  /// The least SQNR of those alone, in dB; infinite where nothing reads it.
  double reader_sqnr(const PointReport&) const;

  /// The layer of that name; null when there is none.
  const LayerReport* layer(const std::string& name) const;
  /// Whether what the layer reads is far off in the quantized network. Parameters that were
  /// chosen for such values look odd, and are chosen anew once that is mended.
  bool follows_damage(const LayerReport&) const;

  bool explained(const PointReport&) const;
  bool explained(const LayerReport&) const;
  /// Its figures look like trouble, and are none.
  void leave(const PointReport& point) { points_.insert(point.name); }
  /// `sqnr` is what the trouble leaves, in dB: the less, the more severe.
  void add(const PointReport&, Explanation, double sqnr);
  void add(const LayerReport&, Explanation, double sqnr);

  /// One that is about no single point or layer.
  void add(Diagnosis found) { found_.push_back(std::move(found)); }

  /// The most severe first, of equal ones what was added first.
  std::vector<Diagnosis> take();

 private:
  const Report& report_;
  std::map<std::string, const LayerReport*> by_name_;
  std::multimap<std::string, const LayerReport*> readers_;  ///< by layer or input
  std::set<std::string> points_;
  std::set<std::string> layers_;
  std::vector<Diagnosis> found_;
};

// Each looks for one kind of trouble.
void find_wrong_inputs(Findings&);
void find_masks(Findings&);
void find_outlier_channels(Findings&);
void find_outliers(Findings&);
void find_saturation(Findings&);
void find_few_levels(Findings&);
void find_weight_ranges(Findings&);
void find_bias_overflow(Findings&);
void find_narrow_accumulators(Findings&);
void find_infinities(Findings&);
void find_lossy_layers(Findings&);

}  // namespace tare
