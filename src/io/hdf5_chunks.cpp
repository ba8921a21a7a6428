// Under its lock the library only finds a chunk and reads its bytes; each thread undoes the
// filters for itself. Chunks that were decoded are kept for a while, since one may hold rows
// that several threads read, one after another.
#include "io/hdf5_chunks.h"

#include "tare/error.h"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

namespace tare::hdf5 {
namespace {

/// The next one of the indices below `ends`, the last axis first; false behind the last one.
bool next(std::vector<hsize_t>& index, const std::vector<hsize_t>& begins,
          const std::vector<hsize_t>& ends, const std::vector<hsize_t>& steps) {
  for (std::size_t axis = index.size(); axis-- > 0;) {
    index[axis] += steps[axis];
    if (index[axis] < ends[axis]) {
      return true;
    }
    index[axis] = begins[axis];
  }
  return false;
}

std::vector<hsize_t> unsigned_of(const Shape& shape) {
  return {shape.begin(), shape.end()};
}

/// Place in memory of an element of an array of that shape.
std::size_t position(const std::vector<hsize_t>& index, const std::vector<hsize_t>& origin,
                     const Shape& shape) {
  std::size_t result = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    result = result * static_cast<std::size_t>(shape[axis]) + (index[axis] - origin[axis]);
  }
  return result;
}

}  // namespace

std::unique_ptr<const ChunkedRows> ChunkedRows::of(const Handle& dataset, DType dtype,
                                                   Shape shape, Shape chunk, std::size_t kept) {
  const Handle properties = owned(H5Dget_create_plist(dataset.get()), "its storage");
  const Handle in_file = owned(H5Dget_type(dataset.get()), "its type");
  const Handle in_memory = type_of(dtype);
  auto filters = Filters::of(properties, size_of(dtype));
  if (!filters || checked(H5Tequal(in_file.get(), in_memory.get()), "its type") == 0) {
    return nullptr;
  }
  return std::unique_ptr<const ChunkedRows>(new ChunkedRows(
      dataset, *std::move(filters), dtype, std::move(shape), std::move(chunk), kept));
}

ChunkedRows::ChunkedRows(const Handle& dataset, Filters filters, DType dtype, Shape shape,
                         Shape chunk, std::size_t kept)
    : dataset_(dataset.get()),
      filters_(std::move(filters)),
      dtype_(dtype),
      shape_(std::move(shape)),
      chunk_(std::move(chunk)),
      chunk_bytes_(static_cast<std::size_t>(element_count(chunk_)) * size_of(dtype)),
      kept_(std::max<std::size_t>(kept / chunk_bytes_, 1)) {}

Tensor ChunkedRows::read(std::size_t first, std::size_t count) const {
  Shape shape = shape_;
  shape[0] = static_cast<std::int64_t>(count);
  Tensor result(dtype_, std::move(shape));
  const std::vector<hsize_t> steps = unsigned_of(chunk_);
  std::vector<hsize_t> begins(shape_.size(), 0);
  begins[0] = first / steps[0] * steps[0];
  std::vector<hsize_t> ends = unsigned_of(shape_);
  ends[0] = first + count;
  std::vector<Place> places{begins};
  for (Place place = begins; next(place, begins, ends, steps);) {
    places.push_back(place);
  }
  try {
    const auto chunks = chunks_at(places);
    for (std::size_t i = 0; i < places.size(); ++i) {
      copy(places[i], chunks[i].get().get(), first, result);
    }
  } catch (const Error& error) {
    const Fault& fault = error.faults().front();
    throw Error(error.code(), "",
                "samples " + std::to_string(first) + " to " +
                    std::to_string(first + count - 1) + " cannot be read: " + fault.what);
  }
  return result;
}

void ChunkedRows::copy(const Place& place, const std::byte* chunk, std::size_t first,
                       Tensor& rows) const {
  const std::size_t rank = shape_.size();
  Place origin(rank, 0);  // of the rows
  origin[0] = first;
  // Where both are, and how many of the last axes are whole in both.
  Place begin(rank);
  Place end(rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const auto extent = static_cast<hsize_t>(rows.shape()[axis]);
    begin[axis] = std::max(place[axis], origin[axis]);
    end[axis] =
        std::min(place[axis] + static_cast<hsize_t>(chunk_[axis]), origin[axis] + extent);
  }
  std::size_t outer = rank - 1;
  std::size_t run = end[outer] - begin[outer];
  while (outer > 0 && rows.shape()[outer] == chunk_[outer] &&
         run == static_cast<std::size_t>(element_count(Shape(
                    chunk_.begin() + static_cast<std::ptrdiff_t>(outer), chunk_.end())))) {
    --outer;
    run *= end[outer] - begin[outer];
  }
  const Place ends(end.begin(), end.begin() + static_cast<std::ptrdiff_t>(outer));
  const Place begins(begin.begin(), begin.begin() + static_cast<std::ptrdiff_t>(outer));
  const Place ones(outer, 1);
  Place index = begin;
  const std::size_t bytes = size_of(dtype_);
  std::byte* to = rows.mutable_data();
  Place outer_index = begins;
  do {
    std::copy(outer_index.begin(), outer_index.end(), index.begin());
    std::copy_n(chunk + position(index, place, chunk_) * bytes, run * bytes,
                to + position(index, origin, rows.shape()) * bytes);
  } while (next(outer_index, begins, ends, ones));
}

// Those of others are waited for in the end: threads that read neighbouring rows would decode
// one after another, if each waited for the chunk that they have in common first.
std::vector<std::shared_future<ChunkedRows::Decoded>> ChunkedRows::chunks_at(
    const std::vector<Place>& places) const {
  std::vector<std::shared_future<Decoded>> result;
  std::map<std::size_t, std::promise<Decoded>> own;
  {
    const std::lock_guard lock(mutex_);
    for (const Place& place : places) {
      const auto found = cache_.find(place);
      if (found != cache_.end()) {
        order_.splice(order_.begin(), order_, found->second.place);
        result.push_back(found->second.chunk);
        continue;
      }
      result.push_back(own[result.size()].get_future().share());
      order_.push_front(place);
      cache_.emplace(place, Cached{result.back(), order_.begin()});
      if (order_.size() > kept_) {
        cache_.erase(order_.back());
        order_.pop_back();
      }
    }
  }
  for (auto& [i, promise] : own) {
    try {
      promise.set_value(decode(places[i]));
    } catch (...) {
      promise.set_exception(std::current_exception());
    }
  }
  return result;
}

ChunkedRows::Decoded ChunkedRows::decode(const Place& place) const {
  std::vector<std::byte> stored;
  std::uint32_t skipped = 0;
  {
    const auto guard = lock();
    hsize_t bytes = 0;
    checked(H5Dget_chunk_storage_size(dataset_, place.data(), &bytes), "its chunks");
    // Nothing that was stored well is much larger than what it was made of.
    if (bytes == 0 || bytes > 2 * chunk_bytes_ + 1024) {
      throw Error(ErrorCode::kInvalidData, "",
                  "a chunk of it holds " + std::to_string(bytes) + " bytes");
    }
    stored.resize(bytes);
    checked(H5Dread_chunk(dataset_, H5P_DEFAULT, place.data(), &skipped, stored.data()),
            "its chunks");
  }
  return filters_.decode(stored, skipped, chunk_bytes_);
}

}  // namespace tare::hdf5
