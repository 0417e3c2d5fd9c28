# hone_add_model (tuner/api/honeAddModel.cmake) names the argument that is wrong. Run as `cmake -P`: none of these calls
# comes as far as to make a target.
cmake_minimum_required(VERSION 3.25)

if(DEFINED ARGUMENTS)
  set(HONE_TENSORC tensorc)
  include(${CMAKE_CURRENT_LIST_DIR}/../../../tuner/api/honeAddModel.cmake)
  cmake_language(EVAL CODE "hone_add_model(${ARGUMENTS})")
  return()
endif()

function(expect_refused arguments line)
  execute_process(COMMAND ${CMAKE_COMMAND} "-DARGUMENTS=${arguments}" -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    ERROR_VARIABLE error RESULT_VARIABLE code)
  string(REGEX REPLACE "[ \n]+" " " error "${error}")  # CMake breaks lines
  string(FIND "${error}" "${line}" at)
  if(code EQUAL 0 OR at EQUAL -1)
    message(SEND_ERROR "hone_add_model(${arguments}):\nexpected: ${line}\ngiven: ${error}")
  endif()
endfunction()

expect_refused("net net.onnx TARGETS llvm" "hone_add_model(net): unknown 'TARGETS', 'llvm' behind net.onnx: there are")
expect_refused("net net.onnx TARGET DB x.db" "hone_add_model(net): nothing stands behind TARGET")
expect_refused("net net.onnx DB" "hone_add_model(net): nothing stands behind DB")
expect_refused("2net net.onnx" "hone_add_model: NAME '2net' must be a C identifier")
expect_refused("libnet net.onnx" "hone_add_model: NAME 'libnet' must be a C identifier")
