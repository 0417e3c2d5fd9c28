/* Weights in a file of their own, which all processes that run the model share. The file: a page that begins with a
   HoneWeightsFile and is zero behind it, then the weights. C and C++. */
#ifndef HONE_WEIGHTS_FILE_H
#define HONE_WEIGHTS_FILE_H

#include <stdint.h>

#include "compiler/runtime/include/hone_runtime.h"

/* Bytes before the weights. */
#define HONE_WEIGHTS_BEGIN 4096
#define HONE_WEIGHTS_MAGIC "HoneWts1"

/* As in the file, little-endian, and as in the artifact that it belongs to. */
typedef struct HoneWeightsFile {
  char magic[8];    /* HONE_WEIGHTS_MAGIC without its zero */
  uint8_t hash[16]; /* hash_bytes() of the weights (base/hash.h) */
  int64_t bytes;    /* that the weights take */
} HoneWeightsFile;

#endif
