/* The tensors of a call against what the artifact says of them. */
#ifndef HONE_GPU_CHECK_VARIANT_H
#define HONE_GPU_CHECK_VARIANT_H

#include "compiler/api/hone_gpu.h"

/* HONE_OK, or what NAME_run would return: HONE_BAD_ARGUMENTS, what is wrong and the number of the tensor. Where tensors
   lie is not looked at, nor are the caches of the model, whose shapes a call decides. */
int32_t hone_internal_check_variant(const HoneVariant* variant, const DLTensor* const* args);

#endif
