add_executable(bench_transfer transfer.cc contenders.cc)
target_link_libraries(bench_transfer PRIVATE hone_host hone_check)
hone_untimed(bench_transfer)
