# Toolchain for ARM's 64-bit Linux: Debian's cross compiler, and the libraries in the folder that `deploy/cross arm64`
# makes (-DHONE_SYSROOT=FOLDER, HONE_SYSROOT in the environment, or that script's own choice). Programs that run while
# building (protoc, gRPC's plugin, LLVM's objcopy) are this machine's.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

if(NOT HONE_SYSROOT)
  if(DEFINED ENV{HONE_SYSROOT})
    set(HONE_SYSROOT "$ENV{HONE_SYSROOT}")
  elseif(DEFINED ENV{XDG_CACHE_HOME})
    set(HONE_SYSROOT "$ENV{XDG_CACHE_HOME}/hone/sysroot-arm64")
  else()
    set(HONE_SYSROOT "$ENV{HOME}/.cache/hone/sysroot-arm64")
  endif()
endif()
set(HONE_SYSROOT "${HONE_SYSROOT}" CACHE PATH "Debian's arm64 libraries, unpacked by deploy/cross")
if(NOT EXISTS ${HONE_SYSROOT}/.packages)
  message(FATAL_ERROR "${HONE_SYSROOT} is no complete sysroot: `deploy/cross arm64` makes one")
endif()
# The small projects that CMake compiles to try things read this file, too.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES HONE_SYSROOT)

set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_SYSROOT ${HONE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${HONE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} "${HONE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${HONE_SYSROOT}/usr/share/pkgconfig")
