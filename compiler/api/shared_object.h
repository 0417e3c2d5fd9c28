/* Checks a file before the loader sees it. */
#ifndef HONE_SHARED_OBJECT_H
#define HONE_SHARED_OBJECT_H

#include <stddef.h>

#include "compiler/api/hone.h"

#ifdef __cplusplus
extern "C" {
#endif

/* HONE_OK for a whole shared object for this machine; else a code, and in `words` what follows its name: "is …". A file
   that is cut off would end the process when the loader reads what is not there. */
__attribute__((visibility("hidden"))) int32_t hone_check_shared_object(const char* path, char* words, size_t size);

#ifdef __cplusplus
}
#endif

#endif
