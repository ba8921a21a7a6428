// Weights are read once for each network that is made of them and then not for a long time, but
// a process cannot give back what it has allocated. What is mapped from a file the system can
// take away and read again.
#include "base/shared_memory.h"

#include "tare/error.h"
#include "tare/process.h"

#include "base/scratch_file.h"

#include <algorithm>
#include <atomic>
#include <new>

#include <sys/mman.h>

namespace tare {
namespace {

/// oneDNN and vector loads like cache-line alignment.
constexpr std::align_val_t kAlignment{64};
/// Smaller ones are not worth a file.
constexpr std::size_t kLarge = std::size_t{1} << 20U;
constexpr std::size_t kShareOfMemory = 8;

std::atomic<std::size_t> limit_set{0};
std::atomic<std::size_t> in_memory{0};  ///< bytes of large ones

/// Null where no such file can be made.
std::shared_ptr<std::byte[]> mapped(std::size_t bytes) {
  try {
    std::byte* const memory = ScratchFile().map(bytes);
    return memory == nullptr ? nullptr
                             : std::shared_ptr<std::byte[]>(
                                   memory, [bytes](std::byte* p) { ::munmap(p, bytes); });
  } catch (const Error&) {
    return nullptr;
  }
}

std::byte* allocated(std::size_t bytes) {
  return static_cast<std::byte*>(::operator new(std::max<std::size_t>(bytes, 1), kAlignment));
}

}  // namespace

std::size_t shared_memory_limit() {
  const std::size_t set = limit_set.load();
  return set != 0 ? set : available_memory() / kShareOfMemory;
}

std::shared_ptr<std::byte[]> shared_memory(std::size_t bytes) {
  if (bytes < kLarge) {
    return {allocated(bytes), [](std::byte* p) { ::operator delete(p, kAlignment); }};
  }
  if (in_memory.load() + bytes > shared_memory_limit()) {
    if (auto memory = mapped(bytes)) {
      return memory;
    }
  }
  std::shared_ptr<std::byte[]> memory(allocated(bytes), [bytes](std::byte* p) {
    ::operator delete(p, kAlignment);
    in_memory -= bytes;
  });
  in_memory += bytes;
  return memory;
}

void set_shared_memory_limit(std::size_t bytes) {
  limit_set = bytes;
}

}  // namespace tare
