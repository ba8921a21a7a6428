#include "tare/statistics.h"

#include "base/check.h"

#include <cstring>
#include <numeric>

namespace tare {

void Communicator::gather_in_place(std::span<std::byte> all, std::span<const std::size_t> sizes,
                                   Message about) {
  const auto own = static_cast<std::size_t>(rank());
  const auto before_own =
      std::accumulate(sizes.begin(), sizes.begin() + rank(), std::size_t{0});
  const std::vector<std::string> messages =
      gather({reinterpret_cast<const char*>(all.data()) + before_own, sizes[own]}, about);
  std::byte* to = all.data();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    check(messages[i].size() == sizes[i], "processes disagree on what each has");
    if (i != own && sizes[i] > 0) {
      std::memcpy(to, messages[i].data(), sizes[i]);
    }
    to += sizes[i];
  }
}

}  // namespace tare
