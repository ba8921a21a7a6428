#include "base/large_memory.h"

#include <cstdint>
#include <new>

#include <sys/mman.h>
#include <unistd.h>

namespace tare {
namespace {

/// Of x86; smaller arrays are left to the allocator.
constexpr std::size_t kHugePage = std::size_t{2} << 20U;

constexpr std::align_val_t kAlignment{64};

/// Starts at a huge page, as the system gives these only where all of one is mapped. Throws
/// std::bad_alloc.
std::byte* mapped(std::size_t bytes) {
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
  return memory;
}

}  // namespace

LargeMemory::LargeMemory(std::size_t bytes)
    : data_(bytes < kHugePage ? static_cast<std::byte*>(::operator new(bytes, kAlignment))
                              : mapped(bytes),
            ReleaseLargeMemory{bytes}) {}

bool LargeMemory::was_zero() const {
  return size() >= kHugePage;
}

void ReleaseLargeMemory::operator()(std::byte* memory) const {
  if (bytes < kHugePage) {
    ::operator delete(memory, kAlignment);
  } else {
    munmap(memory, bytes);
  }
}

}  // namespace tare
