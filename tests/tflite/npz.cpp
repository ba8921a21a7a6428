#include "tflite/npz.h"

#include "support/files/files.h"

#include <cstring>
#include <regex>
#include <stdexcept>
#include <vector>

#include <zlib.h>

namespace tare::test {
namespace {

template <class T>
T number_at(const std::string& bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// The bytes of one member of an archive; `at` is its local header.
std::string member(const std::string& zip, std::size_t at, std::uint32_t packed,
                   std::uint32_t size) {
  const auto method = number_at<std::uint16_t>(zip, at + 8);
  const std::size_t begin =
      at + 30 + number_at<std::uint16_t>(zip, at + 26) + number_at<std::uint16_t>(zip, at + 28);
  if (method == 0) {
    return zip.substr(begin, size);
  }
  std::string result(size, '\0');
  z_stream stream{};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(zip.data() + begin));
  stream.avail_in = packed;
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = size;
  const bool done =
      inflateInit2(&stream, -MAX_WBITS) == Z_OK && inflate(&stream, Z_FINISH) == Z_STREAM_END;
  inflateEnd(&stream);
  if (!done) {
    throw std::runtime_error("a member of the archive is damaged");
  }
  return result;
}

DType dtype_of(const std::string& kind) {
  static const std::map<std::string, DType> kinds{
      {"|i1", DType::kInt8},    {"|u1", DType::kUint8}, {"<i2", DType::kInt16},
      {"<i4", DType::kInt32},   {"<i8", DType::kInt64}, {"<f4", DType::kFloat32},
      {"<f8", DType::kFloat64}, {"|b1", DType::kBool}};
  return kinds.at(kind);
}

Tensor array(const std::string& npy) {
  const std::string header = npy.substr(10, number_at<std::uint16_t>(npy, 8));
  std::smatch found;
  if (!std::regex_search(header, found,
                         std::regex("'descr': '([^']+)'.*'shape': \\(([^)]*)\\)"))) {
    throw std::runtime_error("not an array: " + header);
  }
  const std::string extents = found[2];
  const std::regex digits("\\d+");
  Shape shape;
  for (std::sregex_iterator it(extents.begin(), extents.end(), digits), end; it != end; ++it) {
    shape.push_back(std::stoll(it->str()));
  }
  Tensor result(dtype_of(found[1]), shape);
  std::memcpy(result.mutable_data(), npy.data() + 10 + header.size(), result.byte_size());
  return result;
}

}  // namespace

std::map<std::string, Tensor> read_npz(const std::filesystem::path& path) {
  const std::string zip = bytes_of(path);
  const std::size_t end = zip.rfind("PK\5\6");
  if (end == std::string::npos) {
    throw std::runtime_error(path.string() + " is no archive");
  }
  std::map<std::string, Tensor> result;
  std::size_t at = number_at<std::uint32_t>(zip, end + 16);
  for (std::uint16_t left = number_at<std::uint16_t>(zip, end + 10); left > 0; --left) {
    const auto name_size = number_at<std::uint16_t>(zip, at + 28);
    std::string name = zip.substr(at + 46, name_size);
    name.resize(name.size() - std::strlen(".npy"));
    result.emplace(name, array(member(zip, number_at<std::uint32_t>(zip, at + 42),
                                      number_at<std::uint32_t>(zip, at + 20),
                                      number_at<std::uint32_t>(zip, at + 24))));
    at += 46U + name_size + number_at<std::uint16_t>(zip, at + 30) +
          number_at<std::uint16_t>(zip, at + 32);
  }
  return result;
}

}  // namespace tare::test
