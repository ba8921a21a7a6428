#pragma once

#include "tare/statistics.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace tare::cli {

/// The processes that mpirun started for one command, or this one alone.
class Ranks final : public Communicator {
 public:
  Ranks();
  /// Ends the communication, unless an error is on its way: then mpirun ends the other ranks.
  ~Ranks() override;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int own() const { return own_; }
  int rank() const override { return own_; }
  int count() const override { return count_; }
  std::vector<std::string> gather(const std::string& own) override;
  /// For those who share work; null where there is nobody to share it with.
  Communicator* team() { return alone() ? nullptr : this; }
  bool alone() const { return count_ == 1; }
  /// Returns when every rank has called it.
  void wait() const;
  /// The part [first, end) of `total` pieces of work that is this rank's.
  std::pair<std::size_t, std::size_t> share(std::size_t total) const;

 private:
  int own_ = 0;
  int count_ = 1;
};

/// The rank that mpirun gave this process; 0 where it started none. Starts no MPI.
int rank_of_process();

}  // namespace tare::cli
