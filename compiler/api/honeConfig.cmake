# find_package(hone COMPONENTS runtime gpu compiler), or without components what is installed.
#
# runtime: hone::runtime (shared) and hone::runtime_static, C libraries that open and run artifacts, and hone::headers,
# all that a program with an artifact in it needs.
# gpu: hone::gpu (shared) and hone::gpu_static, which artifacts for GPUs run with (hone_gpu.h).
# compiler: hone::compiler, a library that also builds, tunes and asks the tophub (hone_compiler.h, hone.hpp), and
# hone_add_model(), which builds a model with a program's other files.
include(CMakeFindDependencyMacro)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/honeTargets.cmake)
set(hone_runtime_FOUND TRUE)
if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/honeGpuTargets.cmake)
  include(${CMAKE_CURRENT_LIST_DIR}/honeGpuTargets.cmake)
  set(hone_gpu_FOUND TRUE)
endif()
if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/honeCompilerTargets.cmake)
  include(${CMAKE_CURRENT_LIST_DIR}/honeCompilerTargets.cmake)
  include(${CMAKE_CURRENT_LIST_DIR}/honeAddModel.cmake)
  set(hone_compiler_FOUND TRUE)
endif()
foreach(component ${hone_FIND_COMPONENTS})
  if(NOT hone_${component}_FOUND AND hone_FIND_REQUIRED_${component})
    set(hone_FOUND FALSE)
    set(hone_NOT_FOUND_MESSAGE
      "hone's ${component} is not installed here; there are runtime, gpu and compiler (cmake --install --component)")
  endif()
endforeach()
