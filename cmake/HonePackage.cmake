# Debian packages of the installed parts: deploy/package. Each is one or more of the install components.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME hone)
set(CPACK_PACKAGE_VENDOR Hone)
set(CPACK_PACKAGE_CONTACT "Hone <hone@localhost>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_HOMEPAGE "")
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
# dpkg-shlibdeps finds the packages that the programs are linked with; our own libraries are not packages yet.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/lib ${CMAKE_BINARY_DIR}/compiler/api)
if(HONE_SYSROOT)
  # dpkg-shlibdeps finds the sysroot's libraries there, and in DEBIAN/ above them which packages they are of.
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
  list(APPEND CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS
    ${HONE_SYSROOT}/lib/${CMAKE_LIBRARY_ARCHITECTURE} ${HONE_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
endif()

# hone_deb(PART NAME SUMMARY DEPENDS): the package of an install component, or of a group of these.
macro(hone_deb part name summary depends)
  string(TOUPPER ${part} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  # `apt list` and the like show the first line.
  set(CPACK_DEBIAN_${upper}_DESCRIPTION
    "${summary}\nHone is a tensor compiler that tunes itself on the devices it compiles for.")
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${summary}")
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${depends}")
endmacro()
set(same "(= ${PROJECT_VERSION})")
hone_deb(programs hone "tensorc, tuner, tophub and tracker, and the configs that ship" "hone-agent ${same}")
hone_deb(device hone-agent "the device agent: compiles, checks and times candidates on this machine" "")
hone_deb(library libhone-runtime
  "opens and runs artifacts, on GPUs too: libraries of C over libc, with their headers" "")
hone_deb(compiler libhone-dev "libhone: compile, tune and the tophub from C and C++"
  "hone ${same}, libhone-runtime ${same}")
hone_deb(python python3-hone "Hone from Python" "libhone-dev ${same}, python3, python3-numpy")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/deploy/debian/python3-hone/prerm)
# The programs of one machine form one package; `cmake --install` keeps them apart.
set(CPACK_COMPONENTS_ALL tuner tophub_unit tracker tracker_unit agent agent_unit runtime gpu compiler)
if(TARGET hone_python)
  list(APPEND CPACK_COMPONENTS_ALL python)
endif()
set(CPACK_COMPONENT_TUNER_GROUP programs)
set(CPACK_COMPONENT_TRACKER_GROUP programs)
set(CPACK_COMPONENT_TRACKER_UNIT_GROUP programs)
set(CPACK_COMPONENT_TOPHUB_UNIT_GROUP programs)
set(CPACK_COMPONENT_RUNTIME_GROUP library)
set(CPACK_COMPONENT_GPU_GROUP library)
set(CPACK_COMPONENT_AGENT_GROUP device)
set(CPACK_COMPONENT_AGENT_UNIT_GROUP device)

# The units, of packages alone: by hand they are copied as docs/fleet.md says, with programs in /usr/local.
foreach(part agent tracker tophub)
  file(READ ${PROJECT_SOURCE_DIR}/deploy/systemd/hone-${part}.service text)
  string(REPLACE /usr/local/bin/ /usr/bin/ text "${text}")
  file(WRITE ${CMAKE_BINARY_DIR}/units/hone-${part}.service "${text}")
  install(FILES ${CMAKE_BINARY_DIR}/units/hone-${part}.service DESTINATION lib/systemd/system
          COMPONENT ${part}_unit EXCLUDE_FROM_ALL)
  install(FILES ${PROJECT_SOURCE_DIR}/deploy/systemd/${part}.env DESTINATION share/doc/hone-${part}
          COMPONENT ${part}_unit EXCLUDE_FROM_ALL)
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/deploy/systemd/hone-sysusers.conf DESTINATION lib/sysusers.d RENAME hone.conf
        COMPONENT tracker_unit EXCLUDE_FROM_ALL)

include(CPack)
