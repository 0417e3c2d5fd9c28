// The part of ONNX Runtime's C API that is used here, with declarations of our own: the library is looked for at run
// time. Its table of functions only grows, so each has a fixed slot (a test holds this file against ONNX Runtime's
// header where deploy/peers put one).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"

namespace hone::bench {

// The library's own structs.
struct OrtStatus;
struct OrtEnv;
struct OrtSessionOptions;
struct OrtSession;
struct OrtMemoryInfo;
struct OrtValue;
struct OrtTensorTypeAndShapeInfo;

// Member, slot, the library's name, parameters. All return an error to be released, or null.
#define HONE_ORT_FUNCTIONS(F)                                                                                       \
  F(create_env, 3, CreateEnv, int logging_level, const char* name, OrtEnv** out)                                    \
  F(create_session, 7, CreateSession, const OrtEnv* env, const char* path, const OrtSessionOptions* options,        \
    OrtSession** out)                                                                                               \
  F(run, 9, Run, OrtSession* session, const void* options, const char* const* input_names,                          \
    const OrtValue* const* inputs, size_t input_count, const char* const* output_names, size_t output_count,        \
    OrtValue** outputs)                                                                                             \
  F(create_session_options, 10, CreateSessionOptions, OrtSessionOptions** out)                                      \
  F(enable_profile, 14, EnableProfiling, OrtSessionOptions* options, const char* prefix)                            \
  F(set_optimization, 23, SetSessionGraphOptimizationLevel, OrtSessionOptions* options, int level)                  \
  F(set_threads, 24, SetIntraOpNumThreads, OrtSessionOptions* options, int threads)                                 \
  F(set_parallel_nodes, 25, SetInterOpNumThreads, OrtSessionOptions* options, int threads)                          \
  F(create_tensor, 49, CreateTensorWithDataAsOrtValue, const OrtMemoryInfo* info, void* data, size_t bytes,         \
    const int64_t* shape, size_t rank, int type, OrtValue** out)                                                    \
  F(data_of, 51, GetTensorMutableData, OrtValue* value, void** out)                                                 \
  F(element_count, 64, GetTensorShapeElementCount, const OrtTensorTypeAndShapeInfo* type, size_t* out)              \
  F(type_of, 65, GetTensorTypeAndShape, const OrtValue* value, OrtTensorTypeAndShapeInfo** out)                     \
  F(create_memory_info, 69, CreateCpuMemoryInfo, int allocator, int memory, OrtMemoryInfo** out)                    \
  F(fix_dimension, 124, AddFreeDimensionOverrideByName, OrtSessionOptions* options, const char* name, int64_t size) \
  F(set_entry, 130, AddSessionConfigEntry, OrtSessionOptions* options, const char* key, const char* value)

struct OrtFunctions {
#define HONE_ORT_POINTER(member, slot, name, ...) OrtStatus* (*member)(__VA_ARGS__) = nullptr;
  HONE_ORT_FUNCTIONS(HONE_ORT_POINTER)
#undef HONE_ORT_POINTER
  const char* (*error_message)(const OrtStatus* status) = nullptr;
  void (*release_status)(OrtStatus* status) = nullptr;
  void (*release_session)(OrtSession* session) = nullptr;
  void (*release_value)(OrtValue* value) = nullptr;
  void (*release_type)(OrtTensorTypeAndShapeInfo* type) = nullptr;
  std::string version;  ///< of the library, `1.30.0`

  /// Loads the library at `path`, which stays loaded. Usage errors say why it is none.
  static StatusOr<OrtFunctions> load(const std::string& path);
};

inline constexpr int kOrtErrorMessageSlot = 2, kOrtReleaseStatusSlot = 93, kOrtReleaseSessionSlot = 95,
                     kOrtReleaseValueSlot = 96, kOrtReleaseTypeSlot = 99;
inline constexpr uint32_t kOrtApiVersion = 16;  ///< ONNX Runtime 1.16 and later answer to it
// The values of the library's enumerations that are used.
inline constexpr int kOrtLogErrors = 3;          // OrtLoggingLevel
inline constexpr int kOrtAllOptimizations = 99;  // GraphOptimizationLevel
inline constexpr int kOrtArenaAllocator = 1;     // OrtAllocatorType
inline constexpr int kOrtDefaultMemory = 0;      // OrtMemType

}  // namespace hone::bench
