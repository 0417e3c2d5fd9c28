add_executable(bench_units units.cc units_x86.cc)
target_link_libraries(bench_units PRIVATE hone_base)
