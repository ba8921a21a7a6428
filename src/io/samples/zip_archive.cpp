// Reads the directory at the end of the file, whose entries say where the others are. What both
// a local header and the directory say goes by the directory. Our own reader, as arrays that
// are stored are to be read in place by several threads at once: libzip does not say where in
// the file an entry is, and serves one thread at a time. The unpacking is zlib's.
#include "io/samples/zip_archive.h"

#include "tare/error.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include <zlib.h>

namespace tare {
namespace {

constexpr std::uint32_t kEndMark = 0x06054b50;
constexpr std::uint32_t kEnd64Mark = 0x06064b50;
constexpr std::uint32_t kLocator64Mark = 0x07064b50;
constexpr std::uint32_t kDirectoryMark = 0x02014b50;
constexpr std::uint32_t kLocalMark = 0x04034b50;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kEnd64Bytes = 56;
constexpr std::size_t kLocator64Bytes = 20;
constexpr std::size_t kDirectoryBytes = 46;
constexpr std::size_t kLocalBytes = 30;
constexpr std::uint64_t kMostDirectory = 16U << 20U;
constexpr std::uint64_t kIn64 = 0xFFFFFFFF;  ///< in place of a number of 64 bits
/// Deflate does not pack more than 1032 bytes into one.
constexpr std::uint64_t kMostInByte = 1032;

Error bad_zip(const std::string& what) {
  return Error(ErrorCode::kInvalidData, "", what).expected("a .npz file of NumPy");
}

using Bytes = std::span<const std::byte>;

/// Little-endian; nothing outside is read.
std::uint64_t number(Bytes bytes, std::size_t at, std::size_t size) {
  if (at > bytes.size() || size > bytes.size() - at) {
    throw bad_zip("has a directory that is cut off");
  }
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    value |= std::to_integer<std::uint64_t>(bytes[at + i]) << (8 * i);
  }
  return value;
}

std::vector<std::byte> part(const InputFile& file, std::uint64_t offset, std::uint64_t size) {
  if (offset > file.size() || size > file.size() - offset) {
    throw bad_zip("claims parts beyond its end");
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  file.read(offset, bytes);
  return bytes;
}

struct Directory {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t count = 0;
};

/// Before a comment of up to 64 KiB.
Directory find_directory(const InputFile& file) {
  constexpr std::uint64_t kMostComment = 0xFFFF;
  const std::uint64_t size = std::min<std::uint64_t>(file.size(), kEndBytes + kMostComment);
  const std::uint64_t start = file.size() - size;
  const std::vector<std::byte> tail = part(file, start, size);
  for (std::size_t at = tail.size() < kEndBytes ? 0 : tail.size() - kEndBytes + 1; at-- > 0;) {
    if (number(tail, at, 4) != kEndMark) {
      continue;
    }
    Directory found{.offset = number(tail, at + 16, 4),
                    .size = number(tail, at + 12, 4),
                    .count = number(tail, at + 10, 2)};
    if (found.offset == kIn64 || found.size == kIn64 || found.count == 0xFFFF) {
      if (start + at < kLocator64Bytes) {
        throw bad_zip("has a directory that is cut off");
      }
      const auto locator = part(file, start + at - kLocator64Bytes, kLocator64Bytes);
      if (number(locator, 0, 4) != kLocator64Mark) {
        throw bad_zip("has no directory");
      }
      const auto end = part(file, number(locator, 8, 8), kEnd64Bytes);
      if (number(end, 0, 4) != kEnd64Mark) {
        throw bad_zip("has no directory");
      }
      found = {.offset = number(end, 48, 8),
               .size = number(end, 40, 8),
               .count = number(end, 32, 8)};
    }
    return found;
  }
  throw bad_zip("is no ZIP file, or is cut off");
}

/// Replaces the numbers that did not fit by those of 64 bits in the extra field, in their
/// order.
void widen(Bytes extra, std::array<std::uint64_t*, 3> numbers) {
  while (extra.size() >= 4) {
    const std::uint64_t id = number(extra, 0, 2);
    const std::uint64_t size = number(extra, 2, 2);
    if (size > extra.size() - 4) {
      break;
    }
    if (id == 1) {
      std::size_t at = 4;
      for (std::uint64_t* value : numbers) {
        if (*value == kIn64) {
          *value = number(extra.first(4 + static_cast<std::size_t>(size)), at, 8);
          at += 8;
        }
      }
      return;
    }
    extra = extra.subspan(4 + static_cast<std::size_t>(size));
  }
}

bool leads_out(const std::string& name) {
  return name == ".." || name.starts_with("../") || name.find("/../") != std::string::npos ||
         name.ends_with("/..") || name.find('\\') != std::string::npos ||
         name.find('\0') != std::string::npos;
}

void require_sound(const ZipArchive::Entry& entry, std::uint64_t flags, std::uint64_t method,
                   std::uint64_t file_size) {
  const std::string what = "holds an entry '" + entry.name + "' ";
  if (leads_out(entry.name)) {
    throw bad_zip(what + "whose name is a path out of the archive");
  }
  if ((flags & 1U) != 0) {
    throw bad_zip(what + "that is encrypted");
  }
  if (method != 0 && method != 8) {
    throw bad_zip(what + "packed by method " + std::to_string(method));
  }
  const bool fits = entry.deflated ? entry.size / kMostInByte <= entry.compressed
                                   : entry.size == entry.compressed;
  if (entry.compressed > file_size || !fits) {
    throw bad_zip(what + "that claims " + std::to_string(entry.size) + " bytes, packed in " +
                  std::to_string(entry.compressed));
  }
}

/// Owns the state of the library.
struct Inflater {
  z_stream stream{};
  Inflater() {
    constexpr int kRaw = -15;
    if (inflateInit2(&stream, kRaw) != Z_OK) {
      throw Error(ErrorCode::kIo, "", "zlib does not start");
    }
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
};

}  // namespace

ZipArchive::ZipArchive(const InputFile& file) : file_(file) {
  const Directory directory = find_directory(file);
  if (directory.size > kMostDirectory) {
    throw bad_zip("has a directory of " + std::to_string(directory.size) + " bytes");
  }
  read_directory(directory.offset, directory.size, directory.count);
}

void ZipArchive::read_directory(std::uint64_t offset, std::uint64_t size, std::uint64_t count) {
  const std::vector<std::byte> all = part(file_, offset, size);
  Bytes rest(all);
  std::set<std::string> names;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (number(rest, 0, 4) != kDirectoryMark) {
      throw bad_zip("has a damaged directory");
    }
    const auto name_size = static_cast<std::size_t>(number(rest, 28, 2));
    const auto extra_size = static_cast<std::size_t>(number(rest, 30, 2));
    const std::size_t bytes = kDirectoryBytes + name_size + extra_size +
                              static_cast<std::size_t>(number(rest, 32, 2));
    if (bytes > rest.size()) {
      throw bad_zip("has a directory that is cut off");
    }
    Entry entry;
    entry.name = {reinterpret_cast<const char*>(rest.data()) + kDirectoryBytes, name_size};
    const std::uint64_t method = number(rest, 10, 2);
    entry.deflated = method == 8;
    entry.checksum = static_cast<std::uint32_t>(number(rest, 16, 4));
    entry.compressed = number(rest, 20, 4);
    entry.size = number(rest, 24, 4);
    entry.header = number(rest, 42, 4);
    widen(rest.subspan(kDirectoryBytes + name_size, extra_size),
          {&entry.size, &entry.compressed, &entry.header});
    require_sound(entry, number(rest, 8, 2), method, file_.size());
    if (!names.insert(entry.name).second) {
      throw bad_zip("holds two entries '" + entry.name + "'");
    }
    entries_.push_back(std::move(entry));
    rest = rest.subspan(bytes);
  }
}

std::uint64_t ZipArchive::begin(const Entry& entry) const {
  const std::vector<std::byte> local = part(file_, entry.header, kLocalBytes);
  if (number(local, 0, 4) != kLocalMark) {
    throw bad_zip("holds no entry where '" + entry.name + "' should be");
  }
  const std::uint64_t begin =
      entry.header + kLocalBytes + number(local, 26, 2) + number(local, 28, 2);
  if (begin > file_.size() || entry.compressed > file_.size() - begin) {
    throw bad_zip("is cut off within '" + entry.name + "'");
  }
  return begin;
}

void ZipArchive::inflate(const Entry& entry,
                         const std::function<bool(std::span<const std::byte>)>& take) const {
  constexpr std::size_t kPiece = 1 << 16;
  std::vector<std::byte> packed(kPiece);
  std::vector<std::byte> plain(kPiece);
  Inflater inflater;
  z_stream& stream = inflater.stream;
  std::uint64_t at = begin(entry);
  std::uint64_t left = entry.compressed;
  std::uint64_t done = 0;
  uLong checksum = crc32(0, nullptr, 0);
  for (int state = Z_OK; state != Z_STREAM_END;) {
    if (stream.avail_in == 0 && left > 0) {
      const auto next = static_cast<std::size_t>(std::min<std::uint64_t>(left, kPiece));
      file_.read(at, std::span(packed).first(next));
      stream.next_in = reinterpret_cast<Bytef*>(packed.data());
      stream.avail_in = static_cast<uInt>(next);
      at += next;
      left -= next;
    }
    stream.next_out = reinterpret_cast<Bytef*>(plain.data());
    stream.avail_out = kPiece;
    state = ::inflate(&stream, Z_NO_FLUSH);
    const std::size_t count = kPiece - stream.avail_out;
    done += count;
    if ((state != Z_OK && state != Z_STREAM_END) || done > entry.size ||
        (count == 0 && state == Z_OK && left == 0)) {
      throw bad_zip("holds an entry '" + entry.name + "' that is damaged or cut off");
    }
    checksum =
        crc32(checksum, reinterpret_cast<const Bytef*>(plain.data()), static_cast<uInt>(count));
    if (!take(std::span(plain).first(count))) {
      return;
    }
  }
  if (done != entry.size || checksum != entry.checksum) {
    throw bad_zip("holds an entry '" + entry.name + "' that does not fit its checksum");
  }
}

}  // namespace tare
