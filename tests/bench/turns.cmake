# Artifacts of one model beside each other: `bench_turns 5 a.so b.so` prints nanoseconds of a call of each, a line a
# turn.
add_executable(bench_turns ${CMAKE_CURRENT_SOURCE_DIR}/tuning/turns.cc)
target_link_libraries(bench_turns PRIVATE hone_runtime_static)
