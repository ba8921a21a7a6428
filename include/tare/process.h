#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tare {

// The process that the library runs in: its memory, its files, its libraries and plug-ins.

/// Bytes of memory that this process may have at most: of the machine, of its control group, or
/// by its own limit (RLIMIT_AS), whichever is least.
std::size_t available_memory();

/// How many bytes running a network may take for all that is computed on the way. Sizes are
/// known before it runs, so a network that needs more is refused before anything is allocated.
/// Half of available_memory(), or what was set; a limit of the process, as those of the system.
std::size_t memory_limit();
/// 0: the default again.
void set_memory_limit(std::size_t bytes);

/// "7.6 GB"
std::string memory_text(double bytes);

/// The file that writing to `path` makes or replaces: `path` itself, or where it leads as a
/// link. Throws Error(kIo) unless a file can be made there: for a folder, a device, a pipe, a
/// link to a file that a process has open (/dev/stdout), a folder that is missing or forbidden,
/// and names that the file system does not take.
std::filesystem::path output_target(const std::filesystem::path& path);

/// Writes the file whole or not at all. Throws Error(kIo).
void write_text(const std::filesystem::path&, std::string_view);

/// Deletes the files that this process is writing and that do not have their final names yet.
/// For signal handlers: the process has to end after it.
void remove_unfinished_files() noexcept;

/// A library of somebody else that the toolkit computes, reads or writes with.
struct Library {
  std::string name;     ///< "oneDNN"
  std::string version;  ///< of the loaded one if it tells, otherwise of the one compiled with
  std::string features{};  ///< what it uses of this processor, "AVX2"; empty: it does not say
};

/// All of them, sorted by name without regard to case.
std::vector<Library> libraries();

struct AffineOp;
struct CalibratorInfo;
struct ExportOperator;
struct FindingInfo;
struct LintRule;
struct MetricInfo;
struct QuantPattern;
struct RewriteRule;

/// What a plug-in adds its parts to, however many of each kind.
class PluginParts {
 public:
  virtual ~PluginParts() = default;
  virtual void add(const CalibratorInfo&) = 0;
  virtual void add(const MetricInfo&) = 0;
  virtual void add(const QuantPattern&) = 0;
  virtual void add(const RewriteRule&) = 0;
  virtual void add(const AffineOp&) = 0;
  virtual void add(const LintRule&) = 0;
  virtual void add(const FindingInfo&) = 0;
  virtual void add(const ExportOperator&) = 0;
};

}  // namespace tare

/// Version of the binary interface between the library and plug-ins; another one with each
/// change of a public type.
#define TARE_PLUGIN_ABI 5

/// Entry point of a plug-in: a shared object that load_plugins() takes. What follows is the
/// body of a function of `tare::PluginParts& parts`, to which it adds what it has. The version
/// is looked at before the function is called. A file with one part only needs none, see
/// TARE_CALIBRATOR.
#define TARE_PLUGIN_ENTRY(parts)                                                       \
  extern "C" {                                                                         \
  __attribute__((visibility("default"))) extern const int tare_plugin_abi;             \
  const int tare_plugin_abi = TARE_PLUGIN_ABI;                                         \
  __attribute__((visibility("default"))) void tare_plugin(::tare::PluginParts& parts); \
  }                                                                                    \
  void tare_plugin(::tare::PluginParts& parts)

/// The entry point of a file that is a plug-in by itself: the function of that type and name,
/// whose body follows, makes its part. Compiled without TARE_PLUGIN it is that function alone,
/// for the build of Tare, or for another file of the plug-in to call.
#ifdef TARE_PLUGIN
#define TARE_PART(type, function) \
  static ::tare::type function(); \
  TARE_PLUGIN_ENTRY(parts) {      \
    parts.add(function());        \
  }                               \
  static ::tare::type function()
#else
#define TARE_PART(type, function) ::tare::type function()
#endif
