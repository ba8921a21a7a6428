#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace tare {

// The process that the library runs in: its memory, its files, its libraries.

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

}  // namespace tare
