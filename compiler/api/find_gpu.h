/* libhone_gpu, for artifacts that need it. */
#ifndef HONE_FIND_GPU_H
#define HONE_FIND_GPU_H

#include "compiler/api/gpu_library.h"

/* The library that the program was linked with, or the shared one beside this library or where the loader looks. Null,
   and `words` says where it was looked for, when there is none. */
__attribute__((visibility("hidden"))) const HoneGpuLibrary* hone_find_gpu(char* words, size_t room);

/* The library where it was found before. */
__attribute__((visibility("hidden"))) const HoneGpuLibrary* hone_found_gpu(void);

/* The library where the runtime's GPU is one of its; null where it has none or a host's own. */
__attribute__((visibility("hidden"))) const HoneGpuLibrary* hone_gpu_of(const HoneRuntime* runtime);

#endif
