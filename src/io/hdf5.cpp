// What all users of HDF5 share: one lock, as the library may be built without thread safety,
// handles that close themselves, and element types. Sizes that a damaged file claims are not
// believed.
#include "io/hdf5.h"

#include <array>
#include <string_view>

namespace tare::hdf5 {
namespace {

/// h5py and others store truth values as this enumeration.
constexpr std::array<const char*, 2> kBoolNames{"FALSE", "TRUE"};

herr_t take_description(unsigned, const H5E_error2_t* error, void* text) {
  if (error->desc != nullptr) {
    *static_cast<std::string*>(text) = error->desc;
  }
  return 1;  // stop: walking upward starts at the innermost
}

bool is_bool(const Handle& type) {
  if (H5Tget_class(type.get()) != H5T_ENUM || H5Tget_size(type.get()) != 1 ||
      H5Tget_nmembers(type.get()) != 2) {
    return false;
  }
  for (unsigned value = 0; value < kBoolNames.size(); ++value) {
    std::uint8_t stored = 0;
    if (H5Tenum_valueof(type.get(), kBoolNames[value], &stored) < 0 || stored != value) {
      H5Eclear2(H5E_DEFAULT);
      return false;
    }
  }
  return true;
}

Handle bool_type() {
  Handle type = owned(H5Tenum_create(H5T_NATIVE_INT8), "type");
  for (std::size_t i = 0; i < kBoolNames.size(); ++i) {
    const auto value = static_cast<std::int8_t>(i);
    checked(H5Tenum_insert(type.get(), kBoolNames[i], &value), "type");
  }
  return type;
}

/// A float of 16 bits; the sign is the highest one.
Handle short_float(std::size_t exponent_bits, std::size_t mantissa_bits, std::size_t bias) {
  Handle type = owned(H5Tcopy(H5T_IEEE_F32LE), "type");
  checked(H5Tset_fields(type.get(), 15, mantissa_bits, exponent_bits, 0, mantissa_bits),
          "type");
  checked(H5Tset_size(type.get(), 2), "type");
  checked(H5Tset_ebias(type.get(), bias), "type");
  return type;
}

DType integer_type(const Handle& type) {
  const bool is_signed = H5Tget_sign(type.get()) == H5T_SGN_2;
  switch (H5Tget_size(type.get())) {
    case 1:
      return is_signed ? DType::kInt8 : DType::kUint8;
    case 2:
      return is_signed ? DType::kInt16 : DType::kUint16;
    case 4:
      return is_signed ? DType::kInt32 : DType::kUint32;
    case 8:
      return is_signed ? DType::kInt64 : DType::kUint64;
    default:
      throw Error(ErrorCode::kInvalidData, "",
                  "integers of " + std::to_string(H5Tget_size(type.get())) + " bytes")
          .expected("1, 2, 4 or 8");
  }
}

std::string_view class_name(H5T_class_t type_class) {
  switch (type_class) {
    case H5T_STRING:
      return "text";
    case H5T_COMPOUND:
      return "records";
    case H5T_ENUM:
      return "enumerations";
    case H5T_VLEN:
      return "sequences of varying length";
    case H5T_REFERENCE:
      return "references";
    case H5T_ARRAY:
      return "arrays";
    default:
      return "opaque data";
  }
}

}  // namespace

std::unique_lock<std::mutex> lock() {
  static std::mutex mutex;
  std::unique_lock guard(mutex);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  return guard;
}

bool Handle::close() {
  const hid_t id = std::exchange(id_, H5I_INVALID_HID);
  return id < 0 || H5Idec_ref(id) >= 0;
}

std::string last_error() {
  std::string text = "unknown error";
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_description, &text);
  H5Eclear2(H5E_DEFAULT);
  return text;
}

void close(Handle& handle) {
  if (!handle.close()) {
    throw Error(ErrorCode::kIo, "", "cannot be written: " + last_error());
  }
}

void require_name(const std::string& name) {
  if (name.find('\0') != std::string::npos) {
    throw Error(ErrorCode::kUnsupported, "dataset '" + name + "'",
                "has a NUL byte in its name, which HDF5 cannot store");
  }
}

std::uint64_t stored_bytes(const Handle& dataset) {
  const std::uint64_t claimed = H5Dget_storage_size(dataset.get());
  const Handle file = owned(H5Iget_file_id(dataset.get()), "its file");
  hsize_t there = 0;
  checked(H5Fget_filesize(file.get(), &there), "its size");
  return claimed <= there ? claimed : 0;
}

Shape extents(const Handle& space) {
  const int rank = checked(H5Sget_simple_extent_ndims(space.get()), "shape");
  std::vector<hsize_t> sizes(static_cast<std::size_t>(rank));
  checked(H5Sget_simple_extent_dims(space.get(), sizes.data(), nullptr), "shape");
  return {sizes.begin(), sizes.end()};
}

Handle type_of(DType dtype) {
  const auto copy = [](hid_t type) { return owned(H5Tcopy(type), "type"); };
  switch (dtype) {
    case DType::kFloat32:
      return copy(H5T_IEEE_F32LE);
    case DType::kFloat64:
      return copy(H5T_IEEE_F64LE);
    case DType::kFloat16:
      return short_float(5, 10, 15);
    case DType::kBfloat16:
      return short_float(8, 7, 127);
    case DType::kInt8:
      return copy(H5T_STD_I8LE);
    case DType::kUint8:
      return copy(H5T_STD_U8LE);
    case DType::kInt16:
      return copy(H5T_STD_I16LE);
    case DType::kUint16:
      return copy(H5T_STD_U16LE);
    case DType::kInt32:
      return copy(H5T_STD_I32LE);
    case DType::kUint32:
      return copy(H5T_STD_U32LE);
    case DType::kInt64:
      return copy(H5T_STD_I64LE);
    case DType::kUint64:
      return copy(H5T_STD_U64LE);
    case DType::kBool:
      return bool_type();
  }
  throw Error(ErrorCode::kInternal, "", "element type without a form in HDF5");
}

DType element_type(const Handle& type) {
  const H5T_class_t type_class = H5Tget_class(type.get());
  if (type_class == H5T_FLOAT) {
    // HDF5 makes buffers of elements as large as a damaged file says they are.
    const std::size_t bytes = H5Tget_size(type.get());
    if (bytes == 0 || bytes > sizeof(long double)) {
      throw Error(ErrorCode::kInvalidData, "",
                  "holds numbers of " + std::to_string(bytes) + " bytes");
    }
    return DType::kFloat32;
  }
  if (type_class == H5T_INTEGER) {
    return integer_type(type);
  }
  if (is_bool(type)) {
    return DType::kBool;
  }
  throw Error(ErrorCode::kInvalidData, "", "holds " + std::string(class_name(type_class)))
      .expected("integers or floating point");
}

}  // namespace tare::hdf5
