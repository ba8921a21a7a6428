#pragma once

#include "tare/tensor.h"

#include "io/hdf5.h"
#include "io/hdf5_filters.h"

#include <cstddef>
#include <cstdint>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace tare::hdf5 {

/// Reads rows of a dataset that is stored in chunks. Threads share what was decoded, and decode
/// different chunks at the same time.
class ChunkedRows {
 public:
  /// Null where the library has to read: for other filters than Filters undoes, or another type
  /// in the file than `dtype`. `shape` is that of the dataset, `chunk` that of its chunks.
  /// Keeps `kept` bytes of decoded chunks, at least the last one. The dataset has to outlive
  /// it. Hold the lock of the library.
  static std::unique_ptr<const ChunkedRows> of(const Handle& dataset, DType, Shape shape,
                                               Shape chunk, std::size_t kept);

  /// Rows [first, first + count). Takes the lock of the library.
  Tensor read(std::size_t first, std::size_t count) const;

 private:
  using Decoded = std::shared_ptr<const std::byte[]>;
  using Place = std::vector<hsize_t>;  ///< of a chunk's first element

  ChunkedRows(const Handle& dataset, Filters filters, DType dtype, Shape shape, Shape chunk,
              std::size_t kept);
  /// The chunks at these places, decoded by this thread where no other one does so already.
  std::vector<std::shared_future<Decoded>> chunks_at(const std::vector<Place>&) const;
  Decoded decode(const Place&) const;
  /// Of the chunk, what lies in these rows.
  void copy(const Place&, const std::byte* chunk, std::size_t first, Tensor& rows) const;

  hid_t dataset_;
  Filters filters_;
  DType dtype_;
  Shape shape_;
  Shape chunk_;
  std::size_t chunk_bytes_;
  std::size_t kept_;  ///< chunks

  struct Cached {
    std::shared_future<Decoded> chunk;  ///< whoever made it decodes
    std::list<Place>::iterator place;
  };
  mutable std::mutex mutex_;
  mutable std::map<Place, Cached> cache_;
  mutable std::list<Place> order_;  ///< the one that was asked for last comes first
};

}  // namespace tare::hdf5
