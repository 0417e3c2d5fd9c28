# Compiler settings and the few functions that the modules' CMakeLists share.
# Designated initializers leave members at their defaults on purpose.
add_compile_options(-Wall -Wextra -Wno-missing-field-initializers)
if(HONE_WERROR)
  add_compile_options(-Werror)
endif()
# Messages of internal errors name files from the root of the tree, not by a path of the machine that built them.
add_compile_options(-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)
# Programs find libraries where the system has them, and those of this tree by INSTALL_RPATH, relative to $ORIGIN: the
# same in the build tree and where they are installed. CMake would leave room in a runpath for the one that it writes
# when it installs, as an empty element, and the loader takes that for the folder in which a program is called. (A LLVM
# that is not where the system's loader looks: -DCMAKE_INSTALL_RPATH=FOLDER.)
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # GCC collects its garbage seldom: 6 to 20% of the time, for memory.
  add_compile_options("SHELL:--param ggc-min-expand=300" "SHELL:--param ggc-min-heapsize=500000")
endif()
if(HONE_SANITIZE)
  # Code inserted by sanitizers makes GCC report initialized members of optionals and small vectors as uninitialized.
  add_compile_options(-fsanitize=${HONE_SANITIZE} -fno-omit-frame-pointer -Wno-error=maybe-uninitialized)
  add_link_options(-fsanitize=${HONE_SANITIZE})
  if(HONE_SANITIZE MATCHES thread)
    add_compile_options(-Wno-tsan)  # Boost.Asio's fences, which the sanitizer does not follow
  endif()
endif()

# Files of a library are compiled many at a time: their headers are read once, and templates are instantiated once.
# Names in the unnamed namespaces of one library must differ; a file that is expensive on its own is compiled alone
# (hone_alone). Thirty-two at a time take two thirds to three quarters of the processor time of eight, but keep few
# cores busy.
cmake_host_system_information(RESULT HONE_CORES QUERY NUMBER_OF_LOGICAL_CORES)
if(HONE_UNITY)
  set(CMAKE_UNITY_BUILD ON)
  if(HONE_CORES GREATER 8)
    set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)
  else()
    set(CMAKE_UNITY_BUILD_BATCH_SIZE 32)
  endif()
  # GCC warns of unnamed namespaces in included files, which it takes for headers.
  add_compile_options($<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>)
endif()

# hone_alone(FILE...): files of the current folder that are not compiled together with others.
function(hone_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

find_program(HONE_CCACHE ccache)
if(HONE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${HONE_CCACHE})
endif()
find_program(HONE_MOLD mold)
if(HONE_MOLD)
  # A cross compiler looks for its linkers elsewhere, and may find none of that name.
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=mold HONE_LINKS_WITH_MOLD)
  if(HONE_LINKS_WITH_MOLD)
    add_link_options(-fuse-ld=mold)
  endif()
endif()

# How long a test may take: a sanitized build is some ten times slower. The options of sanitizers at run time are in
# deploy/sanitize.
set(HONE_TEST_TIMEOUT 300)
if(HONE_SANITIZE)
  set(HONE_TEST_TIMEOUT 1500)
endif()

# hone_cold(TARGET...): code that no candidate and no element waits for; with -Og it is compiled in half to three
# quarters of the time.
function(hone_cold)
  if(CMAKE_BUILD_TYPE STREQUAL Release)
    foreach(target ${ARGN})
      if(TARGET ${target})
        target_compile_options(${target} PRIVATE -Og)
      endif()
    endforeach()
  endif()
endfunction()

# hone_prefers_hot(TARGET...): programs that lower candidates. The linker takes one instance of a template that several
# files instantiate, the first: here those of the libraries that candidates wait for (with instances of -Og lowering
# takes a tenth longer). Where the linker looks at archives in order, this changes nothing.
function(hone_prefers_hot)
  foreach(target ${ARGN})
    if(TARGET ${target})
      foreach(library hone_ops hone_schedule hone_lower hone_arith hone_ir)
        target_link_options(${target} PRIVATE $<TARGET_FILE:${library}>)
      endforeach()
    endif()
  endforeach()
endfunction()

# hone_untimed(TARGET...): programs around what they time: with -O0 they are compiled in half of the time.
function(hone_untimed)
  if(CMAKE_BUILD_TYPE STREQUAL Release)
    foreach(target ${ARGN})
      target_compile_options(${target} PRIVATE -O0)
    endforeach()
  endif()
endfunction()

# hone_library(NAME DEPS...): a static library of every .cc file of the current folder (not of its subfolders).
function(hone_library name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC ${ARGN})
endfunction()

# hone_test(NAME LABEL DEPS...): one GoogleTest program of every *_test.cc of the current folder, known to ctest; the
# target tests_LABEL builds all of a label. Programs that work in their own process alone are run a suite at a time,
# those that start others, or take long, a case at a time (HONE_TEST_SUITES: a suite, too).
function(hone_test name label)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cc)
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ${ARGN} GTest::gmock_main)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE
    HONE_SOURCE_DIR="${CMAKE_SOURCE_DIR}" HONE_BIN_DIR="${CMAKE_BINARY_DIR}/bin")
  if(NOT TARGET tests_${label})
    add_custom_target(tests_${label})
  endif()
  add_dependencies(tests_${label} ${name})
  if(label MATCHES "^(unit|error|golden|fuzz|gpu|property)$" OR HONE_TEST_SUITES)
    hone_suites(${name} ${label})
    return()
  endif()
  if(label MATCHES "^(slow|arm64)$")
    set(HONE_TEST_TIMEOUT 3600)
  endif()
  gtest_discover_tests(${name} TEST_PREFIX "${label}." NO_PRETTY_VALUES
    PROPERTIES LABELS ${label} TIMEOUT ${HONE_TEST_TIMEOUT} DISCOVERY_TIMEOUT 60)
endfunction()

# hone_all_draws(NAME): a slow test more: the program NAME, which draws random cases, with all of them
# (tests/fakes/draws.h).
function(hone_all_draws name)
  add_test(NAME slow.AllDraws.${name} COMMAND ${name})
  set_tests_properties(slow.AllDraws.${name} PROPERTIES LABELS slow TIMEOUT 3600 ENVIRONMENT HONE_DRAWS=all)
endfunction()

# hone_suites(NAME LABEL): a test for ctest for each suite of the program NAME (cmake/HoneSuites.cmake).
function(hone_suites name label)
  set(suites ${CMAKE_CURRENT_BINARY_DIR}/${name}_suites.cmake)
  math(EXPR timeout "3 * ${HONE_TEST_TIMEOUT}")
  add_custom_command(TARGET ${name} POST_BUILD BYPRODUCTS ${suites} VERBATIM COMMAND ${CMAKE_COMMAND}
    -DPROGRAM=$<TARGET_FILE:${name}> -DLABEL=${label} -DTIMEOUT=${timeout} -DOUT=${suites}
    -DLONG=${CMAKE_SOURCE_DIR}/tests/long_suites.txt
    -P ${CMAKE_SOURCE_DIR}/cmake/HoneSuites.cmake)
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${name}_tests.cmake
    "if(EXISTS \"${suites}\")\n  include(\"${suites}\")\nelse()\n"
    "  add_test(${name}_NOT_BUILT ${name}_NOT_BUILT)\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}_tests.cmake)
endfunction()
