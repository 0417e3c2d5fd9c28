/* An error in words, beside the code that says it to programs. */
#ifndef HONE_LAUNCHER_WORDS_H
#define HONE_LAUNCHER_WORDS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As much as an error holds, the first kilobytes of a compiler's log included. */
typedef struct HoneWords {
  char text[9216];
} HoneWords;

/* Writes what printf would print, cut to what there is room for, and returns `code`. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
int32_t
hone_internal_say(HoneWords* words, int32_t code, const char* format, ...);

#ifdef __cplusplus
}
#endif

#endif
