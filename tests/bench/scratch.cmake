add_executable(bench_scratch scratch.cc recording.cc replay.cc replay_spaces.cc)
target_compile_definitions(bench_scratch PRIVATE HONE_RECORDINGS="${CMAKE_CURRENT_SOURCE_DIR}/replay")
target_link_libraries(bench_scratch PRIVATE hone_tuner_cli PkgConfig::ZSTD PkgConfig::XGBOOST)
