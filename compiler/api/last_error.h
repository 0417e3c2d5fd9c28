/* The text of hone_last_error: one for each thread, by whichever function failed there last. */
#ifndef HONE_LAST_ERROR_H
#define HONE_LAST_ERROR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Keeps the text, cut at 4 KiB, and returns `code`. */
__attribute__((visibility("hidden"), format(printf, 2, 3))) int32_t hone_fail(int32_t code, const char* format, ...);

#ifdef __cplusplus
}
#endif

#endif
