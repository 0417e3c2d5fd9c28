/* The tensors of a call: where they lie, of what type they are, and as memory of the device. */
#ifndef HONE_LAUNCHER_TENSORS_H
#define HONE_LAUNCHER_TENSORS_H

#include "compiler/runtime/launcher/driver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where the tensors of a call may lie. */
typedef enum HoneWhere { HONE_ON_CPU, HONE_ON_DEVICE, HONE_ANYWHERE } HoneWhere;

/* Whether the device's code takes tensors that lie there: its own memory, and what it shares with the host. */
int hone_internal_is_on_device(const HoneDriver* driver, const DLTensor* tensor);
/* Whether it is memory of another device of the same API. */
int hone_internal_is_on_other(const HoneDriver* driver, const DLTensor* tensor);
int hone_internal_is_on_cpu(const DLTensor* tensor);

/* Bytes of an element. */
int64_t hone_internal_element_bytes(const HoneGpuParam* param);

/* HONE_BAD_ARGUMENTS, with the parameter's name in the words, for a tensor that is missing, has no data, is of another
   type or lies elsewhere than `where`. */
int32_t hone_internal_check_tensor(const HoneDriver* driver, const HoneGpuParam* param, const DLTensor* tensor,
                                   HoneWhere where, HoneWords* words);
/* The same of its type alone. */
int32_t hone_internal_check_type(const HoneGpuParam* param, const DLTensor* tensor, HoneWords* words);

/* The argument of `wrap` for a tensor on the device. HONE_BAD_ARGUMENTS where it does not begin as artifacts take it:
   with its handle, or at a multiple of 16 bytes. */
int32_t hone_internal_native(const HoneDriver* driver, const HoneGpuParam* param, const DLTensor* tensor, void** native,
                             HoneWords* words);

/* The tensor's first byte, on the CPU. */
char* hone_internal_data(const DLTensor* tensor);

#ifdef __cplusplus
}
#endif

#endif
