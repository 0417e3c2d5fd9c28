/* a: a model for llvm -mtriple=x86_64-linux -mcpu=znver3 -threads=1.

   a_run takes these tensors, row-major, on the CPU, aligned as their elements need, and checks them;
   the arena is its workspace: 0 bytes, aligned to 64, one for each call that runs at the same time.
   0 input: f32 [3, 16]  x
   1 output: f32 [3, 8]  y
*/
#ifndef A_H
#define A_H

#include "hone_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

#define A_TENSORS 2
#define A_ARENA_BYTES 0

int32_t a_run(const DLTensor* const* tensors, int32_t n, void* arena, const HoneRuntime* rt);
const char* a_error(int32_t code);
extern const HoneArtifact a_artifact;
extern const char a_json[];

/* A pool of `threads` threads, those that call it included (0: one for each CPU that the caller may run on),
   for the last argument of this and any other artifact's entries; any number of threads may use it at once,
   and in the child of a fork() all runs on the calling thread. Null, and errno says why, where it cannot be
   made. a_pool_free ends it; nothing may run on it then. Of objects: they are in a_pool.o, which all else
   does without. */
HoneRuntime* a_pool(int32_t threads);
void a_pool_free(HoneRuntime* pool);

#ifdef __cplusplus
}
#endif

#endif
