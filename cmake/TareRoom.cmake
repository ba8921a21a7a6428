# tare_add_room(<source>...)
#
# Adds the sources of one room of src/ to the library. A few at a time are compiled as one unit, as most of the
# time of a unit goes into the headers that all of a room read.
function(tare_add_room)
  target_sources(tare PRIVATE ${ARGN})
  file(RELATIVE_PATH room "${PROJECT_SOURCE_DIR}/src" "${CMAKE_CURRENT_SOURCE_DIR}")
  string(REPLACE "/" "_" room "${room}")
  set(index 0)
  foreach(source IN LISTS ARGN)
    math(EXPR group "${index} / 8")
    set_source_files_properties("${CMAKE_CURRENT_SOURCE_DIR}/${source}" TARGET_DIRECTORY tare
                                PROPERTIES UNITY_GROUP "${room}_${group}")
    math(EXPR index "${index} + 1")
  endforeach()
endfunction()
