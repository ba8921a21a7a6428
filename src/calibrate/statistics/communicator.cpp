#include "tare/statistics.h"

#include "base/check.h"

#include <cstring>

namespace tare {

void Communicator::gather_in_place(std::span<std::byte> all, std::span<const std::size_t> sizes,
                                   Message about) {
  const auto own = static_cast<std::size_t>(rank());
  std::vector<std::string> messages;
  std::size_t first = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto part = all.subspan(first, sizes[i]);
    if (i == own) {
      messages = gather({reinterpret_cast<const char*>(part.data()), part.size()}, about);
    }
    first += sizes[i];
  }
  first = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    check(messages[i].size() == sizes[i], "processes disagree on what each has");
    if (i != own && sizes[i] > 0) {
      std::memcpy(&all[first], messages[i].data(), sizes[i]);
    }
    first += sizes[i];
  }
}

}  // namespace tare
