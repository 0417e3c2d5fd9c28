/* Only functions that every glibc since 2.17 and musl have, and of these only such as glibc never had two versions of
   with two behaviours: an artifact names no versions, and gets the oldest. Hence futexes instead of condition
   variables, and system calls by number. */
#define _GNU_SOURCE
#include "compiler/runtime/pool/pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* MADV_WIPEONFORK, since Linux 4.14. A test gives another number: as earlier kernels, which do not know it. */
#ifndef HONE_POOL_WIPE_ON_FORK
#define HONE_POOL_WIPE_ON_FORK 18
#endif

enum {
  kShortSpinNs = 20 * 1000,
  kLongSpinNs = 200 * 1000,
  kCacheLine = 64,
  kPage = 4096,
  kWait = 0 | 128,            /* FUTEX_WAIT, private */
  kWake = 1 | 128,            /* FUTEX_WAKE, private */
  kCallerSleeps = 1 << 30,    /* beside the number of workers in Pool.pending */
  kMaskBytes = 128 * 1024 / 8 /* an affinity mask: more CPUs than Linux knows */
};

/* A worker's state. One that is called (kWork) and has not begun (kBusy) may be recalled: then it is idle again. */
enum { kIdle, kAsleep, kWork, kBusy, kStop };

struct Pool;

/* A thread of the pool beyond its callers'. */
struct Worker {
  _Alignas(kCacheLine) _Atomic uint32_t state;
  int32_t number;
  struct Pool* pool;
  pthread_t thread;
};

struct Pool {
  HoneRuntime runtime;
  /* A page that a child of fork() finds empty where Linux knows how; else it is empty everywhere, and `pid` says it. */
  volatile char* is_parent;
  pid_t pid;
  int64_t short_spin_ns, long_spin_ns;

  /* The region that runs: written before the workers of it are called. */
  HoneChunk body;
  void* closure;
  int64_t iterations, grain;
  int32_t active; /* threads of this region */

  _Alignas(kCacheLine) _Atomic uint32_t busy;
  _Alignas(kCacheLine) _Atomic uint32_t pending; /* workers that still run, and kCallerSleeps */
  _Alignas(kCacheLine) _Atomic int64_t claimed;  /* iterations, where workers claim them */
  _Alignas(kCacheLine) _Atomic int32_t result;
  struct Worker workers[]; /* runtime.workers - 1 */
};

/* The pools whose chunks this thread is in, innermost first: a call from inside a chunk runs inline. */
struct Inside {
  const struct Pool* pool;
  const struct Inside* outer;
};
static _Thread_local const struct Inside* t_inside;

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void futex(_Atomic uint32_t* word, int operation, uint32_t value) {
  const int saved = errno;
  syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
  errno = saved; /* a woken or interrupted sleeper looks again; the caller's errno is the caller's */
}

/* Runs one chunk, the end of the region's claims when it fails. */
static void run_chunk(struct Pool* p, int64_t begin, int64_t end, int32_t worker) {
  const int32_t code = p->body(begin, end, worker, p->closure);
  int32_t none = 0;
  if (code != 0) atomic_compare_exchange_strong(&p->result, &none, code);
}

static void run_chunks(struct Pool* p, int32_t worker) {
  const struct Inside here = {p, t_inside};
  t_inside = &here;
  if (p->grain == 0) {
    const int64_t each = p->iterations / p->active, more = p->iterations % p->active;
    const int64_t begin = each * worker + (worker < more ? worker : more);
    run_chunk(p, begin, begin + each + (worker < more), worker);
  } else {
    int64_t begin = atomic_load_explicit(&p->claimed, memory_order_relaxed);
    while (begin < p->iterations && atomic_load_explicit(&p->result, memory_order_relaxed) == 0) {
      const int64_t end = p->iterations - begin > p->grain ? begin + p->grain : p->iterations;
      if (!atomic_compare_exchange_weak_explicit(&p->claimed, &begin, end, memory_order_relaxed, memory_order_relaxed))
        continue;
      run_chunk(p, begin, end, worker);
      begin = atomic_load_explicit(&p->claimed, memory_order_relaxed);
    }
  }
  t_inside = here.outer;
}

/* Waits until the worker is called, at first awake; the state then. `*patience_ns` is how long: waking up takes some 25
   us, which regions that follow each other slightly later than a worker sleeps would pay every time, so after a short
   sleep it stays awake longer, after a long one shorter again. */
