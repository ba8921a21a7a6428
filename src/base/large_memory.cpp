#include "base/large_memory.h"

#include "tare/process.h"

#include <algorithm>
#include <cstdint>
#include <list>
#include <mutex>
#include <new>

#include <sys/mman.h>
#include <unistd.h>

namespace tare {
namespace {

/// Of x86; smaller arrays are left to the allocator.
constexpr std::size_t kHugePage = std::size_t{2} << 20U;

constexpr std::align_val_t kAlignment{64};

struct Mapping {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
};

/// Starts at a huge page, as the system gives these only where all of one is mapped. Throws
/// std::bad_alloc.
Mapping mapped(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t whole_pages = (bytes + page - 1) / page * page;
  void* const all = mmap(nullptr, whole_pages + kHugePage, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) {
    throw std::bad_alloc();
  }
  const std::size_t before =
      kHugePage - reinterpret_cast<std::uintptr_t>(all) % kHugePage;  // a page at least
  std::byte* const memory = static_cast<std::byte*>(all) + before;
  munmap(all, before);
  if (before < kHugePage) {
    munmap(memory + whole_pages, kHugePage - before);
  }
  // Where there are no huge ones, small ones will do.
  (void)madvise(memory, whole_pages, MADV_HUGEPAGE);
  return {memory, whole_pages};
}

/// Mappings that were released, the last one first.
class Released {
 public:
  Released() {
    constexpr std::size_t kAtMost = std::size_t{256} << 20U;
    constexpr std::size_t kPart = 64;
    at_most_ = std::min(kAtMost, available_memory() / kPart);
  }

  /// The smallest one that suffices and is not much larger, or none.
  Mapping take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    auto best = mappings_.end();
    for (auto it = mappings_.begin(); it != mappings_.end(); ++it) {
      if (it->bytes >= bytes && it->bytes <= bytes + bytes / 4 &&
          (best == mappings_.end() || it->bytes < best->bytes)) {
        best = it;
      }
    }
    if (best == mappings_.end()) {
      return {};
    }
    const Mapping result = *best;
    mappings_.erase(best);
    bytes_ -= result.bytes;
    count_used(result.bytes);
    return result;
  }

  /// Of an array for which there was none.
  void count(const Mapping& mapping) {
    const std::lock_guard lock(mutex_);
    count_used(mapping.bytes);
  }

  void add(const Mapping& mapping) noexcept {
    const std::lock_guard lock(mutex_);
    used_ -= mapping.bytes;
    try {
      mappings_.push_front(mapping);
    } catch (const std::bad_alloc&) {
      munmap(mapping.data, mapping.bytes);
      return;
    }
    bytes_ += mapping.bytes;
    keep(std::min(at_most_, most_used_ / kPartOfUsed));
  }

  /// Gives all of them back to the system.
  void clear() {
    const std::lock_guard lock(mutex_);
    keep(0);
  }

 private:
  static constexpr std::size_t kPartOfUsed = 2;

  void keep(std::size_t bytes) {
    while (bytes_ > bytes) {
      const Mapping oldest = mappings_.back();
      mappings_.pop_back();
      bytes_ -= oldest.bytes;
      munmap(oldest.data, oldest.bytes);
    }
  }

  void count_used(std::size_t bytes) {
    used_ += bytes;
    most_used_ = std::max(most_used_, used_);
  }

  std::mutex mutex_;
  std::list<Mapping> mappings_;
  std::size_t bytes_ = 0;  ///< of all
  std::size_t at_most_ = 0;
  std::size_t used_ = 0;  ///< bytes of arrays that are not released
  std::size_t most_used_ = 0;
};

Released& released() {
  static Released& all = *new Released;  // for arrays that live until the process ends
  return all;
}

/// Where there is no room for it, in the place of what was kept.
Mapping newly_mapped(std::size_t bytes) try {
  return mapped(bytes);
} catch (const std::bad_alloc&) {
  released().clear();
  return mapped(bytes);
}

}  // namespace

LargeMemory::LargeMemory(std::size_t bytes) : bytes_(bytes) {
  if (bytes < kHugePage) {
    data_ = Data(static_cast<std::byte*>(::operator new(bytes, kAlignment)), {bytes});
    return;
  }
  Mapping mapping = released().take(bytes);
  if (mapping.data == nullptr) {
    mapping = newly_mapped(bytes);
    released().count(mapping);
    was_zero_ = true;
  }
  data_ = Data(mapping.data, {mapping.bytes});
}

void ReleaseLargeMemory::operator()(std::byte* memory) const {
  if (capacity < kHugePage) {
    ::operator delete(memory, kAlignment);
  } else {
    released().add({memory, capacity});
  }
}

}  // namespace tare
