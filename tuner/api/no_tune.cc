// hone_tune() and hone_tune_template() where Hone is built without a fleet: stands for tune.cc.
#include "compiler/api/last_error.h"
#include "tuner/api/hone_compiler.h"

namespace {

int32_t refuse(char** output) {
  if (output) *output = nullptr;
  return hone_fail(
      HONE_BAD_INPUT,
      "this libhone was built without a fleet (HONE_WITH_FLEET=OFF): it compiles and runs, and does not tune");
}

}  // namespace

int32_t hone_tune(const char* const*, int32_t, const HoneCall*, char** output) { return refuse(output); }

int32_t hone_tune_template(const HoneTemplate*, const char* const*, int32_t, const HoneCall*, char** output) {
  return refuse(output);
}
