# `cpack` in the build folder, or `cmake --workflow --preset package`, makes Debian packages: tare, the
# program; libtare-dev, to compile programs and plug-ins; libtare1, the C interface; and python3-tare, which uses it.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "Tare")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "quantizer of neural networks to 8 bits")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_PACKAGING_INSTALL_PREFIX "/usr")
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program library c python)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(TARE_MAINTAINER "The authors of Tare <tare@packages.invalid>"
    CACHE STRING "Who made the Debian packages: name and address")
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${TARE_MAINTAINER}")
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME tare)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION "Tare reads a trained float network (ONNX or TensorFlow Lite) and a few hundred
samples (arrays, pictures or recordings), chooses scales and zero points, and writes a network (ONNX)
that runs in integer arithmetic, with the accuracy beside that of the
original.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libtare-dev)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libdevel)
# Without these two CPack fails late, or makes a package that depends on nothing.
set(CPACK_PROJECT_CONFIG_FILE "${CMAKE_CURRENT_LIST_DIR}/package/require_tools.cmake")

# What TareDependencies.cmake finds.
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "libdnnl-dev, ocl-icd-opencl-dev, libtbb-dev, \
libhdf5-dev, libjpeg-dev, libpng-dev, libsndfile1-dev, zlib1g-dev, libdeflate-dev, libyaml-cpp-dev, libonnx-dev, libprotobuf-dev, protobuf-compiler, \
libflatbuffers-dev, libeigen3-dev, nlohmann-json3-dev")
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "Headers, static library and CMake package of Tare, for programs that quantize
and for calibrators that the program tare loads.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "${CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS}, libtare1 (= ${PROJECT_VERSION})")

set(CPACK_DEBIAN_C_PACKAGE_NAME libtare1)
set(CPACK_DEBIAN_C_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_C_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_C_DESCRIPTION "Shared library with the C interface of Tare, for programs in C and for the Python
package.")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-tare)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= 3.9), python3-numpy, libtare1 (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "tare, python3-tqdm, python3-onnx")
set(CPACK_DEBIAN_PYTHON_DESCRIPTION "Python package of Tare, which quantizes ONNX models that Python has just exported,
calibrated on arrays, generators or data loaders.")

# Debian wants a licence and a history of each package in its own way.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
foreach(entry IN ITEMS program:tare library:libtare-dev c:libtare1 python:python3-tare)
  string(REPLACE ":" ";" entry "${entry}")
  list(POP_FRONT entry component package)
  set(folder "${PROJECT_BINARY_DIR}/package/${package}")
  configure_file("${CMAKE_CURRENT_LIST_DIR}/package/changelog.in" "${folder}/changelog")
  execute_process(COMMAND "${TARE_GZIP}" -9nf "${folder}/changelog"
                  COMMAND_ERROR_IS_FATAL ANY)
  install(FILES "${CMAKE_CURRENT_LIST_DIR}/package/copyright" "${folder}/changelog.gz"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${package}"
          COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()
include(CPack)
