# Installs the library, then configures, builds and runs the project with either package.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${WORK}")
run("${CMAKE_COMMAND}" --install "${TARE_BUILD}" --prefix "${WORK}/prefix")
file(GLOB_RECURSE in_prefix "${WORK}/prefix/*/tareConfig.cmake")
foreach(config IN ITEMS "${in_prefix}" "${TARE_BUILD}/cmake/tareConfig.cmake")
  cmake_path(GET config PARENT_PATH package)
  string(MD5 name "${package}")
  run("${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${PROJECT}" -B "${WORK}/${name}"
      "-Dtare_DIR=${package}" "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}"
      "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}")
  run("${CMAKE_COMMAND}" --build "${WORK}/${name}")
  execute_process(COMMAND "${WORK}/${name}/consumer" OUTPUT_VARIABLE said
                  COMMAND_ERROR_IS_FATAL ANY)
  if(NOT said STREQUAL "q(0.025, 0)\n")
    message(FATAL_ERROR "the program said '${said}'")
  endif()
  if(EXISTS "${WORK}/prefix/bin/tare")
    foreach(plugin IN ITEMS half_of_max mean_of_quantiles)
      run("${WORK}/prefix/bin/tare" quantize "${DATA}/digits.onnx" --samples 5 --quiet
          --data "${DATA}/digits_calibration.h5" -o "${WORK}/digits.int8.onnx"
          --set "plugins=[${WORK}/${name}/${plugin}.so]"
          --set activations.calibrator=${plugin})
    endforeach()
  endif()
endforeach()
