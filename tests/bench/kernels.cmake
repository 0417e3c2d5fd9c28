add_executable(bench_kernels kernels.cc contenders.cc kernel_workloads.cc peer_onnxruntime.cc
  models/onnxruntime_engine.cc models/onnxruntime_api.cc)
target_link_libraries(bench_kernels PRIVATE hone_host hone_check hone_bench_side hone_onnx_proto ${CMAKE_DL_LIBS})
# Peers, each in a file of its own; where one is not installed its column stays empty.
if(dnnl_FOUND)
  find_package(OpenMP REQUIRED COMPONENTS CXX)  # oneDNN's threads: how many is set through OpenMP
  target_sources(bench_kernels PRIVATE peer_onednn.cc)
  target_compile_definitions(bench_kernels PRIVATE HONE_HAVE_ONEDNN)
  target_link_libraries(bench_kernels PRIVATE DNNL::dnnl OpenMP::OpenMP_CXX)
endif()
if(OPENBLAS_FOUND)
  target_sources(bench_kernels PRIVATE peer_openblas.cc)
  target_compile_definitions(bench_kernels PRIVATE HONE_HAVE_OPENBLAS)
  target_link_libraries(bench_kernels PRIVATE PkgConfig::OPENBLAS)
endif()
