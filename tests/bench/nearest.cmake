add_executable(bench_nearest nearest.cc contenders.cc)
target_link_libraries(bench_nearest PRIVATE hone_host hone_check)
hone_untimed(bench_nearest)
