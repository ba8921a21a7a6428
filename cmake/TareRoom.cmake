# tare_compile_together(<target> <name> <size> <source>...)
#
# Compiles the sources as units of <size> files, in their order, as most of the time of a file goes into the headers that
# all of them read. UNITY_BUILD of the target turns that on and off.
function(tare_compile_together target name size)
  set(index 0)
  foreach(source IN LISTS ARGN)
    math(EXPR group "${index} / ${size}")
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    set_source_files_properties("${source}" TARGET_DIRECTORY ${target}
                                PROPERTIES UNITY_GROUP "${name}_${group}")
    math(EXPR index "${index} + 1")
  endforeach()
endfunction()

# tare_add_room(<source>...)
#
# Adds the sources of one room of src/ to the library.
function(tare_add_room)
  target_sources(tare PRIVATE ${ARGN})
  file(RELATIVE_PATH room "${PROJECT_SOURCE_DIR}/src" "${CMAKE_CURRENT_SOURCE_DIR}")
  string(REPLACE "/" "_" room "${room}")
  tare_compile_together(tare "${room}" 8 ${ARGN})
endfunction()
