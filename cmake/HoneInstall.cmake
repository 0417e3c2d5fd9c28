# `cmake --install build [--component tracker|agent|tuner|check|runtime|compiler]`. A program finds those that it starts
# beside itself, so they go to one folder.
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
# What libhone starts to tune, and hone_add_model() to build; the library looks for it in bin beside its own folder.
hone_install(compiler tensorc tracker device-agent hone-builder hone-runner)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/compiler/runtime/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT runtime)
foreach(component tuner compiler)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/db/packages DESTINATION ${CMAKE_INSTALL_DATADIR}/hone COMPONENT ${component})
endforeach()
