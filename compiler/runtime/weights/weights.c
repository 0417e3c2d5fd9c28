#define _GNU_SOURCE
#include "compiler/runtime/weights/weights.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int32_t hone_bad(int what) { return HONE_BAD_ARGUMENTS | what << 8; }

static int32_t hone_map(int file, const HoneWeightsFile* wanted, _Atomic(const void*)* weights) {
  struct stat about;
  if (fstat(file, &about) != 0) return hone_bad(HONE_WEIGHTS_UNREADABLE);
  if (!S_ISREG(about.st_mode)) {
    errno = EINVAL;
    return hone_bad(HONE_WEIGHTS_UNREADABLE);
  }
  const off_t size = about.st_size;
  if (size != HONE_WEIGHTS_BEGIN + wanted->bytes) return hone_bad(HONE_WRONG_WEIGHTS);
  char* const pages = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, file, 0);
  if (pages == MAP_FAILED) return hone_bad(HONE_WEIGHTS_UNREADABLE);
  const void* none = NULL;
  int32_t code = HONE_OK;
  if (memcmp(pages, wanted, sizeof *wanted) != 0)
    code = hone_bad(HONE_WRONG_WEIGHTS);
  else if (atomic_compare_exchange_strong(weights, &none, pages + HONE_WEIGHTS_BEGIN))
    return HONE_OK;
  munmap(pages, (size_t)size); /* another's, or another thread was faster */
  return code;
}

/* Weak: a program may have several artifacts, each with its own. */
__attribute__((weak)) int32_t hone_internal_map_weights(const char* path, const HoneWeightsFile* wanted,
                                                        _Atomic(const void*)* weights) {
  if (atomic_load(weights)) return HONE_OK;
  if (!path) {
    errno = EINVAL;
    return hone_bad(HONE_WEIGHTS_UNREADABLE);
  }
  /* Opening a pipe would wait for who writes to it. */
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return hone_bad(HONE_WEIGHTS_UNREADABLE);
  const int32_t code = hone_map(file, wanted, weights);
  const int why = errno;
  close(file);
  errno = why;
  return code;
}
