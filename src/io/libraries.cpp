#include "io/libraries.h"

#include "io/hdf5.h"

#include <cstdio>
#include <string>

#include <jpeglib.h>
#include <png.h>
#include <sndfile.h>
#include <zlib.h>

namespace tare {
namespace {

/// Without the name before it.
std::string sndfile_version() {
  const std::string text = sf_version_string();  // "libsndfile-1.2.0"
  return text.substr(text.find_last_of('-') + 1);
}

}  // namespace

std::vector<Library> io_libraries() {
  const auto lock = hdf5::lock();
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  H5get_libversion(&major, &minor, &release);
  return {{"HDF5",
           std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release)},
          {"yaml-cpp", TARE_YAML_CPP_VERSION},  // no header of it says
          {"libpng", PNG_LIBPNG_VER_STRING},
          {"libjpeg",
           std::to_string(JPEG_LIB_VERSION / 10) + "." + std::to_string(JPEG_LIB_VERSION % 10)},
          {"libsndfile", sndfile_version()},
          {"zlib", zlibVersion()}};
}

}  // namespace tare
