// A driver by which HDF5 writes to an OutputFile and never learns that something failed
// (docs/decisions/0027-arrays-are-written-by-a-driver-of-ours.md). It answers like the
// library's own driver, so the bytes of files are the same.
#include "io/hdf5_output.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <vector>

#if __has_include(<H5FDdevelop.h>)
#include <H5FDdevelop.h>
#endif

namespace tare::hdf5 {
namespace {

/// What is handed to the driver with the properties of a file.
struct Access {
  OutputFile* output;
};

/// A file as HDF5 sees it. After a failure of the disk it lives in what the library wrote
/// before and, for the little that the library writes about the file itself while it closes it,
/// in memory: it may read that again, and would stumble over anything else.
struct Driver : H5FD_t {
  struct Piece {
    haddr_t first;
    std::vector<std::byte> bytes;
  };

  OutputFile* output = nullptr;
  haddr_t allocated = 0;
  haddr_t end = 0;
  std::vector<Piece> unwritten{};  ///< in the order of writing
};

Driver& driver(H5FD_t* file) {
  return *static_cast<Driver*>(file);
}
const Driver& driver(const H5FD_t* file) {
  return *static_cast<const Driver*>(file);
}

H5FD_t* open(const char*, unsigned, hid_t properties, haddr_t) {
  const auto* access = static_cast<const Access*>(H5Pget_driver_info(properties));
  auto* file = access == nullptr ? nullptr : new (std::nothrow) Driver{};
  if (file != nullptr) {
    file->output = access->output;
  }
  return file;
}

herr_t close(H5FD_t* file) {
  delete &driver(file);
  return 0;
}

int compare(const H5FD_t* a, const H5FD_t* b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

/// The same as of the library's own driver, so that the bytes are the same.
herr_t query(const H5FD_t*, unsigned long* features) {
  *features = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA |
              H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_AGGREGATE_SMALLDATA |
              H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  return 0;
}

haddr_t get_allocated(const H5FD_t* file, H5FD_mem_t) {
  return driver(file).allocated;
}

herr_t set_allocated(H5FD_t* file, H5FD_mem_t, haddr_t end) {
  driver(file).allocated = end;
  return 0;
}

haddr_t get_end(const H5FD_t* file, H5FD_mem_t) {
  return driver(file).end;
}

/// Puts in what was to be written there.
void overlay(const Driver::Piece& piece, haddr_t first, std::span<std::byte> bytes) {
  const haddr_t begin = std::max(first, piece.first);
  const haddr_t end = std::min(first + bytes.size(), piece.first + piece.bytes.size());
  if (begin < end) {
    std::memcpy(bytes.data() + (begin - first), piece.bytes.data() + (begin - piece.first),
                end - begin);
  }
}

herr_t read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t first, std::size_t size, void* into) {
  const Driver& self = driver(file);
  const std::span bytes(static_cast<std::byte*>(into), size);
  if (!self.output->read(first, bytes)) {
    return -1;
  }
  for (const Driver::Piece& piece : self.unwritten) {
    overlay(piece, first, bytes);
  }
  return 0;
}

herr_t write(H5FD_t* file, H5FD_mem_t kind, hid_t, haddr_t first, std::size_t size,
             const void* from) try {
  Driver& self = driver(file);
  const std::span bytes(static_cast<const std::byte*>(from), size);
  self.output->write(first, bytes);
  self.end = std::max(self.end, first + size);
  if (self.output->failed() && kind != H5FD_MEM_DRAW) {
    self.unwritten.push_back({first, {bytes.begin(), bytes.end()}});
  }
  return 0;
} catch (const std::bad_alloc&) {
  return -1;
}

herr_t truncate(H5FD_t* file, hid_t, hbool_t) {
  Driver& self = driver(file);
  if (self.end != self.allocated) {
    self.output->resize(self.allocated);
    self.end = self.allocated;
  }
  return 0;
}

hid_t registered_driver() {
  static const hid_t id = [] {
    H5FD_class_t callbacks{};
#ifdef H5FD_CLASS_VERSION
    callbacks.version = H5FD_CLASS_VERSION;
    callbacks.value = static_cast<H5FD_class_value_t>(H5_VFD_RESERVED);
#endif
    callbacks.name = "tare_output";
    callbacks.maxaddr = HADDR_MAX;
    callbacks.fc_degree = H5F_CLOSE_WEAK;
    callbacks.fapl_size = sizeof(Access);
    callbacks.open = open;
    callbacks.close = close;
    callbacks.cmp = compare;
    callbacks.query = query;
    callbacks.get_eoa = get_allocated;
    callbacks.set_eoa = set_allocated;
    callbacks.get_eof = get_end;
    callbacks.read = read;
    callbacks.write = write;
    callbacks.truncate = truncate;
    constexpr H5FD_mem_t kKinds[H5FD_MEM_NTYPES] = H5FD_FLMAP_DICHOTOMY;
    std::copy(std::begin(kKinds), std::end(kKinds), std::begin(callbacks.fl_map));
    return H5FDregister(&callbacks);
  }();
  return id;
}

}  // namespace

Handle create_file(OutputFile& output) {
  const Handle properties = owned(H5Pcreate(H5P_FILE_ACCESS), "cannot be created");
  const Access access{&output};
  checked(H5Pset_driver(properties.get(), checked(registered_driver(), "cannot be created"),
                        &access),
          "cannot be created");
  return owned(H5Fcreate(output.path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, properties.get()),
               "cannot be created");
}

}  // namespace tare::hdf5
