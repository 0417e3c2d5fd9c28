if(TARGET hone_hub)
  add_executable(bench_hub hub_bench.cc)
  target_link_libraries(bench_hub PRIVATE hone_hub hone_team_postgres)
endif()
