#pragma once

#include "tare/statistics.h"

#include <barrier>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tare::test {

/// What the members of a team share.
struct Exchange {
  explicit Exchange(int count)
      : messages(static_cast<std::size_t>(count)), all_here(count), all_read(count) {}

  std::vector<std::string> messages;
  std::barrier<> all_here;
  std::barrier<> all_read;
  std::mutex mutex;
  std::map<Message, std::size_t> bytes;
};

/// Stands for a process, which gets nothing from the others but what they tell it.
class Member final : public Communicator {
 public:
  Member(Exchange& table, int rank) : table_(table), rank_(rank) {}
  int rank() const override { return rank_; }
  int count() const override { return static_cast<int>(table_.messages.size()); }
  std::vector<std::string> gather(std::string own, Message about) override {
    {
      const std::lock_guard lock(table_.mutex);
      table_.bytes[about] += own.size();
    }
    table_.messages[static_cast<std::size_t>(rank_)] = std::move(own);
    table_.all_here.arrive_and_wait();
    std::vector<std::string> result = table_.messages;
    table_.all_read.arrive_and_wait();
    return result;
  }

 private:
  Exchange& table_;
  int rank_;
};

/// What each member of a team makes of its work, in a thread of its own.
template <class Work>
auto by_team(int count, const Work& work) {
  using Result = decltype(work(std::declval<Member&>()));
  Exchange table(count);
  std::vector<std::optional<Result>> results(static_cast<std::size_t>(count));
  std::vector<std::thread> members;
  for (int rank = 0; rank < count; ++rank) {
    members.emplace_back([&, rank] {
      Member member(table, rank);
      results[static_cast<std::size_t>(rank)].emplace(work(member));
    });
  }
  for (std::thread& member : members) {
    member.join();
  }
  std::vector<Result> all;
  for (std::optional<Result>& result : results) {
    all.push_back(*std::move(result));
  }
  return all;
}

}  // namespace tare::test
