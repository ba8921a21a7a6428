#pragma once

#include "tare/statistics.h"

#include "printing/console.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tare::cli {

/// The processes that mpirun started for one command, or this one alone.
class Ranks final : public Communicator {
 public:
  /// `shared`: false where this process does everything, whoever else there is.
  explicit Ranks(bool shared = true);
  /// Ends the communication, unless this rank leaves the others or an error is on its way: then
  /// mpirun ends them.
  ~Ranks() override;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int own() const { return own_; }
  int rank() const override { return own_; }
  int count() const override { return count_; }
  std::vector<std::string> gather(std::string own, Message) override;
  void gather_in_place(std::span<std::byte> all, std::span<const std::size_t> sizes,
                       Message) override;
  /// For those who share work; null where there is nobody to share it with.
  Communicator* team() { return alone() ? nullptr : this; }
  bool alone() const { return count_ == 1; }
  /// The first rank speaks for all.
  Console speaker(const Console& console) const {
    return own_ == 0 ? console : Console(Audience::kOthers);
  }
  /// Bytes that all ranks together gave to gather(), by what they were about. Each rank has to
  /// ask.
  std::map<std::string, std::uint64_t> sent();
  /// This rank will end without the others.
  void leave() { leaves_ = true; }
  /// Returns when every rank has called it.
  void wait() const;
  /// The part [first, end) of `total` pieces of work that is this rank's.
  std::pair<std::size_t, std::size_t> share(std::size_t total) const;

 private:
  int own_ = 0;
  int count_ = 1;
  bool is_started_ = false;  ///< MPI
  bool leaves_ = false;
  std::map<Message, std::uint64_t> sent_;  ///< by this rank
};

/// The rank that mpirun gave this process; 0 where it started none. Starts no MPI.
int rank_of_process();

}  // namespace tare::cli
