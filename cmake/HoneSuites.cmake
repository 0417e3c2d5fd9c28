# The ctest tests of a GoogleTest program: one process for each suite, some ten times fewer than one for each case.
# Called when the program is linked:
#
#   cmake -DPROGRAM=... -DLABEL=unit -DLONG=tests/long_suites.txt -DTIMEOUT=900 -DOUT=.../NAME_suites.cmake
#         -P HoneSuites.cmake
#
# writes OUT, which ctest includes: for each suite S the test LABEL.S. Unit and error tests have the label quick, too,
# but for the suites that the file LONG names.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE listed RESULT_VARIABLE status TIMEOUT 60)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} --gtest_list_tests: ${status}")
endif()
# Suites stand at the beginning of lines and end in a dot; comments on parameters may follow.
string(REGEX MATCHALL "(^|\n)[A-Za-z_][^ \n;]*[.]" suites "${listed}")
file(STRINGS ${LONG} long REGEX "^[^#]")
set(text "")
foreach(suite ${suites})
  string(STRIP "${suite}" suite)
  string(REGEX REPLACE "[.]$" "" suite "${suite}")
  set(labels ${LABEL})
  if(LABEL MATCHES "^(unit|error)$" AND NOT suite IN_LIST long)
    string(APPEND labels ";quick")
  endif()
  string(APPEND text
    "add_test([=[${LABEL}.${suite}]=] [=[${PROGRAM}]=] [=[--gtest_filter=${suite}.*]=])\n"
    "set_tests_properties([=[${LABEL}.${suite}]=] PROPERTIES LABELS [=[${labels}]=] TIMEOUT ${TIMEOUT})\n")
endforeach()
if(text STREQUAL "")
  message(FATAL_ERROR "${PROGRAM} has no tests")
endif()
file(WRITE ${OUT} "${text}")
