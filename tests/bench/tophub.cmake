if(TARGET hone_hub)
  add_executable(bench_tophub tophub.cc)
  target_link_libraries(bench_tophub PRIVATE hone_hub hone_team_postgres)
endif()
