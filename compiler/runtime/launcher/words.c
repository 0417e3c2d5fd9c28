#include "compiler/runtime/launcher/words.h"

#include <stdarg.h>
#include <stdio.h>

int32_t hone_internal_say(HoneWords* words, int32_t code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(words->text, sizeof words->text, format, arguments);
  va_end(arguments);
  return code;
}
