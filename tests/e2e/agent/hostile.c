/* C[i] = A[i] + B[i] over 1,000 floats, and then something it must not do: CASE_... says what. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hone_runtime.h"

enum { kElements = 1000 };

#ifdef CASE_escape
static void* nothing(void* x) { return x; }

/* Tries everything that a candidate must not be able to do, while its artifact is loaded and while it runs; 0, or the
 * number of the attempt that worked. */
static int escape(void) {
  pthread_t thread;
  struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
  cpu_set_t cores;
  sched_getaffinity(0, sizeof cores, &cores);
  if (open("/etc/passwd", O_RDONLY) >= 0 || open("/", O_RDONLY) >= 0) return 101;
  if (open("/proc/self/environ", O_RDONLY) >= 0 || open("/proc/1/stat", O_RDONLY) >= 0) return 102;
  if (open("/dev/shm/hone-hostile", O_RDWR | O_CREAT, 0600) >= 0 ||
      open("/tmp/hone-hostile", O_RDWR | O_CREAT, 0600) >= 0)
    return 103;
  if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0) return 104;
  if (kill(getppid(), 0) == 0 || kill(-1, 0) == 0) return 105;
  if (fork() >= 0) return 106;
  if (pthread_create(&thread, 0, nothing, 0) == 0) return 107;
  if (execl("/bin/true", "true", (char*)0) == 0) return 108;
  if (setrlimit(RLIMIT_AS, &all) == 0) return 109;
  if (prctl(PR_SET_PDEATHSIG, 0) == 0) return 110;
  if (memfd_create("hostile", 0) >= 0) return 111;
  if (prlimit(getppid(), RLIMIT_CORE, 0, &all) == 0) return 112;
  if (sched_setaffinity(getppid(), sizeof cores, &cores) == 0) return 113;
  return 0;
}

static int at_load;
__attribute__((constructor)) static void load(void) { at_load = escape(); }

/* None of the runner's descriptors is left: there is one socket, its own, and 0, 1 and 2 are /dev/null. */
static int look_around(void) {
  int sockets = 0;
  for (int fd = 0; fd < 4096; ++fd)
    if (lseek(fd, 0, SEEK_CUR) < 0 && errno == ESPIPE) ++sockets;
  if (sockets != 1) return 120 + sockets;
  return mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED ? 130 : 0;
}
#endif

int32_t kernel(const DLTensor* const* args, int32_t n, void* workspace, const HoneRuntime* rt) {
#ifdef CASE_workspace_overrun
  memset(workspace, 0, 4096 + 64);
#endif
  (void)workspace;
  (void)rt;
  if (n != 3) return HONE_BAD_ARGUMENTS;
  float *a = args[0]->data, *b = args[1]->data, *c = args[2]->data;
  int count = kElements;
#ifdef CASE_unwritten
  count = kElements - 1;
#endif
  for (int i = 0; i < count; ++i) c[i] = a[i] + b[i];
#ifdef CASE_null_store
  volatile float* volatile nowhere = (volatile float*)8;
  *nowhere = 1;
#elif defined(CASE_overrun)
  for (int i = kElements; i < kElements + 64; ++i) ((volatile float*)c)[i] = 1;
#elif defined(CASE_fence_store)
  ((volatile float*)c)[kElements] = 1;
#elif defined(CASE_input_store)
  ((volatile float*)a)[0] = 1;
#elif defined(CASE_unlock_input)
  /* The inputs are everybody's: the next candidate would be compared with results of the old ones. */
  if (mprotect((void*)((uintptr_t)a & ~(uintptr_t)4095), 4096, PROT_READ | PROT_WRITE) == 0)
    ((volatile float*)a)[0] += 1;
#elif defined(CASE_spin)
  for (volatile int i = 0;; i = i + 1) {
  }
#elif defined(CASE_eat)
  for (;;) {
    volatile char* more = malloc(1 << 20);
    for (int i = 0; i < 1 << 20; i += 4096) more[i] = 1;
  }
#elif defined(CASE_read_behind)
  c[0] = ((volatile float*)a)[1024];
#elif defined(CASE_escape)
  {
    const int now = at_load ? at_load : escape();
    if (now || look_around()) return now ? now : look_around();
  }
#elif defined(CASE_leave)
  exit(0);
#elif defined(CASE_fault)
  return HONE_FAULT;
#elif defined(CASE_refuse)
  return HONE_BAD_ARGUMENTS;
#elif defined(CASE_wrong_tail)
  c[kElements - 1] += 1e-3f;
#endif
  return HONE_OK;
}
