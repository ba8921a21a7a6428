# find_package(tare) works from an install prefix and, with tare_DIR=<build>/cmake, from a build
# folder: both hold the same package files.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_in_build "${PROJECT_BINARY_DIR}/cmake")
set(package_in_prefix "${CMAKE_INSTALL_LIBDIR}/cmake/tare")
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/tareConfig.cmake.in"
  "${package_in_build}/tareConfig.cmake" INSTALL_DESTINATION "${package_in_prefix}"
  NO_SET_AND_CHECK_MACRO)
# Before 1.0 any minor release may change the interface.
write_basic_package_version_file("${package_in_build}/tareConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
configure_file("${CMAKE_CURRENT_LIST_DIR}/TareDependencies.cmake"
  "${package_in_build}/TareDependencies.cmake" COPYONLY)
export(TARGETS tare NAMESPACE tare:: FILE "${package_in_build}/tareTargets.cmake")

install(TARGETS tare EXPORT tareTargets FILE_SET HEADERS)
install(EXPORT tareTargets NAMESPACE tare:: DESTINATION "${package_in_prefix}")
install(FILES
  "${package_in_build}/tareConfig.cmake"
  "${package_in_build}/tareConfigVersion.cmake"
  "${package_in_build}/TareDependencies.cmake"
  DESTINATION "${package_in_prefix}")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
if(TARGET tare_app)
  install(TARGETS tare_app)
endif()
