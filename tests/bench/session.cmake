add_executable(bench_session session.cc)
target_link_libraries(bench_session PRIVATE hone_tuner_cli)
add_dependencies(bench_session tracker device-agent)
hone_untimed(bench_session)
