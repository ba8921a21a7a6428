# find_package(tare) works from an install prefix and, with tare_DIR=<build>/cmake, from a build
# folder: both hold the same package files. Components: `program` and `library`.
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
foreach(file IN ITEMS TareDependencies.cmake FindSndFile.cmake FindDeflate.cmake)
  configure_file("${CMAKE_CURRENT_LIST_DIR}/${file}" "${package_in_build}/${file}" COPYONLY)
endforeach()
export(TARGETS tare tare_c NAMESPACE tare:: FILE "${package_in_build}/tareTargets.cmake")

install(TARGETS tare EXPORT tareTargets
  ARCHIVE COMPONENT library LIBRARY COMPONENT library FILE_SET HEADERS COMPONENT library)
install(TARGETS tare_c EXPORT tareTargets
  LIBRARY COMPONENT c NAMELINK_COMPONENT library FILE_SET HEADERS COMPONENT library)
# The package finds the library as any other program does.
install(DIRECTORY python/tare DESTINATION lib/python3/dist-packages COMPONENT python
  FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE PATTERN ".mypy_cache" EXCLUDE)
install(EXPORT tareTargets NAMESPACE tare:: DESTINATION "${package_in_prefix}" COMPONENT library)
install(FILES
  "${package_in_build}/tareConfig.cmake"
  "${package_in_build}/tareConfigVersion.cmake"
  "${package_in_build}/TareDependencies.cmake"
  "${package_in_build}/FindSndFile.cmake"
  "${package_in_build}/FindDeflate.cmake"
  DESTINATION "${package_in_prefix}" COMPONENT library)
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT licence)
if(NOT TARGET tare_app)
  return()
endif()

# The program knows its verbs and options; it writes what explains them and what completes them.
find_program(TARE_GZIP gzip REQUIRED)
set(written "${PROJECT_BINARY_DIR}/share")
add_custom_command(
  OUTPUT "${written}/tare.1.gz" "${written}/tare.bash" "${written}/_tare" "${written}/tare.fish"
  COMMAND "${CMAKE_COMMAND}" -E make_directory "${written}"
  COMMAND tare_app help man > "${written}/tare.1"
  COMMAND "${TARE_GZIP}" -9nf "${written}/tare.1"
  COMMAND tare_app completion bash > "${written}/tare.bash"
  COMMAND tare_app completion zsh > "${written}/_tare"
  COMMAND tare_app completion fish > "${written}/tare.fish"
  DEPENDS tare_app
  VERBATIM)
add_custom_target(tare_written ALL DEPENDS "${written}/tare.1.gz")

install(TARGETS tare_app COMPONENT program)
install(FILES "${written}/tare.1.gz" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT program)
install(FILES "${written}/tare.bash" RENAME tare
  DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT program)
install(FILES "${written}/_tare"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions" COMPONENT program)
install(FILES "${written}/tare.fish"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" COMPONENT program)
install(DIRECTORY engines DESTINATION "${CMAKE_INSTALL_DATADIR}/tare" COMPONENT program)
install(FILES README.md CHANGELOG.md DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT program)
# The guide starts with what is in data/.
install(DIRECTORY docs configs data DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT program)
