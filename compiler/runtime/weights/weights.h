/* Maps the weights of an artifact that has them in a file of their own. */
#ifndef HONE_WEIGHTS_H
#define HONE_WEIGHTS_H

#include <stdatomic.h>

#include "compiler/runtime/weights/weights_file.h"

/* Maps the file at `path` where it begins with `wanted`, and stores where the weights begin in `*weights`. Does nothing
   where something is stored there already. Any number of threads may call it at once. HONE_OK, or HONE_BAD_ARGUMENTS
   with HONE_WEIGHTS_UNREADABLE (errno says why) or HONE_WRONG_WEIGHTS. */
int32_t hone_internal_map_weights(const char* path, const HoneWeightsFile* wanted, _Atomic(const void*)* weights);

#endif
