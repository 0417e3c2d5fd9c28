# `cmake --install build [--component tracker|agent|tuner|check|runtime|gpu|compiler|python]` (and `wheel`: see
# tuner/api/python). A program finds those that it starts beside itself, so they go to one folder, and libhone finds
# them in bin beside its own.
include(GNUInstallDirs)

# hone_install(COMPONENT PROGRAM...): installs those of the programs that are built.
function(hone_install component)
  foreach(program ${ARGN})
    if(TARGET ${program})
      install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${component})
    endif()
  endforeach()
endfunction()

hone_install(tracker tracker)
hone_install(agent device-agent hone-builder hone-runner)
hone_install(tuner tuner tophub tensorc)
hone_install(check gpu-check gpu-peers)
if(TARGET gpu-check)
  install(PROGRAMS ${PROJECT_SOURCE_DIR}/tests/gpu_check/gpu_torch.py DESTINATION ${CMAKE_INSTALL_BINDIR}
          RENAME gpu-torch COMPONENT check)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/compiler/runtime/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT runtime)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/db/packages DESTINATION ${CMAKE_INSTALL_DATADIR}/hone COMPONENT tuner)

include(HonePackage)