static uint32_t wait_for_call(struct Worker* w, int64_t* patience_ns) {
  const struct Pool* p = w->pool;
  uint32_t state = atomic_load_explicit(&w->state, memory_order_acquire);
  for (const int64_t late = now_ns() + *patience_ns; state == kIdle && now_ns() < late;)
    for (int i = 0; i < 32 && state == kIdle; ++i) {
      relax();
      state = atomic_load_explicit(&w->state, memory_order_acquire);
    }
  if (state != kIdle || !atomic_compare_exchange_strong(&w->state, &state, kAsleep)) return state;
  const int64_t start = now_ns();
  do {
    futex(&w->state, kWait, kAsleep);
    state = atomic_load(&w->state);
  } while (state == kAsleep);
  const bool was_short = now_ns() - start < p->long_spin_ns;
  *patience_ns = was_short ? 2 * *patience_ns : *patience_ns / 2;
  if (*patience_ns > p->long_spin_ns) *patience_ns = p->long_spin_ns;
  if (*patience_ns < p->short_spin_ns) *patience_ns = p->short_spin_ns;
  return state;
}

static void* work(void* argument) {
  struct Worker* const w = argument;
  struct Pool* const p = w->pool;
  int64_t patience_ns = p->short_spin_ns;
  for (;;) {
    uint32_t state = wait_for_call(w, &patience_ns);
    if (state == kStop) break;
    if (state != kWork || !atomic_compare_exchange_strong(&w->state, &state, kBusy)) continue;
    run_chunks(p, w->number);
    /* Before `pending`: when the region has ended, the next may call. */
    atomic_store_explicit(&w->state, kIdle, memory_order_relaxed);
    if (atomic_fetch_sub(&p->pending, 1) == (1 | kCallerSleeps)) futex(&p->pending, kWake, 1);
  }
  return NULL;
}

static void call(struct Worker* w, uint32_t state) {
  if (atomic_exchange(&w->state, state) == kAsleep) futex(&w->state, kWake, 1);
}

/* Does the work of those who were called and have not begun. A worker that sleeps begins some 25 us later, and one
   whose CPU another program has, milliseconds. */
static void recall_workers(struct Pool* p) {
  for (int32_t i = 1; i < p->active; ++i) {
    struct Worker* const w = &p->workers[i - 1];
    uint32_t state = kWork;
    if (atomic_load_explicit(&w->state, memory_order_relaxed) != kWork ||
        !atomic_compare_exchange_strong(&w->state, &state, kIdle))
      continue;
    if (p->grain == 0) run_chunks(p, i); /* where workers claim, all is claimed */
    atomic_fetch_sub(&p->pending, 1);
  }
}

/* Waits until all workers of the region are done, at first awake: longer than it takes a sleeping one to begin. */
static void wait_for_workers(struct Pool* p) {
  uint32_t pending = atomic_load_explicit(&p->pending, memory_order_acquire);
  if (pending == 0) return;
  for (const int64_t late = now_ns() + p->long_spin_ns; pending != 0 && now_ns() < late;)
    for (int i = 0; i < 32 && pending != 0; ++i) {
      relax();
      pending = atomic_load_explicit(&p->pending, memory_order_acquire);
    }
  if (pending == 0) return;
  pending = atomic_fetch_or(&p->pending, kCallerSleeps) | kCallerSleeps;
  while (pending != kCallerSleeps) {
    futex(&p->pending, kWait, pending);
    pending = atomic_load(&p->pending);
  }
}

static bool is_here(const struct Pool* p) { return *p->is_parent != 0 || getpid() == p->pid; }

static bool is_inside(const struct Pool* p) {
  for (const struct Inside* i = t_inside; i; i = i->outer)
    if (i->pool == p) return true;
  return false;
}

static int32_t run_inline(const struct Pool* p, HoneChunk body, void* closure, int64_t iterations) {
  const struct Inside here = {p, t_inside};
  t_inside = &here;
  const int32_t code = body(0, iterations, 0, closure);
  t_inside = here.outer;
  return code;
}

static bool can_begin(struct Pool* p) {
  uint32_t idle = 0;
  return is_here(p) && !is_inside(p) && atomic_compare_exchange_strong(&p->busy, &idle, 1);
}

/* A region on `active` threads of a pool that is busy with it alone. `recalls`: the caller does the work of who has not
   begun. */
static int32_t run_region(struct Pool* p, HoneChunk body, void* closure, int64_t iterations, int32_t active,
                          int64_t grain, bool recalls) {
  p->body = body;
  p->closure = closure;
  p->iterations = iterations;
  p->grain = grain > 0 ? grain : 0;
  p->active = active;
  atomic_store_explicit(&p->claimed, 0, memory_order_relaxed);
  atomic_store_explicit(&p->result, 0, memory_order_relaxed);
  atomic_store_explicit(&p->pending, (uint32_t)active - 1, memory_order_relaxed);
  for (int32_t i = 1; i < active; ++i) call(&p->workers[i - 1], kWork);
  run_chunks(p, 0);
  if (recalls) recall_workers(p);
  wait_for_workers(p);
  const int32_t code = atomic_load_explicit(&p->result, memory_order_relaxed);
  atomic_store_explicit(&p->busy, 0, memory_order_release);
  return code;
}

