// The two filters that nearly all files use. Cost: one pass over the bytes for each.
#include "io/hdf5_filters.h"

#include "tare/error.h"

#include <algorithm>
#include <array>
#include <new>
#include <string>
#include <utility>

#ifdef TARE_WITH_LIBDEFLATE
#include <libdeflate.h>
#else
#include <zlib.h>
#endif

namespace tare::hdf5 {
namespace {

using Bytes = std::unique_ptr<std::byte[]>;

Error damaged(const std::string& what) {
  return {ErrorCode::kInvalidData, "", what};
}

void require_size(std::size_t found, std::size_t size) {
  if (found != size) {
    throw damaged("a chunk of it holds " + std::to_string(found) + " bytes")
        .expected(std::to_string(size));
  }
}

/// False where the bytes are no such stream, or one of another size.
#ifdef TARE_WITH_LIBDEFLATE
bool inflate(std::span<const std::byte> packed, std::span<std::byte> result) {
  struct Free {
    void operator()(libdeflate_decompressor* state) { libdeflate_free_decompressor(state); }
  };
  thread_local const std::unique_ptr<libdeflate_decompressor, Free> state(
      libdeflate_alloc_decompressor());
  if (state == nullptr) {
    throw std::bad_alloc();
  }
  return libdeflate_zlib_decompress(state.get(), packed.data(), packed.size(), result.data(),
                                    result.size(), nullptr) == LIBDEFLATE_SUCCESS;
}
#else
bool inflate(std::span<const std::byte> packed, std::span<std::byte> result) {
  uLongf found = result.size();
  return uncompress(reinterpret_cast<Bytef*>(result.data()), &found,
                    reinterpret_cast<const Bytef*>(packed.data()), packed.size()) == Z_OK &&
         found == result.size();
}
#endif

Bytes inflated(std::span<const std::byte> packed, std::size_t size) {
  auto result = std::make_unique_for_overwrite<std::byte[]>(size);
  if (!inflate(packed, {result.get(), size})) {
    throw damaged("a chunk of it is not what was deflated");
  }
  return result;
}

/// The extent is known to the compiler, for which the loop becomes a few shuffles.
template <std::size_t kBytes>
void unshuffle(const std::byte* from, std::size_t count, std::byte* to) {
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t byte = 0; byte < kBytes; ++byte) {
      to[i * kBytes + byte] = from[byte * count + i];
    }
  }
}

/// The first bytes of all elements came first, then the second ones, and so on; what is less
/// than an element came last.
Bytes unshuffled(std::span<const std::byte> bytes, std::size_t element_bytes) {
  auto result = std::make_unique_for_overwrite<std::byte[]>(bytes.size());
  const std::size_t count = bytes.size() / element_bytes;
  switch (element_bytes) {
    case 2:
      unshuffle<2>(bytes.data(), count, result.get());
      break;
    case 4:
      unshuffle<4>(bytes.data(), count, result.get());
      break;
    case 8:
      unshuffle<8>(bytes.data(), count, result.get());
      break;
    default:
      for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t byte = 0; byte < element_bytes; ++byte) {
          result[i * element_bytes + byte] = bytes[byte * count + i];
        }
      }
  }
  const std::size_t whole = count * element_bytes;
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(whole), bytes.size() - whole,
              result.get() + whole);
  return result;
}

}  // namespace

std::optional<Filters> Filters::of(const Handle& properties, std::size_t element_bytes) {
  Filters result;
  const int count = checked(H5Pget_nfilters(properties.get()), "its filters");
  for (int i = 0; i < count; ++i) {
    unsigned flags = 0;
    std::array<unsigned, 1> values{};
    std::size_t found = values.size();
    const H5Z_filter_t filter =
        H5Pget_filter2(properties.get(), static_cast<unsigned>(i), &flags, &found,
                       values.data(), 0, nullptr, nullptr);
    if (filter == H5Z_FILTER_SHUFFLE) {
      // Some files leave it out.
      const bool is_told = found > 0 && values[0] > 0;
      result.filters_.push_back(
          {.is_shuffle = true, .element_bytes = is_told ? values[0] : element_bytes});
    } else if (filter == H5Z_FILTER_DEFLATE) {
      result.filters_.emplace_back();
    } else {
      return std::nullopt;
    }
  }
  return result;
}

Bytes Filters::decode(std::span<const std::byte> stored, std::uint32_t skipped,
                      std::size_t size) const {
  Bytes result;
  std::span<const std::byte> bytes = stored;
  for (std::size_t i = filters_.size(); i-- > 0;) {
    if ((skipped >> i & 1U) != 0) {
      continue;
    }
    if (filters_[i].is_shuffle) {
      require_size(bytes.size(), size);
    }
    result = filters_[i].is_shuffle ? unshuffled(bytes, filters_[i].element_bytes)
                                    : inflated(bytes, size);
    bytes = {result.get(), size};
  }
  require_size(bytes.size(), size);
  if (result == nullptr) {
    result = std::make_unique_for_overwrite<std::byte[]>(size);
    std::copy(bytes.begin(), bytes.end(), result.get());
  }
  return result;
}

}  // namespace tare::hdf5
