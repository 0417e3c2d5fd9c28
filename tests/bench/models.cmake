# Apart, for its tests. One side of a comparison needs libhone_runtime alone.
add_library(hone_bench_side STATIC models/layers.cc models/line_channel.cc models/side_case.cc models/side_loop.cc)
target_link_libraries(hone_bench_side PUBLIC hone_base)
add_executable(bench_models_side models/side_main.cc models/hone_engine.cc models/onnxruntime_engine.cc
  models/onnxruntime_api.cc models/tflite_engine.cc)
target_link_libraries(bench_models_side PRIVATE hone_bench_side hone_runtime_static ${CMAKE_DL_LIBS})

add_library(hone_bench_models STATIC
  models/build.cc models/chart.cc models/fill.cc models/measure.cc models/model_list.cc models/others_use.cc
  models/result.cc models/side_process.cc models/signature.cc models/table.cc)
target_link_libraries(hone_bench_models PUBLIC hone_bench_side hone_model hone_onnx hone_plot)
add_executable(bench_models models/main.cc)
target_link_libraries(bench_models PRIVATE hone_bench_models)
add_dependencies(bench_models tensorc bench_models_side)
hone_untimed(hone_bench_models bench_models)
