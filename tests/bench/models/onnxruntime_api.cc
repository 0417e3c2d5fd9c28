#include "tests/bench/models/onnxruntime_api.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/exit_code.h"

namespace hone::bench {
namespace {

// The result of the library's one exported function: OrtApiBase.
struct Base {
  const void* const* (*table)(uint32_t version);
  const char* (*version)();
};

template <class F>
void take(F& member, const void* const* table, int slot) {
  member = reinterpret_cast<F>(const_cast<void*>(table[slot]));
}

}  // namespace

StatusOr<OrtFunctions> OrtFunctions::load(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return usage_error(fmt::format("ONNX Runtime cannot be loaded: {}", dlerror()));
  const auto base = reinterpret_cast<const Base* (*)()>(dlsym(library, "OrtGetApiBase"));
  if (!base) return usage_error(fmt::format("{}: is not ONNX Runtime: it has no OrtGetApiBase", path));
  OrtFunctions f;
  f.version = base()->version();
  const void* const* table = base()->table(kOrtApiVersion);
  if (!table)
    return usage_error(
        fmt::format("{}: ONNX Runtime {} does not have API version {}", path, f.version, kOrtApiVersion));
#define HONE_ORT_TAKE(member, slot, name, ...) take(f.member, table, slot);
  HONE_ORT_FUNCTIONS(HONE_ORT_TAKE)
#undef HONE_ORT_TAKE
  take(f.error_message, table, kOrtErrorMessageSlot);
  take(f.release_status, table, kOrtReleaseStatusSlot);
  take(f.release_session, table, kOrtReleaseSessionSlot);
  take(f.release_value, table, kOrtReleaseValueSlot);
  take(f.release_type, table, kOrtReleaseTypeSlot);
  return f;
}

}  // namespace hone::bench
