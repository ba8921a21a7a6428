// The header of NumPy's format: a magic number, a version, a length, and a dictionary as Python
// writes it, of which only what matters here is read: type, order and shape.
#include "io/samples/npy.h"

#include "tare/error.h"

#include "base/truth_values.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstring>
#include <string_view>

namespace tare {
namespace {

constexpr std::size_t kPreamble = 12;

Error bad_npy(const std::string& what) {
  return {ErrorCode::kInvalidData, "", what};
}

/// What stands behind 'key': in the dictionary.
std::string_view value_of(std::string_view text, const std::string& key) {
  for (const char quote : {'\'', '"'}) {
    const std::string word = quote + key + quote;
    const std::size_t found = text.find(word);
    if (found != std::string_view::npos) {
      std::string_view rest = text.substr(found + word.size());
      const std::size_t begin = rest.find_first_not_of(" \t");
      if (begin != std::string_view::npos && rest[begin] == ':') {
        rest.remove_prefix(begin + 1);
        rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
        return rest;
      }
    }
  }
  throw bad_npy("has a header without '" + key + "'").expected("an array of NumPy");
}

DType numpy_type(std::string_view text) {
  const char quote = text.empty() ? '\0' : text.front();
  const std::size_t end = quote == '\'' || quote == '"' ? text.find(quote, 1) : 0;
  if (end == std::string_view::npos || end == 0) {
    throw bad_npy("holds records").expected("an array of numbers");
  }
  const std::string_view name = text.substr(1, end - 1);
  constexpr std::array<std::pair<std::string_view, DType>, 12> kTypes{{{"f4", DType::kFloat32},
                                                                       {"f8", DType::kFloat64},
                                                                       {"f2", DType::kFloat16},
                                                                       {"i1", DType::kInt8},
                                                                       {"u1", DType::kUint8},
                                                                       {"i2", DType::kInt16},
                                                                       {"u2", DType::kUint16},
                                                                       {"i4", DType::kInt32},
                                                                       {"u4", DType::kUint32},
                                                                       {"i8", DType::kInt64},
                                                                       {"u8", DType::kUint64},
                                                                       {"b1", DType::kBool}}};
  const auto found = std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& type) {
    return name.size() == 3 && name.substr(1) == type.first;
  });
  if (name.find('O') != std::string_view::npos) {
    throw bad_npy("holds objects of Python, which are programs").expected("numbers");
  }
  if (found == kTypes.end()) {
    throw bad_npy("holds elements of type '" + std::string(name) + "'").expected("numbers");
  }
  if (name[0] == '>') {
    throw bad_npy("stores the highest byte first ('" + std::string(name) + "')")
        .expected("the lowest first")
        .hint("x.astype(x.dtype.newbyteorder('<')) is the same array in that order");
  }
  if (name[0] != '<' && name[0] != '|' && name[0] != '=') {
    throw bad_npy("holds elements of type '" + std::string(name) + "'").expected("numbers");
  }
  return found->second;
}

Shape tuple_of(std::string_view text) {
  const std::size_t end = text.find(')');
  if (text.empty() || text[0] != '(' || end == std::string_view::npos) {
    throw bad_npy("has a header without a shape").expected("an array of NumPy");
  }
  constexpr std::size_t kMostAxes = 16;
  Shape shape;
  std::string_view rest = text.substr(1, end - 1);
  const auto skip = [&](std::string_view characters) {
    rest.remove_prefix(std::min(rest.find_first_not_of(characters), rest.size()));
  };
  skip(" ");
  while (!rest.empty()) {
    std::int64_t extent = 0;
    const auto [next, error] = std::from_chars(rest.data(), rest.data() + rest.size(), extent);
    if (error != std::errc{} || extent < 0 || shape.size() == kMostAxes) {
      throw bad_npy("has a shape that is none: '" + std::string(text.substr(0, end + 1)) + "'");
    }
    shape.push_back(extent);
    rest.remove_prefix(static_cast<std::size_t>(next - rest.data()));
    skip("L ");  // of Python 2
    if (!rest.empty() && rest[0] != ',') {
      throw bad_npy("has a shape that is none: '" + std::string(text.substr(0, end + 1)) + "'");
    }
    skip(", ");
  }
  return shape;
}

}  // namespace

