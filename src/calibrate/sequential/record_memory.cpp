#include "calibrate/sequential/record_memory.h"

#include <algorithm>

namespace tare {
namespace {

constexpr std::size_t kAlignment = 64;

}  // namespace

RecordMemory::RecordMemory(std::size_t bytes) : block_size_(std::min(bytes, kBlock)) {}

RecordMemory::Record RecordMemory::take(std::size_t bytes) {
  const std::size_t aligned = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  const std::lock_guard lock(*mutex_);
  if (blocks_.empty() || blocks_.back().memory->size() - blocks_.back().used < aligned) {
    if (!blocks_.empty() && blocks_.back().records == 0) {
      blocks_.back().memory = nullptr;
    }
    blocks_.push_back({std::make_shared<LargeMemory>(std::max(block_size_, aligned))});
  }
  Block& block = blocks_.back();
  std::byte* const data = block.memory->data() + block.used;
  block.used += aligned;
  ++block.records;
  return {data, blocks_.size() - 1};
}

void RecordMemory::release(const Record& record) {
  const std::lock_guard lock(*mutex_);
  Block& block = blocks_[record.block];
  if (--block.records == 0 && record.block + 1 < blocks_.size()) {
    block.memory = nullptr;
  }
}

std::shared_ptr<std::byte[]> RecordMemory::share(const Record& record) const {
  const std::lock_guard lock(*mutex_);
  return {blocks_[record.block].memory, record.data};
}

}  // namespace tare
