# Installs the library, then configures, builds and runs the project and the examples with either
# package.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(build folder project package)
  run("${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${project}" -B "${folder}" "-Dtare_DIR=${package}"
      "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}"
      "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}")
  run("${CMAKE_COMMAND}" --build "${folder}")
endfunction()

# The last bits of calibrated numbers depend on the processor.
function(without_numbers text result)
  string(REGEX REPLACE "q\\([^)]*\\)" "q()" text "${text}")
  string(REGEX REPLACE "[*] [0-9]+ >> [0-9]+" "* >>" text "${text}")
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

# What the short programs of docs/examples print and write, in a folder of their own.
function(run_examples folder)
  execute_process(COMMAND "${folder}/range_to_scale" -1 3 OUTPUT_VARIABLE said
                  COMMAND_ERROR_IS_FATAL ANY)
  if(NOT said MATCHES "^q\\(0.015706806, 64\\)\n.*\n3.4 is stored as 255, which stands for 3\n$")
    message(FATAL_ERROR "range_to_scale said '${said}'")
  endif()
  file(WRITE "${folder}/picture.ppm" "P6\n2 2\n255\nabcdefghijkl")
  execute_process(COMMAND ./write_samples samples.h5 image picture.ppm picture.ppm
                  WORKING_DIRECTORY "${folder}" OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
  if(NOT said STREQUAL "2 samples of shape [3,2,2]\n")
    message(FATAL_ERROR "write_samples said '${said}'")
  endif()
  execute_process(COMMAND ./search_and_report "${DATA}/digits.onnx"
                          "${DATA}/digits_calibration.h5" "${DATA}/digits_evaluation.h5"
                  WORKING_DIRECTORY "${folder}" OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
  if(NOT said MATCHES "the output has an SQNR of 4[0-9.]+ dB" OR
     NOT EXISTS "${folder}/searched.onnx" OR NOT EXISTS "${folder}/searched.html")
    message(FATAL_ERROR "search_and_report said '${said}'")
  endif()
endfunction()

# A network on the accelerator of docs/examples: the integers of each unit are those of its
# reference, files with its operators run, nothing in them is what it cannot do, and search finds
# a plan whose sums fit into its accumulators.
function(run_accelerator folder network model samples convolutions)
  set(target --target "${EXAMPLES}/accelerator/lark.yaml" --plugin "${folder}/lark.so")
  set(quantized "${folder}/${network}.onnx")
  run("${WORK}/prefix/bin/tare" quantize "${model}" --data "${samples}" -o "${quantized}" --quiet
      --samples 24 --set activations.calibrator=lark_nearly_all ${target})
  execute_process(COMMAND "${folder}/lark_check" "${quantized}" "${EXAMPLES}/accelerator/lark.yaml"
                          "${folder}/lark.so" "${samples}" 2
                  OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
  if(NOT said MATCHES "^[1-9][0-9]* units, ${convolutions} with convolutions, 2 samples, [1-9][0-9]* integers: equal\n$")
    message(FATAL_ERROR "lark_check said '${said}'")
  endif()
  execute_process(COMMAND "${WORK}/prefix/bin/tare" explain "${quantized}" ${target}
                  OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
  if(said MATCHES "one group|14 bits|no integer form|no such unit")
    message(FATAL_ERROR "tare explain said '${said}'")
  endif()
  run("${WORK}/prefix/bin/tare" run "${quantized}" --data "${samples}" -o "${folder}/results.h5"
      --samples 2 --quiet)
  run("${WORK}/prefix/bin/tare" search "${model}" --data "${samples}" --samples 16 --quiet
      -o "${folder}/searched.onnx" --set activations.calibrator=lark_nearly_all
      --require "max(layers.accumulator.bits_observed)<=14" ${target})
endfunction()

file(REMOVE_RECURSE "${WORK}")
run("${CMAKE_COMMAND}" --install "${TARE_BUILD}" --prefix "${WORK}/prefix")
file(GLOB_RECURSE in_prefix "${WORK}/prefix/*/tareConfig.cmake")
file(GLOB written RELATIVE "${HEADERS}" "${HEADERS}/tare/*.h")
file(GLOB installed RELATIVE "${WORK}/prefix/include" "${WORK}/prefix/include/tare/*.h")
if(NOT installed STREQUAL written)
  message(FATAL_ERROR "installed are the headers ${installed}, of ${written}")
endif()
foreach(config IN ITEMS "${in_prefix}" "${TARE_BUILD}/cmake/tareConfig.cmake")
  cmake_path(GET config PARENT_PATH package)
  string(MD5 name "${package}")
  build("${WORK}/${name}" "${PROJECT}" "${package}")
  execute_process(COMMAND "${WORK}/${name}/consumer" OUTPUT_VARIABLE said
                  COMMAND_ERROR_IS_FATAL ANY)
  if(NOT said STREQUAL "q(0.025, 0)\n")
    message(FATAL_ERROR "the program said '${said}'")
  endif()
  build("${WORK}/${name}/examples" "${EXAMPLES}" "${package}")
  run_examples("${WORK}/${name}/examples")
  build("${WORK}/${name}/offload" "${EXAMPLES}/offload" "${package}")
  execute_process(COMMAND "${WORK}/${name}/offload/offload" "${DATA}/digits.onnx"
                          "${DATA}/digits_calibration.h5"
                  OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
  without_numbers("${said}" said_of)
  file(READ "${EXAMPLES}/offload/digits.txt" expected)
  without_numbers("${expected}" expected_of)
  if(NOT said_of STREQUAL expected_of)
    message(FATAL_ERROR "docs/examples/offload said '${said}'")
  endif()
  build("${WORK}/${name}/accelerator" "${EXAMPLES}/accelerator" "${package}")
  if(EXISTS "${WORK}/prefix/bin/tare")
    run_accelerator("${WORK}/${name}/accelerator" digits "${DATA}/digits.onnx"
                    "${DATA}/digits_calibration.h5" 17)
    if(EXISTS "${SHARED}/models")
      run_accelerator("${WORK}/${name}/accelerator" kws "${SHARED}/models/mlperftiny_kws_dscnn.onnx"
                      "${SHARED}/data/kws49x10_calib200_f32.h5" 9)
      run_accelerator("${WORK}/${name}/accelerator" resnet20
                      "${SHARED}/models/resnet20_cifar10_op13.onnx"
                      "${SHARED}/data/cifar10_imagenetnorm_calib500_f32.h5" 19)
      run_accelerator("${WORK}/${name}/accelerator" sst2
                      "${SHARED}/models/sst2_encoder2L_d96_op13.onnx"
                      "${SHARED}/data/sst2_calib500.h5" 0)
    endif()
    run("${WORK}/prefix/bin/tare" quantize "${DATA}/digits.onnx" --quiet
        --data "${DATA}/digits_calibration.h5" -o "${WORK}/digits.int8.onnx"
        --set requantize.rounding=upward)
    run("${WORK}/${name}/offload/offload" "${WORK}/digits.int8.onnx")
    foreach(plugin IN ITEMS half_of_max mean_of_quantiles)
      run("${WORK}/prefix/bin/tare" quantize "${DATA}/digits.onnx" --samples 5 --quiet
          --data "${DATA}/digits_calibration.h5" -o "${WORK}/digits.int8.onnx"
          --set "plugins=[${WORK}/${name}/${plugin}.so]"
          --set activations.calibrator=${plugin})
    endforeach()
    run("${WORK}/prefix/bin/tare" search "${DATA}/digits.onnx" --samples 20 --quiet
        --data "${DATA}/digits_evaluation.h5" -o "${WORK}/digits.int8.onnx"
        --set "plugins=[${WORK}/${name}/right_in_two.so]" --require "right_in_two>=0.5")
  endif()
endforeach()