static int32_t parallel_for(void* self, HoneChunk body, void* closure, int64_t iterations, int32_t max_workers,
                            int64_t grain) {
  struct Pool* const p = self;
  if (iterations <= 0) return HONE_OK;
  const int64_t chunks = grain > 0 ? iterations / grain + (iterations % grain != 0) : iterations;
  int32_t active = max_workers < p->runtime.workers ? max_workers : p->runtime.workers;
  if (chunks < active) active = (int32_t)chunks;
  if (active <= 1 || !can_begin(p)) return run_inline(p, body, closure, iterations);
  return run_region(p, body, closure, iterations, active, grain, true);
}

__attribute__((weak)) int32_t hone_internal_pool_on_each(HoneRuntime* pool, HoneChunk body, void* closure) {
  struct Pool* const p = pool->self;
  if (!can_begin(p)) return HONE_PANIC;
  return run_region(p, body, closure, p->runtime.workers, p->runtime.workers, 0, false);
}

/* The CPUs that this thread may run on; 1 where the system does not say. */
static int32_t allowed_cpus(void) {
  unsigned long* const mask = calloc(1, kMaskBytes);
  if (!mask) return 1;
  int64_t cpus = 0;
  const long bytes = syscall(SYS_sched_getaffinity, 0, (unsigned long)kMaskBytes, mask);
  for (long i = 0; i < bytes / (long)sizeof *mask; ++i) /* no popcount: where there is no instruction it is libgcc's */
    for (unsigned long left = mask[i]; left != 0; left >>= 1) cpus += left & 1;
  free(mask);
  return cpus < 1 ? 1 : cpus < HONE_POOL_MOST_THREADS ? (int32_t)cpus : HONE_POOL_MOST_THREADS;
}

/* A page that is not zero here and zero in children of fork(), or zero everywhere. Null: there is no memory. */
static char* parents_page(void) {
  char* const page = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return NULL;
  if (madvise(page, kPage, HONE_POOL_WIPE_ON_FORK) == 0) *page = 1;
  return page;
}

static void free_memory(struct Pool* p) {
  munmap((void*)p->is_parent, kPage);
  free(p);
}

/* Ends the first `count` workers. */
static void stop(struct Pool* p, int32_t count) {
  for (int32_t i = 0; i < count; ++i) call(&p->workers[i], kStop);
  for (int32_t i = 0; i < count; ++i) pthread_join(p->workers[i].thread, NULL);
}

/* 0, or what pthread_create says of the first that could not be started; then none runs. */
static int start(struct Pool* p) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); /* threads begin with the mask of who makes them */
  int error = 0;
  for (int32_t i = 0; i < p->runtime.workers - 1 && !error; ++i) {
    struct Worker* const w = &p->workers[i];
    atomic_init(&w->state, kIdle);
    w->number = i + 1;
    w->pool = p;
    error = pthread_create(&w->thread, NULL, work, w);
    if (error) stop(p, i);
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return error;
}

static HoneRuntime* refuse(int error) {
  errno = error;
  return NULL;
}

__attribute__((weak)) HoneRuntime* hone_internal_pool_new(int32_t threads) {
  if (threads < 0 || threads > HONE_POOL_MOST_THREADS) return refuse(EINVAL);
  const int32_t cpus = allowed_cpus();
  if (threads == 0) threads = cpus;
  void* memory = NULL;
  const size_t bytes = sizeof(struct Pool) + (size_t)(threads - 1) * sizeof(struct Worker);
  if (posix_memalign(&memory, kCacheLine, bytes) != 0) return refuse(ENOMEM);
  struct Pool* const p = memory;
  p->is_parent = parents_page();
  if (!p->is_parent) {
    free(p);
    return refuse(ENOMEM);
  }
  p->pid = getpid();
  p->runtime.abi_version = HONE_RUNTIME_ABI;
  p->runtime.workers = threads;
  p->runtime.self = p;
  p->runtime.parallel_for = &parallel_for;
  p->runtime.gpu = NULL;
  /* Where threads share CPUs, one that waits awake keeps from running what it waits for. */
  p->short_spin_ns = threads > cpus ? 0 : kShortSpinNs;
  p->long_spin_ns = threads > cpus ? 0 : kLongSpinNs;
  atomic_init(&p->busy, 0);
  atomic_init(&p->pending, 0);
  atomic_init(&p->claimed, 0);
  atomic_init(&p->result, 0);
  const int error = start(p);
  if (error) {
    free_memory(p);
    return refuse(error);
  }
  return &p->runtime;
}

__attribute__((weak)) void hone_internal_pool_free(HoneRuntime* pool) {
  if (!pool) return;
  struct Pool* const p = pool->self;
  if (is_here(p)) stop(p, p->runtime.workers - 1);
  free_memory(p);
}
