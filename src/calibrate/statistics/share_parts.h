#pragma once

#include "tare/statistics.h"

#include "base/large_memory.h"

#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

namespace tare {

/// Gives all processes what each of them has: size(rank) bytes, a number that all of them can
/// compute. write(part) writes those of this process, and read(rank, part) takes those of
/// another one.
template <class Size, class Write, class Read>
void share_parts(Communicator& team, Message about, const Size& size, const Write& write,
                 const Read& read) {
  std::vector<std::size_t> sizes;
  for (int rank = 0; rank < team.count(); ++rank) {
    sizes.push_back(size(rank));
  }
  // Memory that is kept from one layer to the next: new pages take longer than the messages.
  const LargeArray<std::byte> all(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}));
  std::vector<std::span<std::byte>> parts;
  std::size_t first = 0;
  for (const std::size_t bytes : sizes) {
    parts.push_back(all.span().subspan(first, bytes));
    first += bytes;
  }
  const auto own = static_cast<std::size_t>(team.rank());
  write(parts[own]);
  team.gather_in_place(all.span(), sizes, about);
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    if (rank != own) {
      read(static_cast<int>(rank), std::span<const std::byte>(parts[rank]));
    }
  }
}

}  // namespace tare
