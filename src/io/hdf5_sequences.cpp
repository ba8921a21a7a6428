// Sequences of varying length. A dataset holds a reference for each, to an object in one of the
// global heaps of the file: its length, the address of the heap and the number of the object.
// HDF5 1.10 copies as many bytes as the heap says into memory for as many as the reference says
// (docs/decisions/0023), so references and heaps are read here, and the library only converts.
#include "io/hdf5_sequences.h"

#include "tare/error.h"

#include "io/hdf5_filters.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <utility>

namespace tare::hdf5 {
namespace {

constexpr std::size_t kReferenceBytes = 16;  // with addresses of 8 bytes
constexpr std::uint64_t kHeaderBytes = 16;   // of a heap, and of each of its objects
constexpr std::uint64_t kAlignment = 8;
constexpr std::size_t kMostInHeap = 1 << 16;  // their numbers have 16 bits
/// Many times what writers choose where a dataset may grow.
constexpr std::uint64_t kMostInChunk = 1 << 20;

Error damaged(const std::string& what) {
  return {ErrorCode::kInvalidData, "", what};
}

template <class T>
T number_at(std::span<const std::byte> bytes, std::size_t offset) {
  T value = 0;
  for (std::size_t i = sizeof(T); i-- > 0;) {  // lowest byte first
    value = static_cast<T>(value << 8U | std::to_integer<T>(bytes[offset + i]));
  }
  return value;
}

/// References of a dataset that is stored in chunks, in their order.
std::vector<std::byte> references_in_chunks(const Handle& dataset, const Handle& properties,
                                            std::size_t count, std::uint64_t file_size) {
  hsize_t in_chunk = 0;
  checked(H5Pget_chunk(properties.get(), 1, &in_chunk), "its chunks");
  if (in_chunk == 0 || in_chunk > std::max<std::uint64_t>(count, kMostInChunk)) {
    throw damaged("has chunks of " + std::to_string(in_chunk) + " sequences");
  }
  const auto filters = Filters::of(properties, kReferenceBytes);
  if (!filters) {
    throw damaged("is stored with other filters")
        .expected("gzip, shuffle or none, for sequences of varying length");
  }
  const std::size_t chunk_bytes = in_chunk * kReferenceBytes;
  std::vector<std::byte> result(count * kReferenceBytes);
  for (hsize_t first = 0; first < count; first += in_chunk) {
    hsize_t stored = 0;
    checked(H5Dget_chunk_storage_size(dataset.get(), &first, &stored), "its chunks");
    if (stored == 0 || stored > file_size) {
      throw damaged("a chunk of it holds " + std::to_string(stored) + " bytes");
    }
    std::vector<std::byte> bytes(stored);
    std::uint32_t skipped = 0;
    checked(H5Dread_chunk(dataset.get(), H5P_DEFAULT, &first, &skipped, bytes.data()),
            "its chunks");
    const auto decoded = filters->decode(bytes, skipped, chunk_bytes);
    const std::size_t wanted = std::min<std::size_t>(in_chunk, count - first) * kReferenceBytes;
    std::copy_n(decoded.get(), wanted,
                result.begin() + static_cast<std::ptrdiff_t>(first * kReferenceBytes));
  }
  return result;
}

std::vector<std::byte> references_of(const InputFile& file, const Handle& dataset,
                                     std::size_t count) {
  const Handle properties = owned(H5Dget_create_plist(dataset.get()), "its storage");
  if (H5Pget_layout(properties.get()) == H5D_CHUNKED) {
    return references_in_chunks(dataset, properties, count, file.size());
  }
  const haddr_t place = H5Dget_offset(dataset.get());
  if (place == HADDR_UNDEF) {
    throw damaged("holds no sequences where its shape has " + std::to_string(count));
  }
  std::vector<std::byte> result(count * kReferenceBytes);
  file.read(place, result);
  return result;
}

std::uint64_t padded(std::uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

/// Where objects are, from the end of the header on.
struct Sequences::Heap {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

bool are_sequences(const Handle& type) {
  return H5Tget_class(type.get()) == H5T_VLEN;
}

Sequences::Sequences(const std::filesystem::path& path, const Handle& dataset) : file_(path) {
  const Handle type = owned(H5Dget_type(dataset.get()), "its type");
  stored_ = owned(H5Tget_super(type.get()), "its type");
  dtype_ = element_type(stored_);
  element_bytes_ = H5Tget_size(stored_.get());
  const Handle space = owned(H5Dget_space(dataset.get()), "its shape");
  const Shape shape = extents(space);
  if (shape.size() != 1 || shape[0] <= 0) {
    throw damaged("holds sequences of varying length in the shape " + to_string(shape))
        .expected("one for each sample");
  }
  const Handle of_dataset = owned(H5Iget_file_id(dataset.get()), "its file");
  const Handle properties = owned(H5Fget_create_plist(of_dataset.get()), "its file");
  std::size_t address_bytes = 0;
  std::size_t size_bytes = 0;
  checked(H5Pget_sizes(properties.get(), &address_bytes, &size_bytes), "its file");
  hsize_t before = 0;
  checked(H5Pget_userblock(properties.get(), &before), "its file");
  base_ = before;
  if (address_bytes != sizeof(std::uint64_t) || size_bytes != sizeof(std::uint64_t)) {
    throw damaged("has addresses of " + std::to_string(address_bytes) + " bytes")
        .expected("8, for sequences of varying length");
  }
  const auto count = static_cast<std::uint64_t>(shape[0]);
  if (count > file_.size() / kReferenceBytes) {
    throw damaged("claims " + std::to_string(count) +
                  " sequences, more than the file can hold");
  }
  take_references(dataset, count);
  find_elements();
}

void Sequences::take_references(const Handle& dataset, std::size_t count) {
  const std::vector<std::byte> bytes = references_of(file_, dataset, count);
  std::uint64_t elements = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto reference = std::span(bytes).subspan(i * kReferenceBytes, kReferenceBytes);
    found_.push_back({.place = number_at<std::uint64_t>(reference, 4),
                      .object = number_at<std::uint32_t>(reference, 12),
                      .length = number_at<std::uint32_t>(reference, 0)});
    if (found_.back().length == 0) {
      throw damaged("sample " + std::to_string(i) + " has no elements");
    }
    elements += found_.back().length;
  }
  // Each has elements of its own, so that nobody reads more than the file holds.
  if (elements > file_.size() / element_bytes_) {
    throw damaged("claims " + std::to_string(elements) +
                  " elements, more than the file can hold");
  }
}

Sequences::Heap Sequences::open_heap(std::uint64_t place) const {
  const std::uint64_t begin = base_ + place;
  std::vector<std::byte> header(kHeaderBytes);
  if (begin < place || begin > file_.size() || file_.size() - begin < kHeaderBytes) {
    throw damaged("has a heap at " + std::to_string(place) + ", beyond the end of the file");
  }
  file_.read(begin, header);
  constexpr char kMark[] = {'G', 'C', 'O', 'L', 1};  // and the version
  const auto size = number_at<std::uint64_t>(header, 8);
  if (std::memcmp(header.data(), kMark, sizeof(kMark)) != 0 || size < kHeaderBytes ||
      size > file_.size() - begin) {
    throw damaged("has no heap at " + std::to_string(place));
  }
  return {.begin = begin + kHeaderBytes, .end = begin + size};
}

void Sequences::find_elements() {
  std::map<std::uint64_t, std::vector<Sequence*>> heaps;
  for (Sequence& sequence : found_) {
    heaps[sequence.place].push_back(&sequence);
  }
  std::uint64_t free_from = 0;
  for (const auto& [place, sequences] : heaps) {
    const Heap heap = open_heap(place);
    if (heap.begin < free_from) {  // else a file could have all be read for each
      throw damaged("has heaps that overlap");
    }
    free_from = heap.end;
    find_in(heap, sequences);
  }
}

void Sequences::find_in(const Heap& heap, const std::vector<Sequence*>& sequences) const {
  std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> objects;  // place and size
  std::vector<std::byte> header(kHeaderBytes);
  std::size_t count = 0;
  for (std::uint64_t at = heap.begin; heap.end - at >= kHeaderBytes && count < kMostInHeap;
       ++count) {
    file_.read(at, header);
    const auto object = number_at<std::uint16_t>(header, 0);
    const auto size = number_at<std::uint64_t>(header, 8);
    at += kHeaderBytes;
    if (object == 0 || size > heap.end - at) {  // what is free comes last
      break;
    }
    objects.emplace(object, std::pair(at, size));
    at += std::min(padded(size), heap.end - at);
  }
  for (Sequence* sequence : sequences) {
    const auto object = objects.find(sequence->object);
    if (object == objects.end() || object->second.second < sequence->length * element_bytes_) {
      throw damaged("claims a sequence of " + std::to_string(sequence->length) +
                    " elements that the file does not hold");
    }
    sequence->place = object->second.first;
  }
}

Tensor Sequences::read(std::size_t index) const {
  const Sequence& sequence = found_[index];
  Tensor result(dtype_, {1, length(index)});
  std::vector<std::byte> bytes(sequence.length *
                               std::max<std::size_t>(element_bytes_, size_of(dtype_)));
  file_.read(sequence.place, std::span(bytes).first(sequence.length * element_bytes_));
  {
    const auto guard = lock();
    const Handle type = type_of(dtype_);
    checked(H5Tconvert(stored_.get(), type.get(), sequence.length, bytes.data(), nullptr,
                       H5P_DEFAULT),
            "sample " + std::to_string(index) + " cannot be read");
  }
  std::copy_n(bytes.begin(), result.byte_size(), result.mutable_data());
  return result;
}

}  // namespace tare::hdf5
