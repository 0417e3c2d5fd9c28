#include "compiler/runtime/entry/entry.h"

__attribute__((weak)) const char* hone_entry1_error(const HoneErrors* errors, int32_t code) {
  const uint32_t low = (uint32_t)code & 0xff, what = (uint32_t)code >> 8 & 0xff, tensor = (uint32_t)code >> 16;
  const uint32_t tensors = (uint32_t)errors->tensor_count + 1; /* number 0: none */
  if (low != HONE_BAD_ARGUMENTS) {
    if ((uint32_t)code < (uint32_t)errors->code_count) return errors->codes[code];
  } else if (what < HONE_TENSOR_WRONGS) {
    if (tensor < tensors) return errors->wrongs[tensor * HONE_TENSOR_WRONGS + what];
  } else if (what - HONE_TENSOR_WRONGS < (uint32_t)errors->more && !tensor) {
    return errors->wrongs[tensors * HONE_TENSOR_WRONGS + what - HONE_TENSOR_WRONGS];
  }
  return "a code that is unknown here";
}
