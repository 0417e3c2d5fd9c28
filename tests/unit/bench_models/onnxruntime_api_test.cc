// Our declarations of ONNX Runtime against its own header, where there is one; and files that are not the library.
#include "tests/bench/models/onnxruntime_api.h"

#include <gmock/gmock.h>

#include <fstream>

#include "base/exit_code.h"
#include "tests/fakes/temporary_folder.h"

#ifdef HONE_HAVE_ORT_HEADERS
#include <onnxruntime_c_api.h>
#endif

namespace hone::bench {
namespace {

using testing::HasSubstr;

TEST(OnnxRuntimeApi, HasTheSlotsAndValuesOfItsHeader) {
#ifdef HONE_HAVE_ORT_HEADERS
#define HONE_ORT_SAME_SLOT(member, slot, name, ...) \
  static_assert(offsetof(::OrtApi, name) == (slot) * sizeof(void*), #name);
  HONE_ORT_FUNCTIONS(HONE_ORT_SAME_SLOT)
  HONE_ORT_SAME_SLOT(error_message, kOrtErrorMessageSlot, GetErrorMessage)
  HONE_ORT_SAME_SLOT(release_status, kOrtReleaseStatusSlot, ReleaseStatus)
  HONE_ORT_SAME_SLOT(release_session, kOrtReleaseSessionSlot, ReleaseSession)
  HONE_ORT_SAME_SLOT(release_value, kOrtReleaseValueSlot, ReleaseValue)
  HONE_ORT_SAME_SLOT(release_type, kOrtReleaseTypeSlot, ReleaseTensorTypeAndShapeInfo)
#undef HONE_ORT_SAME_SLOT
  EXPECT_LE(kOrtApiVersion, static_cast<uint32_t>(ORT_API_VERSION));
  EXPECT_EQ(kOrtLogErrors, ORT_LOGGING_LEVEL_ERROR);
  EXPECT_EQ(kOrtAllOptimizations, ORT_ENABLE_ALL);
  EXPECT_EQ(kOrtArenaAllocator, OrtArenaAllocator);
  EXPECT_EQ(kOrtDefaultMemory, OrtMemTypeDefault);
#else
  GTEST_SKIP() << "ONNX Runtime's header is not there (deploy/peers --headers)";
#endif
}

TEST(OnnxRuntimeApi, IsNotLoadedFromOtherFiles) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/x.so";
  std::ofstream(file) << "no library";
  for (const std::string& path : {file, folder.path() + "/none.so"}) {
    const Status s = OrtFunctions::load(path).status();
    EXPECT_EQ(exit_code_of(s), kExitUsage);
    EXPECT_THAT(message_of(s), HasSubstr(path));
  }
  EXPECT_THAT(message_of(OrtFunctions::load("libdl.so.2").status()), HasSubstr("is not ONNX Runtime"));
}

}  // namespace
}  // namespace hone::bench
