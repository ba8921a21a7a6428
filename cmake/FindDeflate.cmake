# libdeflate as the target Deflate::deflate, which Debian 12's package has no CMake files for.
find_path(Deflate_INCLUDE_DIR libdeflate.h)
find_library(Deflate_LIBRARY deflate)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Deflate REQUIRED_VARS Deflate_LIBRARY Deflate_INCLUDE_DIR)
mark_as_advanced(Deflate_INCLUDE_DIR Deflate_LIBRARY)
if(Deflate_FOUND AND NOT TARGET Deflate::deflate)
  add_library(Deflate::deflate UNKNOWN IMPORTED)
  set_target_properties(Deflate::deflate PROPERTIES IMPORTED_LOCATION "${Deflate_LIBRARY}"
                                                    INTERFACE_INCLUDE_DIRECTORIES "${Deflate_INCLUDE_DIR}")
endif()
