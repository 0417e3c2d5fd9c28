add_executable(bench_fleet
  fleet.cc fleet_fair.cc fleet_idle.cc fleet_in_process.cc fleet_killed.cc fleet_loopback.cc fleet_recovery.cc
  fleet_tracker.cc sim_agents.cc)
target_link_libraries(bench_fleet PRIVATE hone_tracker hone_wire)
add_dependencies(bench_fleet tracker)
hone_untimed(bench_fleet)
