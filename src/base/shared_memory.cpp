// Weights are read once for each network that is made of them and then not for a long time, but
// a process cannot give back what it has allocated. What is mapped from a file the system can
// take away and read again.
#include "base/shared_memory.h"

#include "tare/error.h"
#include "tare/process.h"

#include "base/large_memory.h"
#include "base/scratch_file.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <utility>

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

/// What counts as in memory as long as it lives.
struct Counted {
  explicit Counted(std::size_t bytes) : memory(bytes) { in_memory += bytes; }
  ~Counted() { in_memory -= memory.size(); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  LargeMemory memory;
};

struct Shared {
  std::shared_ptr<std::byte[]> bytes;
  bool is_zero = false;
};

Shared shared(std::size_t bytes) {
  if (bytes < kLarge) {
    return {.bytes = {static_cast<std::byte*>(
                          ::operator new(std::max<std::size_t>(bytes, 1), kAlignment)),
                      [](std::byte* p) { ::operator delete(p, kAlignment); }}};
  }
  if (in_memory.load() + bytes > shared_memory_limit()) {
    if (auto memory = mapped(bytes)) {
      return {.bytes = std::move(memory), .is_zero = true};
    }
  }
  const auto counted = std::make_shared<Counted>(bytes);
  return {.bytes = {counted, counted->memory.data()}, .is_zero = counted->memory.was_zero()};
}

}  // namespace

std::size_t shared_memory_limit() {
  const std::size_t set = limit_set.load();
  return set != 0 ? set : available_memory() / kShareOfMemory;
}

std::shared_ptr<std::byte[]> shared_memory(std::size_t bytes) {
  return shared(bytes).bytes;
}

std::shared_ptr<std::byte[]> zeroed_shared_memory(std::size_t bytes) {
  Shared result = shared(bytes);
  if (!result.is_zero) {
    std::memset(result.bytes.get(), 0, bytes);
  }
  return std::move(result.bytes);
}

void set_shared_memory_limit(std::size_t bytes) {
  limit_set = bytes;
}

}  // namespace tare
