# tare_reads_graph(<file> <result>)
#
# Whether the file reads tare/graph.h, be it through other headers.
function(tare_reads_graph file result)
  get_property(known GLOBAL PROPERTY "tare_reads_graph_${file}")
  if("${known}" STREQUAL "")
    set(known NO)
    set_property(GLOBAL PROPERTY "tare_reads_graph_${file}" NO)  # of headers that read each other
    file(STRINGS "${file}" lines REGEX "^#include \"")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^#include \"([^\"]*)\".*" "\\1" header "${line}")
      if(header STREQUAL "tare/graph.h")
        set(known YES)
        break()
      endif()
      foreach(folder IN ITEMS include src apps/tare patterns)
        if(EXISTS "${PROJECT_SOURCE_DIR}/${folder}/${header}")
          tare_reads_graph("${PROJECT_SOURCE_DIR}/${folder}/${header}" known)
          break()
        endif()
      endforeach()
      if(known)
        break()
      endif()
    endforeach()
    set_property(GLOBAL PROPERTY "tare_reads_graph_${file}" ${known})
  endif()
  set(${result} ${known} PARENT_SCOPE)
endfunction()

# tare_compile_together(<target> <name> <size> <source>...)
#
# Compiles the sources as units of <size> files, in their order, as most of the time of a file goes into the headers that
# all of them read. Those that read graph.h are in units of their own, so that the others need not be compiled again when it
# changes, and of twice as many files, as the headers that go with it take longer.
# UNITY_BUILD of the target turns units on and off.
function(tare_compile_together target name size)
  set(index_YES 0)
  set(index_NO 0)
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    tare_reads_graph("${source}" reads)
    if(reads)
      math(EXPR group "${index_YES} / (2 * ${size})")
      string(PREPEND group "graph_")
    else()
      math(EXPR group "${index_NO} / ${size}")
    endif()
    set_source_files_properties("${source}" TARGET_DIRECTORY ${target}
                                PROPERTIES UNITY_GROUP "${name}_${group}")
    math(EXPR index_${reads} "${index_${reads}} + 1")
  endforeach()
endfunction()

# tare_add_room([<source>...] [NUMERIC <source>...])
#
# Adds the sources of one room of src/ to the library. Those that loop over the elements of tensors are NUMERIC and compiled
# for speed; the others are not, which takes half the time.
function(tare_add_room)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "NUMERIC")
  file(RELATIVE_PATH room "${PROJECT_SOURCE_DIR}/src" "${CMAKE_CURRENT_SOURCE_DIR}")
  string(REPLACE "/" "_" room "${room}")
  target_sources(tare_numeric PRIVATE ${arg_NUMERIC})
  tare_compile_together(tare_numeric "${room}" 12 ${arg_NUMERIC})
  target_sources(tare PRIVATE ${arg_UNPARSED_ARGUMENTS})
  tare_compile_together(tare "${room}" 12 ${arg_UNPARSED_ARGUMENTS})
endfunction()
