#pragma once

#include <cstddef>
#include <memory>

namespace tare {

/// Uninitialized bytes at a multiple of 64. As long as all large ones together take no more
/// than an eighth of available_memory(), or what was set, they are in memory. The others are in
/// files without names in TMPDIR, mapped, which the system writes out where it has no room for
/// them. Throws std::bad_alloc.
std::shared_ptr<std::byte[]> shared_memory(std::size_t bytes);
/// The same, all of them 0.
std::shared_ptr<std::byte[]> zeroed_shared_memory(std::size_t bytes);

/// Bytes of large ones that are in memory at most.
std::size_t shared_memory_limit();
/// 0: the default again.
void set_shared_memory_limit(std::size_t bytes);

}  // namespace tare
