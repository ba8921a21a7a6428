#include "ranks.h"

#include <cstdlib>
#include <exception>

#ifdef TARE_WITH_MPI
#include <mpi.h>
#endif

namespace tare::cli {

#ifdef TARE_WITH_MPI

namespace {

/// Starting MPI takes a while, so it is left alone in processes that mpirun did not start.
bool is_one_of_many() {
  const auto has = [](const char* name) {
    return std::getenv(name) != nullptr;  // NOLINT(concurrency-mt-unsafe): nobody sets any
  };
  return has("OMPI_COMM_WORLD_SIZE") || has("PMI_SIZE");
}

}  // namespace

Ranks::Ranks() {
  if (is_one_of_many()) {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_rank(MPI_COMM_WORLD, &own_);
    MPI_Comm_size(MPI_COMM_WORLD, &count_);
  }
}

Ranks::~Ranks() {
  if (is_one_of_many() && std::uncaught_exceptions() == 0) {
    MPI_Finalize();
  }
}

void Ranks::wait() const {
  if (is_one_of_many()) {
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

#else

Ranks::Ranks() = default;
Ranks::~Ranks() = default;
void Ranks::wait() const {}

#endif

std::pair<std::size_t, std::size_t> Ranks::share(std::size_t total) const {
  const auto boundary = [&](int rank) {
    return total * static_cast<std::size_t>(rank) / static_cast<std::size_t>(count_);
  };
  return {boundary(own_), boundary(own_ + 1)};
}

}  // namespace tare::cli
