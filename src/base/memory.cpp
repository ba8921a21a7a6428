
#include "tare/process.h"

#include "base/control_group.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include <sys/resource.h>
#include <unistd.h>

namespace tare {
namespace {

std::atomic<std::size_t> limit_set{0};

constexpr std::size_t kEndless = std::numeric_limits<std::size_t>::max();

std::size_t of_machine() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGE_SIZE);
  return pages > 0 && page > 0
             ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page)
             : kEndless;
}

std::size_t of_control_group() {
  std::ifstream file("/proc/self/cgroup");
  const std::string membership{std::istreambuf_iterator<char>(file), {}};
  return memory_of_control_group(membership, "/sys/fs/cgroup").value_or(kEndless);
}

std::size_t of_process() {
  rlimit limit{};
  const bool limited = ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return limited ? static_cast<std::size_t>(limit.rlim_cur) : kEndless;
}

}  // namespace

std::size_t available_memory() {
  static const std::size_t of_host = std::min(of_machine(), of_control_group());
  return std::min(of_host, of_process());
}

std::size_t memory_limit() {
  const std::size_t set = limit_set.load();
  return set != 0 ? set : available_memory() / 2;
}

void set_memory_limit(std::size_t bytes) {
  limit_set = bytes;
}

std::string memory_text(double bytes) {
  constexpr std::array kUnits{"bytes", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < kUnits.size(); ++unit) {
    bytes /= 1000;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", bytes,
                kUnits.at(unit));
  return text.data();
}

}  // namespace tare
