#pragma once

#include "base/input_file.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tare {

/// A ZIP file as NumPy writes it: entries are stored or deflated, sizes may have 64 bits.
/// Nothing of it is ever written to a file of its name. Throws Error(kInvalidData) with an
/// empty `where` for what is none, is encrypted or split, or claims more than it holds.
class ZipArchive {
 public:
  struct Entry {
    std::string name;
    bool deflated = false;
    std::uint64_t header = 0;      ///< where its local header is
    std::uint64_t compressed = 0;  ///< bytes in the file
    std::uint64_t size = 0;        ///< bytes that they stand for
    std::uint32_t checksum = 0;
  };

  /// The file has to outlive it.
  explicit ZipArchive(const InputFile&);

  const std::vector<Entry>& entries() const { return entries_; }
  /// Of one that is stored: where its bytes begin.
  std::uint64_t begin(const Entry&) const;
  /// Hands what an entry stands for to `take`, piece by piece, until that says false. Throws
  /// Error(kInvalidData) where it does not fit the sum of its bytes or ends too early.
  void inflate(const Entry&, const std::function<bool(std::span<const std::byte>)>& take) const;

 private:
  void read_directory(std::uint64_t offset, std::uint64_t size, std::uint64_t count);

  const InputFile& file_;
  std::vector<Entry> entries_;
};

}  // namespace tare
