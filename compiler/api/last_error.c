#include "compiler/api/last_error.h"

#include <stdarg.h>
#include <stdio.h>

#include "compiler/api/hone.h"

/* A list of all that is not supported in a model is long. */
static _Thread_local char t_error[4096];

/* Length of the UTF-8 character at `s`; 0: there is none (overlong forms and surrogates are none). */
static int character(const unsigned char* s) {
  const unsigned char b = s[0];
  if (b < 0x80) return 1;
  const int length = b >= 0xf0 ? 4 : b >= 0xe0 ? 3 : 2;
  if (b < 0xc2 || b > 0xf4) return 0;
  for (int i = 1; i < length; ++i)
    if ((s[i] & 0xc0) != 0x80) return 0;
  const int is_overlong = (b == 0xe0 && s[1] < 0xa0) || (b == 0xf0 && s[1] < 0x90);
  const int is_beyond = (b == 0xed && s[1] > 0x9f) || (b == 0xf4 && s[1] > 0x8f);
  return is_overlong || is_beyond ? 0 : length;
}

static int is_control(const unsigned char* s) {
  /* Lists have a line for each of their parts. */
  if (s[0] == '\n') return s[1] != ' ' || s[2] != ' ';
  return s[0] < 0x20 || s[0] == 0x7f || (s[0] == 0xc2 && s[1] < 0xa0);
}

/* Paths, names and options are whatever the caller has, and long texts are cut anywhere. */
static void clean(unsigned char* s) {
  while (*s) {
    const int length = character(s);
    if (length == 0) {
      *s++ = '?';
      continue;
    }
    const int is_blank = is_control(s);
    for (int i = 0; i < length; ++i, ++s)
      if (is_blank) *s = ' ';
  }
}

int32_t hone_fail(int32_t code, const char* format, ...) {
  va_list words;
  va_start(words, format);
  vsnprintf(t_error, sizeof t_error, format, words);  // NOLINT(clang-analyzer-valist.Uninitialized): it is, above
  va_end(words);
  clean((unsigned char*)t_error);
  return code;
}

const char* hone_last_error(void) { return t_error; }
