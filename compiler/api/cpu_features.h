/* Instruction sets that an artifact was compiled for and this machine's CPU lacks. */
#ifndef HONE_CPU_FEATURES_H
#define HONE_CPU_FEATURES_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes which of `needed` ("avx2,fma", LLVM's names) this CPU or its operating system lacks, joined by ", "; empty:
   none. Names that this library does not know count as present. `words` ends with a zero. */
__attribute__((visibility("hidden"))) void hone_missing_features(const char* needed, char* words, size_t size);

#ifdef __cplusplus
}
#endif

#endif
