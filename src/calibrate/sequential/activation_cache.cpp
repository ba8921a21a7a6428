// One record of fixed size for each run, so that a record is found without an index and threads
// write theirs without a lock; where runs have several shapes, an entry for each of their
// values. Values with parameters are kept in their storage type: one byte for each element of
// an 8-bit activation in place of four, at the cost of converting them on the way in and out.
// Records that fit into `memory` stay there, those of the later runs go to a file. Cost of a
// step: runs times the bytes of a record, written once and read once.
#include "calibrate/sequential/activation_cache.h"

#include "tare/process.h"

#include "execute/compile/reorder.h"
#include "graph/arithmetic/storage_type.h"

#include <algorithm>
#include <cstring>

namespace tare {
namespace {

std::size_t bytes_of(const TensorType& type) {
  const auto count = static_cast<std::size_t>(element_count(type.shape));
  return count * size_of(type.quant ? type.quant->storage : type.dtype);
}

std::size_t aligned_bytes_of(const TensorType& type) {
  constexpr std::size_t kAlignment = 64;  // of RecordMemory
  return (bytes_of(type) + kAlignment - 1) / kAlignment * kAlignment;
}

void encode(const TensorType& type, const std::byte* from, std::byte* to) {
  if (!type.quant) {
    std::memcpy(to, from, bytes_of(type));
    return;
  }
  const auto* values = reinterpret_cast<const float*>(from);
  with_storage(type.quant->storage, [&](auto tag) {
    std::transform(values, values + element_count(type.shape),
                   reinterpret_cast<decltype(tag)*>(to),
                   [](float x) { return static_cast<decltype(tag)>(x); });
  });
}

void decode(const TensorType& type, const std::byte* from, std::byte* to) {
  if (!type.quant) {
    std::memcpy(to, from, bytes_of(type));
    return;
  }
  with_storage(type.quant->storage, [&](auto tag) {
    const auto* storage = reinterpret_cast<const decltype(tag)*>(from);
    std::transform(storage, storage + element_count(type.shape), reinterpret_cast<float*>(to),
                   [](auto q) { return static_cast<float>(q); });
  });
}

/// Room for one encoded value. Kept, because memory this large is new to the process each time.
std::span<std::byte> scratch(std::size_t bytes) {
  thread_local std::vector<std::byte> buffer;
  buffer.resize(std::max(buffer.size(), bytes));
  return std::span(buffer).first(bytes);
}

}  // namespace

std::size_t memory_of_each_cache(std::size_t asked, std::size_t usual) {
  constexpr std::size_t kAtLeast = std::size_t{8} << 20U;  // saves running each level twice
  constexpr std::size_t kPart = 16;
  return asked != 0 ? asked / 2
                    : std::min(std::max(usual, kAtLeast), available_memory() / kPart);
}

ActivationCache::ActivationCache(std::vector<CachedActivation> values, std::size_t runs,
                                 std::size_t memory, std::unique_ptr<ScratchFile> file,
                                 bool several_shapes)
    : values_(std::move(values)),
      memory_(std::min(memory, bytes(values_, runs))),
      file_(std::move(file)) {
  for (const CachedActivation& cached : values_) {
    offsets_.push_back(record_);
    record_ += aligned_bytes_of(cached.type);
  }
  const std::size_t in_memory = record_ == 0 ? runs : std::min(runs, memory / record_);
  if (several_shapes) {
    entries_.resize(runs * values_.size());
    mutex_ = std::make_unique<std::mutex>();
    memory_left_ = in_memory * record_;
  } else if (!values_.empty()) {
    records_.resize(in_memory);
  }
  if ((in_memory < runs || several_shapes) && file_ == nullptr) {
    file_ = std::make_unique<ScratchFile>();
  }
}

std::size_t ActivationCache::bytes(const std::vector<CachedActivation>& values,
                                   std::size_t runs) {
  std::size_t record = 0;
  for (const CachedActivation& cached : values) {
    record += aligned_bytes_of(cached.type);
  }
  return record * runs;
}

ActivationCache::Place ActivationCache::place_of(std::size_t run, std::size_t index) const {
  if (mutex_) {
    const Entry& entry = entries_[run * values_.size() + index];
    return {entry.memory, entry.offset};
  }
  if (run < records_.size()) {
    const RecordMemory::Record& record = records_[run];
    return {{record.data + offsets_[index], record.block}};
  }
  return {{}, (run - records_.size()) * record_ + offsets_[index]};
}

ActivationCache::Place ActivationCache::new_place(std::size_t run, std::size_t index,
                                                  const TensorType& type) {
  if (!mutex_) {
    if (run < records_.size() && records_[run].data == nullptr) {
      records_[run] = memory_.take(record_);
    }
    return place_of(run, index);
  }
  Entry& entry = entries_[run * values_.size() + index];
  entry.shape = type.shape;
  const std::size_t bytes = aligned_bytes_of(type);
  {
    const std::lock_guard lock(*mutex_);
    if (bytes > memory_left_) {
      entry.offset = file_used_;
      file_used_ += bytes;
      return {{}, entry.offset};
    }
    memory_left_ -= bytes;
  }
  entry.memory = memory_.take(bytes);
  return {entry.memory};
}

TensorType ActivationCache::type_of(std::size_t index, const Shape& shape) const {
  TensorType type = values_[index].type;
  type.shape = shape;
  return type;
}

void ActivationCache::write(std::size_t run, std::size_t index, const TensorView& view) {
  const TensorType type = type_of(index, view.type->shape);
  const Place place = new_place(run, index, type);
  Tensor in_order;  // for some shapes layers may choose another one
  const std::byte* data = view.data;
  if (mutex_ && view.channels_last != values_[index].channels_last) {
    in_order = view.channels_last ? view.tensor() : Tensor(view.type->dtype, type.shape);
    if (!view.channels_last) {
      copy_to_channels_last(*view.type, view.data, in_order.mutable_data());
    }
    data = in_order.data();
  }
  if (place.memory.data != nullptr) {
    encode(type, data, place.memory.data);
    return;
  }
  const std::span<std::byte> bytes = scratch(bytes_of(type));
  encode(type, data, bytes.data());
  file_->write(place.offset, bytes);
}

void ActivationCache::read(std::size_t run, std::size_t index, Tensor& result) const {
  const TensorType type = mutex_ ? type_of(index, entries_[run * values_.size() + index].shape)
                                 : values_[index].type;
  const Place place = place_of(run, index);
  if (place.memory.data != nullptr && !type.quant) {
    result = Tensor::over(type.dtype, type.shape, memory_.share(place.memory));
    return;
  }
  if (result.shape() != type.shape) {
    result = Tensor(result.dtype(), type.shape);
  }
  if (place.memory.data != nullptr) {
    decode(type, place.memory.data, result.mutable_data());
    return;
  }
  const std::span<std::byte> bytes = scratch(bytes_of(type));
  file_->read(place.offset, bytes);
  decode(type, bytes.data(), result.mutable_data());
}

void ActivationCache::release(std::size_t run) {
  const auto release = [&](RecordMemory::Record& record) {
    if (record.data != nullptr) {
      memory_.release(record);
      record = {};
    }
  };
  if (run < records_.size()) {
    release(records_[run]);
  }
  if (mutex_) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      release(entries_[run * values_.size() + i].memory);
    }
  }
}

}  // namespace tare