DType NpyHeader::read_type() const {
  return is_float(dtype) ? DType::kFloat32 : dtype;
}

NpyHeader parse_npy_header(std::span<const std::byte> start, std::uint64_t size) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  if (start.size() < kPreamble ||
      std::memcmp(start.data(), kMagic.data(), kMagic.size()) != 0) {
    throw bad_npy("is no array of NumPy");
  }
  const auto byte = [&](std::size_t at) { return std::to_integer<std::uint32_t>(start[at]); };
  const std::uint32_t version = byte(6);
  if (version < 1 || version > 3) {
    throw bad_npy("is of version " + std::to_string(version) + " of NumPy's format")
        .expected("1 to 3");
  }
  const std::size_t begin = version == 1 ? 10 : 12;
  const std::uint64_t length =
      version == 1 ? byte(8) | byte(9) << 8U
                   : byte(8) | byte(9) << 8U | byte(10) << 16U | byte(11) << 24U;
  if (length > start.size() - begin) {
    throw bad_npy("has a header of " + std::to_string(length) +
                  " bytes that is cut off or too "
                  "long for one");
  }
  const std::string_view text(reinterpret_cast<const char*>(start.data()) + begin, length);
  NpyHeader header;
  header.dtype = numpy_type(value_of(text, "descr"));
  header.shape = tuple_of(value_of(text, "shape"));
  header.data = begin + length;
  const std::string_view order = value_of(text, "fortran_order");
  const auto above_one = std::count_if(header.shape.begin(), header.shape.end(),
                                       [](std::int64_t extent) { return extent > 1; });
  if (!order.starts_with("False") && above_one > 1) {
    throw bad_npy("is stored column by column (fortran_order)")
        .expected("row by row")
        .hint("numpy.ascontiguousarray(x) is the same array in that order");
  }
  if (!is_addressable(header.shape) || static_cast<std::uint64_t>(element_count(header.shape)) >
                                           (size - header.data) / size_of(header.dtype)) {
    throw bad_npy("claims shape " + to_string(header.shape) + " of " +
                  std::string(name_of(header.dtype)) + ", but holds " +
                  std::to_string(size - header.data) + " bytes");
  }
  return header;
}

NpyHeader read_npy_header(const ArrayBytes& bytes) {
  std::vector<std::byte> start(
      static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size, kMostNpyHeader)));
  bytes.read(0, start);
  return parse_npy_header(start, bytes.size);
}

ArrayLayout layout_of(const Shape& array, const ModelInput* input) {
  const bool is_one = array.empty() || (input != nullptr && input->shape &&
                                        array.size() + 1 == input->shape->size());
  ArrayLayout layout{.samples = is_one ? 1 : static_cast<std::size_t>(array[0]),
                     .sample = {array.begin() + (is_one ? 0 : 1), array.end()}};
  if (layout.samples == 0) {
    throw bad_npy("holds no samples: shape " + to_string(array));
  }
  constexpr std::int64_t kMostElements = std::int64_t{1} << 30;
  const std::int64_t elements = element_count(layout.sample);
  if (elements == 0 || elements > kMostElements) {
    throw bad_npy("holds samples of shape " + to_string(layout.sample))
        .expected("1 to 2^30 elements");
  }
  return layout;
}

Tensor read_elements(const ArrayBytes& bytes, const NpyHeader& header, std::uint64_t first,
                     Shape shape) {
  Tensor stored(header.dtype, std::move(shape));
  const std::size_t count = stored.byte_size();
  bytes.read(header.data + first * size_of(header.dtype), {stored.mutable_data(), count});
  if (header.dtype == DType::kBool) {
    make_truth_values({stored.mutable_data(), count});
  }
  return header.read_type() == header.dtype
             ? stored
             : Tensor::of<float>(stored.shape(), stored.to_float());
}

const ModelInput* find_input(const std::vector<ModelInput>& inputs, const std::string& name) {
  const auto found = std::find_if(inputs.begin(), inputs.end(),
                                  [&](const ModelInput& input) { return input.name == name; });
  return found == inputs.end() ? nullptr : &*found;
}

}  // namespace tare
