/* The thread pool of artifacts and of libhone_runtime: C11 over libc and Linux's futexes, nothing else of Hone.

   Compiled when Hone is built and linked to artifacts as an object, so names are hidden (no program sees them) and weak
   (several artifacts' objects in one program are no clash: the first's are taken). NAME_pool and NAME_pool_free call
   them. */
#ifndef HONE_POOL_H
#define HONE_POOL_H

#include "compiler/runtime/include/hone_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HONE_POOL_LOCAL __attribute__((visibility("hidden")))

/* The most threads of a pool. */
#define HONE_POOL_MOST_THREADS 1024

/* A pool of `threads` threads, those that call it included; 0: one for each CPU that the calling thread may run on, at
   most HONE_POOL_MOST_THREADS. Null where that cannot be had, and errno says why: EINVAL (less than 0, or more than the
   most), ENOMEM, EAGAIN (the system makes no more threads).

   Any number of threads may use it at once: one region has the pool's threads, regions that meet it run on the thread
   that called. Its threads are on the CPUs that the calling thread may run on, take no signals, and sleep at the latest
   200 us after a region. In the child of a fork() regions run on the thread that calls. */
HONE_POOL_LOCAL HoneRuntime* hone_internal_pool_new(int32_t threads);

/* Ends the threads and frees the pool; no region may run on it. Null does nothing. In the child of a fork() it frees
   what is there of the pool. */
HONE_POOL_LOCAL void hone_internal_pool_free(HoneRuntime* pool);

/* One region on all of the pool's threads: iteration i runs on thread i, whatever that thread is doing; elsewhere no
   thread is waited for that has not begun. HONE_PANIC where it cannot be (inside a chunk, in the child of a fork(),
   while another region runs). For who sets or measures threads. */
HONE_POOL_LOCAL int32_t hone_internal_pool_on_each(HoneRuntime* pool, HoneChunk body, void* closure);

#ifdef __cplusplus
}
#endif

#endif
