#include "io/tensor_file.h"

#include "tare/error.h"

#include "base/files.h"
#include "io/hdf5.h"
#include "io/hdf5_links.h"
#include "io/hdf5_output.h"
#include "io/hdf5_trial.h"

#include <algorithm>
#include <utility>

namespace tare {
namespace {

using hdf5::checked;
using hdf5::Handle;
using hdf5::owned;

Handle space_of(const Shape& shape) {
  const std::vector<hsize_t> extents(shape.begin(), shape.end());
  return owned(shape.empty() ? H5Screate(H5S_SCALAR)
                             : H5Screate_simple(static_cast<int>(extents.size()),
                                                extents.data(), nullptr),
               "shape");
}

Handle text_type(std::size_t length) {
  Handle type = owned(H5Tcopy(H5T_C_S1), "text type");
  checked(H5Tset_size(type.get(), std::max<std::size_t>(length, 1)), "text type");
  checked(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), "text type");
  checked(H5Tset_cset(type.get(), H5T_CSET_UTF8), "text type");
  return type;
}

void write_array(const Handle& file, const std::string& name, const Handle& type,
                 const Shape& shape, const void* elements) {
  const std::string what = "dataset '" + name + "' cannot be written";
  const Handle links = owned(H5Pcreate(H5P_LINK_CREATE), what);
  checked(H5Pset_create_intermediate_group(links.get(), 1), what);
  const Handle properties = owned(H5Pcreate(H5P_DATASET_CREATE), what);
  checked(H5Pset_obj_track_times(properties.get(), false), what);  // the same bytes every day
  const Handle space = space_of(shape);
  Handle dataset = owned(H5Dcreate2(file.get(), name.c_str(), type.get(), space.get(),
                                    links.get(), properties.get(), H5P_DEFAULT),
                         what);
  if (element_count(shape) > 0) {
    checked(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, elements), what);
  }
  hdf5::close(dataset);
}

void write_attribute(const Handle& file, const std::string& name, const std::string& text) {
  const std::string what = "attribute '" + name + "' cannot be written";
  const Handle type = text_type(text.size());
  const Handle space = space_of({});
  const Handle attribute = owned(
      H5Acreate2(file.get(), name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
      what);
  checked(H5Awrite(attribute.get(), type.get(), text.data()), what);
}

void require_padding(const std::string& text) {
  if (text.ends_with('\0')) {
    throw Error(ErrorCode::kUnsupported, "'" + text + "'",
                "ends in a NUL byte, which HDF5 takes for the end of a text");
  }
}

void write_texts(const Handle& file, const std::string& name,
                 const std::vector<std::string>& texts) {
  std::size_t length = 1;
  for (const std::string& text : texts) {
    require_padding(text);
    length = std::max(length, text.size());
  }
  std::vector<char> padded(length * texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::copy(texts[i].begin(), texts[i].end(),
              padded.begin() + static_cast<std::ptrdiff_t>(i * length));
  }
  write_array(file, name, text_type(length), {static_cast<std::int64_t>(texts.size())},
              padded.data());
}

/// Bytes that the elements of a dataset take in the file and in memory alike.
std::size_t checked_bytes(const Handle& dataset, const Shape& shape, std::size_t element) {
  std::uint64_t bytes = element;
  for (const std::int64_t extent : shape) {
    if (extent < 0 ||
        __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes)) {
      throw Error(ErrorCode::kInvalidData, "", "shape " + to_string(shape) + " is none");
    }
  }
  if (bytes != hdf5::stored_bytes(dataset)) {
    throw Error(ErrorCode::kInvalidData, "",
                "shape " + to_string(shape) + " is not that of what is stored");
  }
  return static_cast<std::size_t>(bytes);
}

/// NUL bytes at the end fill up; others are of the text.
std::string unpadded(std::string text) {
  text.resize(text.find_last_not_of('\0') + 1);
  return text;
}

std::vector<std::string> split(const std::vector<char>& padded, std::size_t length) {
  std::vector<std::string> texts;
  for (std::size_t first = 0; first < padded.size(); first += length) {
    texts.push_back(unpadded(std::string(padded.data() + first, length)));
  }
  return texts;
}

