#pragma once

#include <cstddef>
#include <utility>

namespace tare::cli {

/// The processes that mpirun started for one command, or this one alone.
class Ranks {
 public:
  Ranks();
  /// Ends the communication, unless an error is on its way: then mpirun ends the other ranks.
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int own() const { return own_; }
  int count() const { return count_; }
  bool alone() const { return count_ == 1; }
  /// Returns when every rank has called it.
  void wait() const;
  /// The part [first, end) of `total` pieces of work that is this rank's.
  std::pair<std::size_t, std::size_t> share(std::size_t total) const;

 private:
  int own_ = 0;
  int count_ = 1;
};

}  // namespace tare::cli
