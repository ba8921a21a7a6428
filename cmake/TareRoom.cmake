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

# tare_add_room([NUMERIC] <source>...)
#
# Adds the sources of one room of src/ to the library. Those of rooms that loop over the elements of tensors are NUMERIC and
# compiled for speed; the others are not, which takes half the time.
function(tare_add_room)
  cmake_parse_arguments(PARSE_ARGV 0 arg "NUMERIC" "" "")
  set(target tare)
  if(arg_NUMERIC)
    set(target tare_numeric)
  endif()
  target_sources(${target} PRIVATE ${arg_UNPARSED_ARGUMENTS})
  file(RELATIVE_PATH room "${PROJECT_SOURCE_DIR}/src" "${CMAKE_CURRENT_SOURCE_DIR}")
  string(REPLACE "/" "_" room "${room}")
  tare_compile_together(${target} "${room}" 8 ${arg_UNPARSED_ARGUMENTS})
endfunction()
