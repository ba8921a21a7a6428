#include "base/large_memory.h"

#include <new>

#include <sys/mman.h>

namespace tare {
namespace {

/// Of x86; smaller arrays are left to the allocator.
constexpr std::size_t kHugePage = std::size_t{2} << 20U;

}  // namespace

LargeMemory::LargeMemory(std::size_t bytes) {
  if (bytes < kHugePage) {
    data_ = {static_cast<std::byte*>(::operator new(bytes)), ReleaseLargeMemory{bytes}};
    return;
  }
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  (void)madvise(memory, bytes, MADV_HUGEPAGE);  // where there are none, small ones will do
  data_ = {static_cast<std::byte*>(memory), ReleaseLargeMemory{bytes}};
}

void ReleaseLargeMemory::operator()(std::byte* memory) const {
  if (bytes < kHugePage) {
    ::operator delete(memory);
  } else {
    munmap(memory, bytes);
  }
}

}  // namespace tare
