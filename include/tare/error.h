#pragma once

#include <cstddef>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace tare {

/// Who can fix it, and how. The command line derives its exit status from this and nothing
/// else: kInternal is 70 (our bug), every other code is 2 (the user can fix it).
enum class ErrorCode {
  kInvalidModel,   ///< the graph breaks a rule of its own format
  kUnsupported,    ///< a legal model uses something the toolkit does not implement
  kInvalidConfig,  ///< a flag, a key or a value the user wrote
  kInvalidData,    ///< a calibration sample: wrong name, shape, type, NaN
  kIo,             ///< a file that cannot be opened, read or written
  kInternal,       ///< a bug in the toolkit
};

/// One thing that is wrong. Lower case, no full stop, names in 'quotes', shapes as [1,3,16,16].
struct Fault {
  std::string where;     ///< file, file:line:column, or node; the driver may prefix it
  std::string what;      ///< what was found there
  std::string expected;  ///< what would have been right; may be empty
  std::string hint{};    ///< what may have been meant, as "did you mean 'mse'?"; may be empty
};

/// The only exception type of the toolkit. Holds every independent fault that was found, the
/// activity they were found during, and at most one hint about all of them.
class Error : public std::exception {
 public:
  Error(ErrorCode code, std::string where, std::string what);
  /// `faults` must not be empty.
  Error(ErrorCode code, std::vector<Fault> faults);
  // Defined in one file, not in each that throws.
  Error(const Error&);
  Error(Error&&) noexcept;
  Error& operator=(const Error&);
  Error& operator=(Error&&) noexcept;
  ~Error() override;

  ErrorCode code() const noexcept { return code_; }
  const std::vector<Fault>& faults() const noexcept { return faults_; }
  /// The whole message: one line per fault, below it "  hint: ..." where the fault has one;
  /// then "  while ..." lines, then the hint about all. What names hold is printable().
  const char* what() const noexcept override { return message_.c_str(); }

  /// Says what would have been right, for the last fault.
  Error& expected(std::string_view what);
  /// Replaces the hint about all faults.
  Error& hint(std::string_view text);
  /// Prefixes every fault's `where` with "<place>: " (drivers know the place, finders the
  /// fault).
  Error& at(std::string_view place);
  /// Adds a line "while <activity>"; innermost first.
  Error& during(std::string_view activity);

 private:
  void compose();

  ErrorCode code_;
  std::vector<Fault> faults_;
  std::vector<std::string> activities_;
  std::string hint_;
  std::string message_;
};

/// Collects independent faults so that all of them are reported at once.
class Faults {
 public:
  void add(std::string where, std::string what, std::string expected = {},
           std::string hint = {});
  bool empty() const { return faults_.empty(); }
  std::size_t size() const { return faults_.size(); }
  const std::vector<Fault>& all() const { return faults_; }
  /// Throws Error(code) with every fault collected so far, unless there is none.
  void raise(ErrorCode code) const;

 private:
  std::vector<Fault> faults_;
};

/// The candidate nearest to `name` by edit distance, or empty when none is close enough to be a
/// likely misspelling (distance at most a third of the length, rounded up).
std::string nearest(std::string_view name, const std::vector<std::string>& candidates);
/// "did you mean 'mse'?" of the nearest one, or empty.
std::string suggestion(std::string_view name, const std::vector<std::string>& candidates);

/// Names in files come from anyone. Here is how they are shown where their characters would do
/// something else than be read: control characters (C0, DEL, C1), characters that are not seen
/// or turn the direction of what follows (Unicode's format characters, line and paragraph
/// separators, noncharacters), and bytes that are not UTF-8.

/// In one line of text: \x1b for bytes, \u202e or \U000e0001 for characters.
std::string printable(std::string_view text);
/// The same of a text in lines, which keeps its line feeds and tabs.
std::string printable_lines(std::string_view text);

/// As printable(), with \x and two digits for each byte: reading these gives the text again.
std::string printable_bytes(std::string_view text);

/// A text as a scalar of YAML in quotes, on one line. Bytes that are not UTF-8 become the
/// characters of those numbers, as YAML holds characters only.
std::string yaml_scalar(std::string_view text);
/// What reading that scalar gives.
std::string as_characters(std::string_view text);

/// A JSON text that says the same, with escapes for such characters in its strings. The text
/// has to be UTF-8.
std::string json_escaped(std::string_view json);

}  // namespace tare
