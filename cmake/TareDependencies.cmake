# Every third-party package of the library, found and never fetched. Debian 12's names are the
# reference. The project reads this file, and so does the installed package: what the library
# was built from is what a program linking it needs.
include(CMakeFindDependencyMacro)
macro(tare_find)
  if(TARE_IS_INSTALLED_PACKAGE)
    find_dependency(${ARGV})
  else()
    find_package(${ARGV} REQUIRED)
  endif()
endmacro()

list(APPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}")  # FindSndFile.cmake, FindDeflate.cmake

tare_find(Eigen3 3.4 NO_MODULE)
tare_find(TBB)
tare_find(Threads)
tare_find(OpenMP COMPONENTS CXX)
tare_find(HDF5 COMPONENTS C)
tare_find(yaml-cpp)
tare_find(JPEG)
tare_find(PNG)
tare_find(ZLIB)
tare_find(SndFile)
tare_find(Protobuf)
tare_find(ONNX)
tare_find(FlatBuffers)
tare_find(dnnl 2.6)
tare_find(nlohmann_json 3.11)
find_package(Deflate QUIET)  # which decompresses samples in less than half of zlib's time

# yaml-cpp exports `yaml-cpp` up to 0.7 and `yaml-cpp::yaml-cpp` after it.
if(TARGET yaml-cpp AND NOT TARGET yaml-cpp::yaml-cpp)
  add_library(yaml-cpp::yaml-cpp ALIAS yaml-cpp)
endif()
