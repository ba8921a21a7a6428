#include "ranks.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <exception>

#ifdef TARE_WITH_MPI
#include <mpi.h>
#endif

namespace tare::cli {
namespace {

/// One for each kind of message.
using ByteCounts = std::array<std::uint64_t, 6>;

}  // namespace

#ifdef TARE_WITH_MPI

namespace {

/// Starting MPI takes a while, so it is left alone in processes that mpirun did not start.
bool is_one_of_many() {
  const auto has = [](const char* name) {
    return std::getenv(name) != nullptr;  // NOLINT(concurrency-mt-unsafe): nobody sets any
  };
  return has("OMPI_COMM_WORLD_SIZE") || has("PMI_SIZE");
}

/// Messages of all ranks to all others, on their way at once: one after another, each rank
/// would wait for the others in turn.
class Broadcasts {
 public:
  /// Of `rank`, which has these bytes already.
  void start(void* bytes, std::size_t size, int rank) {
    // Counts of MPI are int, which messages of one layer may exceed: so in pieces.
    constexpr std::size_t kPiece = std::size_t{1} << 30U;
    for (std::size_t first = 0; first < size; first += kPiece) {
      MPI_Ibcast(static_cast<char*>(bytes) + first,
                 static_cast<int>(std::min(kPiece, size - first)), MPI_BYTE, rank,
                 MPI_COMM_WORLD, &pieces_.emplace_back());
    }
  }
  void wait() {
    MPI_Waitall(static_cast<int>(pieces_.size()), pieces_.data(), MPI_STATUSES_IGNORE);
  }

 private:
  std::vector<MPI_Request> pieces_;
};

}  // namespace

int rank_of_process() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"}) {
    const char* rank = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets any
    if (rank != nullptr) {
      return std::atoi(rank);  // NOLINT(cert-err34-c): a number, as mpirun wrote it
    }
  }
  return 0;
}

Ranks::Ranks(bool shared) : is_started_(shared && is_one_of_many()) {
  if (is_started_) {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_rank(MPI_COMM_WORLD, &own_);
    MPI_Comm_size(MPI_COMM_WORLD, &count_);
  }
}

Ranks::~Ranks() {
  if (is_started_ && !leaves_ && std::uncaught_exceptions() == 0) {
    MPI_Finalize();
  }
}

void Ranks::wait() const {
  if (is_started_) {
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

std::vector<std::string> Ranks::gather(std::string own, Message about) {
  const unsigned long long size = own.size();
  sent_[about] += size;
  const auto ranks = static_cast<std::size_t>(count_);
  std::vector<std::string> result(ranks);
  result[static_cast<std::size_t>(own_)] = std::move(own);
  if (alone()) {
    return result;
  }
  std::vector<unsigned long long> sizes(ranks);
  MPI_Allgather(&size, 1, MPI_UNSIGNED_LONG_LONG, sizes.data(), 1, MPI_UNSIGNED_LONG_LONG,
                MPI_COMM_WORLD);
  Broadcasts messages;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    std::string& bytes = result[rank];
    bytes.resize(sizes[rank]);  // our own are here already
    messages.start(bytes.data(), bytes.size(), static_cast<int>(rank));
  }
  messages.wait();
  return result;
}

void Ranks::gather_in_place(std::span<std::byte> all, std::span<const std::size_t> sizes,
                            Message about) {
  sent_[about] += sizes[static_cast<std::size_t>(own_)];
  Broadcasts messages;
  std::size_t first = 0;
  for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
    messages.start(all.data() + first, sizes[rank], static_cast<int>(rank));
    first += sizes[rank];
  }
  messages.wait();
}

#else

int rank_of_process() {
  return 0;
}

Ranks::Ranks(bool) {}
Ranks::~Ranks() = default;
void Ranks::wait() const {}

std::vector<std::string> Ranks::gather(std::string own, Message) {
  return {std::move(own)};
}

void Ranks::gather_in_place(std::span<std::byte>, std::span<const std::size_t>, Message) {}

#endif

std::map<std::string, std::uint64_t> Ranks::sent() {
  constexpr std::array kNames{std::pair(Message::kStatistics, "statistics"),
                              std::pair(Message::kErrors, "errors"),
                              std::pair(Message::kRows, "rows"),
                              std::pair(Message::kHessians, "hessians"),
                              std::pair(Message::kRoundings, "roundings"),
                              std::pair(Message::kOther, "other")};
  ByteCounts own{};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    own[i] = sent_[kNames[i].first];
  }
  std::map<std::string, std::uint64_t> result;
  for (const std::string& message :
       gather({reinterpret_cast<const char*>(own.data()), sizeof(own)}, Message::kOther)) {
    ByteCounts theirs{};
    std::memcpy(theirs.data(), message.data(), sizeof(theirs));
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      result[kNames[i].second] += theirs[i];
    }
  }
  return result;
}

std::pair<std::size_t, std::size_t> Ranks::share(std::size_t total) const {
  const auto boundary = [&](int rank) {
    return total * static_cast<std::size_t>(rank) / static_cast<std::size_t>(count_);
  };
  return {boundary(own_), boundary(own_ + 1)};
}

}  // namespace tare::cli
