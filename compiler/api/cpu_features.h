/* What this machine's CPU lacks of what an artifact was compiled for. */
#ifndef HONE_CPU_FEATURES_H
#define HONE_CPU_FEATURES_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of `needed` ("avx2,fma", LLVM's names) those that this CPU, or its operating system, does not have, joined by ", ";
   empty where there are all. Names that this library does not know are taken for there. `words` ends with a zero. */
__attribute__((visibility("hidden"))) void hone_missing_features(const char* needed, char* words, size_t size);

#ifdef __cplusplus
}
#endif

#endif
