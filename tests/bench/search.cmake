add_executable(bench_search search.cc record_space.cc)
target_link_libraries(bench_search PRIVATE hone_replay hone_tuner_cli hone_llvm)
add_dependencies(bench_search tracker device-agent)
hone_untimed(bench_search)
