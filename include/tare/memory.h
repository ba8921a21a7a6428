#pragma once

#include <cstddef>
#include <string>

namespace tare {

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

}  // namespace tare
