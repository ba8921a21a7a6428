#include "io/libraries.h"

#include "io/hdf5.h"

#include <string>

namespace tare {

std::vector<Library> io_libraries() {
  const auto lock = hdf5::lock();
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  H5get_libversion(&major, &minor, &release);
  return {{"HDF5",
           std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release)},
          {"yaml-cpp", TARE_YAML_CPP_VERSION}};  // no header of it says
}

}  // namespace tare
