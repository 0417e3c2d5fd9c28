add_executable(bench_micro micro.cc)
target_link_libraries(bench_micro PRIVATE hone_host hone_rpc_ir hone_search benchmark::benchmark_main)
