#pragma once

#include "tare/error.h"
#include "tare/tensor.h"

#include <mutex>
#include <string>
#include <utility>

#include <hdf5.h>

namespace tare::hdf5 {

/// The library keeps state of its own and may be built without thread safety, so whoever calls
/// it holds this lock; it also keeps the library from printing to stderr.
[[nodiscard]] std::unique_lock<std::mutex> lock();

/// Owns one identifier of the library, whatever it stands for.
class Handle {
 public:
  Handle() = default;
  explicit Handle(hid_t id) : id_(id) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Handle() { close(); }

  hid_t get() const { return id_; }
  /// False when the library could not write what it still held back.
  bool close();

 private:
  hid_t id_ = H5I_INVALID_HID;
};

/// The innermost message of the library's error stack, which names the cause. Empties the
/// stack.
std::string last_error();

/// Results of the library below zero are failures: throws Error(kIo) "<what>: <its message>".
template <class Result>
Result checked(Result result, const std::string& what) {
  if (result < 0) {
    throw Error(ErrorCode::kIo, "", what + ": " + last_error());
  }
  return result;
}
inline Handle owned(hid_t id, const std::string& what) {
  return Handle(checked(id, what));
}

/// Throws Error(kIo) when the library could not write what it still held back.
void close(Handle&);

/// HDF5 ends names at a NUL byte. Throws Error(kUnsupported) for a name that has one.
void require_name(const std::string& name);

/// What a dataset takes in its file; nothing where a damaged one claims more than the file has.
std::uint64_t stored_bytes(const Handle& dataset);

/// The extents of a dataspace of a dataset or attribute; takes over the handle.
Shape extents(const Handle& space);

/// How elements of that type lie in memory, and in the files that this program writes.
Handle type_of(DType);

/// What elements of a file become in memory: integers and bool as they are, every float type
/// f32. Throws Error(kInvalidData) for text, records and other types that are no numbers.
DType element_type(const Handle& type);

}  // namespace tare::hdf5
