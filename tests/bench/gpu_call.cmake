add_executable(bench_gpu_call gpu_call.cc)
target_link_libraries(bench_gpu_call PRIVATE hone_gpu_static hone_runtime_static hone_model)
# The driver that only adds is one of the tests (tests/gpu/agent).
if(HONE_TESTS)
  add_dependencies(bench_gpu_call fake_cuda_adds)
  target_compile_definitions(bench_gpu_call PRIVATE HONE_FAKE_CUDA_ADDS="$<TARGET_FILE:fake_cuda_adds>")
endif()
target_include_directories(bench_gpu_call PRIVATE ${CMAKE_SOURCE_DIR})
