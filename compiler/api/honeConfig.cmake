# find_package(hone): hone::runtime (shared) and hone::runtime_static, C libraries that open and run artifacts, and
# hone::headers, all that a program with an artifact in it needs.
include(CMakeFindDependencyMacro)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/honeTargets.cmake)
