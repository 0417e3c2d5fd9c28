#define _GNU_SOURCE
#include "compiler/api/find_gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#define HONE_GPU_FILE "libhone_gpu.so.0"

/* Null where the program is not linked with it. */
extern const HoneGpuLibrary hone_gpu_library __attribute__((weak));

static const HoneGpuLibrary* s_found;

static const HoneGpuLibrary* library_of(void* handle) {
  const HoneGpuLibrary* const library = dlsym(handle, "hone_gpu_library");
  return library && library->version == HONE_GPU_LIBRARY_VERSION ? library : NULL;
}

/* In the folder of the file that this function is in: of a program as its caller says it, which one with more rights
   than its caller does not believe. */
static void* open_beside(char* path, size_t room) {
  Dl_info info;
  path[0] = '\0';
  if (getauxval(AT_SECURE) || !dladdr((void*)&s_found, &info) || !info.dli_fname) return NULL;
  const char* const slash = strrchr(info.dli_fname, '/');
  const int length =
      snprintf(path, room, "%.*s" HONE_GPU_FILE, slash ? (int)(slash + 1 - info.dli_fname) : 0, info.dli_fname);
  return slash && length > 0 && (size_t)length < room ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

const HoneGpuLibrary* hone_find_gpu(char* words, size_t room) {
  char path[4096];
  const HoneGpuLibrary* found = __atomic_load_n(&s_found, __ATOMIC_ACQUIRE);
  if (found) return found;
  if (&hone_gpu_library) found = &hone_gpu_library;
  if (!found) found = library_of(RTLD_DEFAULT);
  if (!found) {
    void* library = open_beside(path, sizeof path);
    if (!library) library = dlopen(HONE_GPU_FILE, RTLD_NOW | RTLD_LOCAL);
    if (library) found = library_of(library);
    if (!found)
      snprintf(words, room,
               library ? "%.1000s or the loader's " HONE_GPU_FILE " is of another version"
                       : "there is neither %.1000s nor a " HONE_GPU_FILE " that the loader knows",
               path);
  }
  __atomic_store_n(&s_found, found, __ATOMIC_RELEASE);
  return found;
}

const HoneGpuLibrary* hone_found_gpu(void) { return __atomic_load_n(&s_found, __ATOMIC_ACQUIRE); }

const HoneGpuLibrary* hone_gpu_of(const HoneRuntime* runtime) {
  /* A host's own function, for which the library need not be looked for again. */
  static int32_t (*s_others)(void*, const HoneGpuProgram*, const DLTensor* const*, int32_t, void*);
  const HoneGpu* const gpu = runtime && runtime->abi_version >= HONE_RUNTIME_ABI ? runtime->gpu : NULL;
  if (!gpu || gpu->run == __atomic_load_n(&s_others, __ATOMIC_RELAXED)) return NULL;
  char words[1200];
  const HoneGpuLibrary* const library = hone_find_gpu(words, sizeof words);
  if (library && library->is_ours(runtime)) return library;
  __atomic_store_n(&s_others, gpu->run, __ATOMIC_RELAXED);
  return NULL;
}
