#pragma once

#include "tare/statistics.h"

#include "execute/run/feed.h"

#include <cstddef>
#include <string>
#include <utility>

namespace tare {

/// Consecutive pieces of work of one process.
struct Share {
  std::size_t first = 0;
  std::size_t end = 0;

  std::size_t count() const { return end - first; }
};

/// What process `rank` does of so many pieces; without a communicator there is one process.
inline Share share_of(std::size_t pieces, const Communicator* communicator, int rank) {
  const std::size_t count =
      communicator == nullptr ? 1 : static_cast<std::size_t>(communicator->count());
  const auto place = static_cast<std::size_t>(rank);
  return {pieces * place / count, pieces * (place + 1) / count};
}

/// What this process does.
inline Share own_share(std::size_t pieces, const Communicator* communicator) {
  return share_of(pieces, communicator, communicator == nullptr ? 0 : communicator->rank());
}

/// What the first process has, for all.
inline std::string of_first(std::string own, Communicator* communicator) {
  return communicator == nullptr
             ? std::move(own)
             : communicator->gather(std::move(own), Message::kOther).front();
}

/// Whether this process is the one that writes files.
inline bool is_first(const Communicator* communicator) {
  return communicator == nullptr || communicator->rank() == 0;
}

/// Of the runs of these samples, those of this process. Throws as Feed.
inline Feed own_feed(const Graph& graph, const Dataset& data, std::size_t samples,
                     std::size_t first, const Communicator* communicator) {
  Feed all(graph, data, samples, first);
  if (communicator == nullptr) {
    return all;
  }
  const Share own = own_share(all.runs(), communicator);
  return own.count() == 0 ? Feed(graph, data, 0, data.size())
                          : Feed(graph, data, first + own.end * all.batch(),
                                 first + own.first * all.batch());
}

}  // namespace tare
