#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "compiler/api/gpu/drivers.h"

int hone_internal_is_over(double* begin, double seconds) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  const double now = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
  if (*begin <= 0) *begin = now;
  if (seconds > 0 && now - *begin > seconds) return 1;
  if (now - *begin < 1e-3) {
    sched_yield();
  } else {
    const struct timespec nap = {0, 50000};
    nanosleep(&nap, NULL);
  }
  return 0;
}

void* hone_internal_open_library(const char* const* names, char* words, size_t room) {
  size_t length = 0;
  words[0] = '\0';
  for (; *names; ++names) {
    void* const library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    if (library) return library;
    const char* const why = dlerror();
    if (length < room)
      length += (size_t)snprintf(words + length, room - length, "%s%s", length ? "; " : "", why ? why : *names);
  }
  return NULL;
}
