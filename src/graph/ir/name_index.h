// The index of a graph's names: a hash table with linear probing (Knuth, TAOCP 3, 6.4). It
// holds indices alone, as the names are in the graph already, so to copy it is to copy a
// vector. Amortized constant time for each call.
#pragma once

#include "tare/graph.h"

#include <functional>

namespace tare {

/// The place of a name, or the free one where it belongs.
template <class NameOf>
std::size_t Graph::NameIndex::slot_of(std::string_view name, const NameOf& name_of) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = std::hash<std::string_view>{}(name)&mask;
  while (slots_[slot] != kFree && (slots_[slot] == kErased || name_of(slots_[slot]) != name)) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

template <class NameOf>
std::optional<std::uint32_t> Graph::NameIndex::find(std::string_view name,
                                                    const NameOf& name_of) const {
  if (slots_.empty()) {
    return std::nullopt;
  }
  const std::uint32_t found = slots_[slot_of(name, name_of)];
  return found == kFree ? std::nullopt : std::optional(found);
}

template <class NameOf>
void Graph::NameIndex::insert(std::uint32_t index, const NameOf& name_of) {
  constexpr std::size_t kSmallest = 16;
  if (2 * (taken_ + 1) > slots_.size()) {
    std::vector<std::uint32_t> held;
    for (const std::uint32_t each : slots_) {
      if (each != kFree && each != kErased) {
        held.push_back(each);
      }
    }
    std::size_t size = kSmallest;
    while (size < 4 * (held.size() + 1)) {
      size *= 2;
    }
    slots_.assign(size, kFree);
    taken_ = held.size();
    for (const std::uint32_t each : held) {
      slots_[slot_of(name_of(each), name_of)] = each;
    }
  }
  slots_[slot_of(name_of(index), name_of)] = index;
  ++taken_;
}

template <class NameOf>
void Graph::NameIndex::erase(std::string_view name, const NameOf& name_of) {
  if (!slots_.empty()) {
    std::uint32_t& slot = slots_[slot_of(name, name_of)];
    slot = slot == kFree ? kFree : kErased;
  }
}

}  // namespace tare
