find_package(PkgConfig REQUIRED)
pkg_check_modules(XGBS REQUIRED IMPORTED_TARGET xgboost)
add_executable(bench_scratch scratch.cc)
target_link_libraries(bench_scratch PRIVATE hone_replay hone_tuner_cli PkgConfig::XGBS)
