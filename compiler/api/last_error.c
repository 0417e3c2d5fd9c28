#include "compiler/api/last_error.h"

#include <stdarg.h>
#include <stdio.h>

#include "compiler/api/hone.h"

/* A list of all that is not supported in a model is long. */
static _Thread_local char t_error[4096];

int32_t hone_fail(int32_t code, const char* format, ...) {
  va_list words;
  va_start(words, format);
  vsnprintf(t_error, sizeof t_error, format, words);  // NOLINT(clang-analyzer-valist.Uninitialized): it is, above
  va_end(words);
  return code;
}

const char* hone_last_error(void) { return t_error; }