bool is_text(const Handle& type) {
  return H5Tget_class(type.get()) == H5T_STRING && H5Tis_variable_str(type.get()) == 0;
}

void read_array(const std::string& name, const Handle& dataset, TensorFile& into) {
  const Handle type = owned(H5Dget_type(dataset.get()), "its type");
  const Handle space = owned(H5Dget_space(dataset.get()), "its shape");
  const Shape shape = hdf5::extents(space);
  const auto read = [&](const Handle& memory_type, void* elements) {
    if (element_count(shape) > 0) {
      checked(
          H5Dread(dataset.get(), memory_type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, elements),
          "cannot be read");
    }
  };
  if (is_text(type) && shape.size() == 1) {
    const std::size_t length = H5Tget_size(type.get());
    std::vector<char> padded(checked_bytes(dataset, shape, length));
    read(type, padded.data());
    into.texts.emplace(name, split(padded, length));
    return;
  }
  const DType dtype = hdf5::element_type(type);
  (void)checked_bytes(dataset, shape, size_of(dtype));
  Tensor tensor(dtype, shape);
  read(hdf5::type_of(dtype), tensor.mutable_data());
  into.tensors.emplace(name, std::move(tensor));
}

herr_t read_attribute(hid_t file, const char* name, const H5A_info_t*, void* into) try {
  constexpr std::size_t kLongest = 1 << 16;
  const Handle attribute = owned(H5Aopen(file, name, H5P_DEFAULT), name);
  const Handle type = owned(H5Aget_type(attribute.get()), name);
  const std::size_t length = is_text(type) ? H5Tget_size(type.get()) : 0;
  const Handle space = owned(H5Aget_space(attribute.get()), name);
  if (length == 0 || length > kLongest || H5Sget_simple_extent_npoints(space.get()) != 1) {
    return 0;  // none of ours
  }
  std::string text(length, '\0');
  checked(H5Aread(attribute.get(), type.get(), text.data()), name);
  static_cast<TensorFile*>(into)->attributes.emplace(name, unpadded(std::move(text)));
  return 0;
} catch (const Error&) {
  return -1;
}

void require_schema(const TensorFile& contents, const std::string& schema) {
  const auto found = contents.attributes.find("schema");
  if (found == contents.attributes.end() || found->second != schema) {
    throw Error(ErrorCode::kInvalidData, "",
                found == contents.attributes.end() ? "has no attribute 'schema'"
                                                   : "has schema '" + found->second + "'")
        .expected("'" + schema + "'");
  }
}

TensorFile read_contents(const std::filesystem::path& path, const std::string& schema) {
  TensorFile contents;
  const Handle file =
      owned(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), "is not a readable HDF5 file");
  checked(
      H5Aiterate2(file.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, read_attribute, &contents),
      "attributes cannot be read");
  require_schema(contents, schema);
  for (const hdf5::NamedDataset& named : hdf5::datasets(file)) {
    try {
      read_array(named.name, named.dataset, contents);
    } catch (Error& error) {
      error.at("dataset '" + named.name + "'");
      throw;
    }
  }
  return contents;
}

void write_contents(OutputFile& output, const TensorFile& contents) {
  Handle file = hdf5::create_file(output);
  for (const auto& [name, text] : contents.attributes) {
    write_attribute(file, name, text);
  }
  for (const auto& [name, texts] : contents.texts) {
    write_texts(file, name, texts);
  }
  for (const auto& [name, tensor] : contents.tensors) {
    write_array(file, name, hdf5::type_of(tensor.dtype()), tensor.shape(), tensor.data());
  }
  hdf5::close(file);
}

}  // namespace

void write_tensor_file(const std::filesystem::path& path, const TensorFile& contents) {
  OutputFile output(path);
  const auto guard = hdf5::lock();
  try {
    write_contents(output, contents);
  } catch (Error& error) {
    output.require_written();  // where that is the reason
    error.at(path.string());
    throw;
  }
  output.commit();
}

TensorFile read_tensor_file(const std::filesystem::path& path, const std::string& schema,
                            const Hdf5Options& options) {
  require_readable(path);
  const auto guard = hdf5::lock();
  try {
    return hdf5::read_with(options, [&] { return read_contents(path, schema); });
  } catch (Error& error) {
    error.at(path.string());
    throw;
  }
}

}  // namespace tare
