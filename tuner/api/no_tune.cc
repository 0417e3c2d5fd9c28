// hone_tune() where Hone is built without a fleet: stands for tune.cc.
#include "compiler/api/last_error.h"
#include "tuner/api/hone_compiler.h"

int32_t hone_tune(const char* const*, int32_t, const HoneCall*, char** output) {
  if (output) *output = nullptr;
  return hone_fail(
      HONE_BAD_INPUT,
      "this libhone was built without a fleet (HONE_WITH_FLEET=OFF): it compiles and runs, and does not tune");
}
