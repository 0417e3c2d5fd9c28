add_executable(bench_tophub tophub_bench.cc)
target_link_libraries(bench_tophub PRIVATE hone_db)
hone_untimed(bench_tophub)
