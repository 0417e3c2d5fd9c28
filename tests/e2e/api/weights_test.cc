// A model whose weights are in a file of their own, opened by libhone_runtime.
#include <gmock/gmock.h>
#include <hone.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/e2e/artifact/shell.h"
#include "tests/fakes/small_model.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

using testing::HasSubstr;

TEST(HoneWeights, AreLookedForBesideTheArtifact) {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path() + "/";
  SmallModel().write(folder + "small.onnx");
  const Ran ran = shell(kBin + "/tensorc " + folder + "small.onnx --config default -o " + folder + "m.so --weights " +
                        folder + "m.w");
  if (ran.code != 0) GTEST_SKIP() << ran.output;
  std::filesystem::create_directory(folder + "there");
  std::filesystem::rename(folder + "m.w", folder + "there/m.w");
  HoneModel* model = nullptr;
  EXPECT_EQ(hone_open((folder + "m.so").c_str(), &model), HONE_NOT_FOUND);
  EXPECT_EQ(model, nullptr);
  EXPECT_THAT(hone_last_error(), HasSubstr("m.w': m: the file of its weights cannot be read: No such file"));
  ASSERT_EQ(mkfifo((folder + "m.w").c_str(), 0600), 0);  // nobody writes to it
  EXPECT_EQ(hone_open((folder + "m.so").c_str(), &model), HONE_NOT_FOUND);
  EXPECT_THAT(hone_last_error(), HasSubstr("m.w': m: the file of its weights cannot be read: Invalid argument"));
  std::filesystem::remove(folder + "m.w");
  std::filesystem::copy(folder + "small.onnx", folder + "m.w");
  EXPECT_EQ(HONE_WHAT_IS_WRONG(hone_open((folder + "m.so").c_str(), &model)), HONE_WRONG_WEIGHTS);
  EXPECT_THAT(hone_last_error(), HasSubstr("not the file of its weights"));
  std::filesystem::rename(folder + "m.so", folder + "there/renamed.so");
  ASSERT_EQ(hone_open((folder + "there/renamed.so").c_str(), &model), HONE_OK) << hone_last_error();
  EXPECT_EQ(hone_input_count(model), 1);
  hone_close(model);
}

}  // namespace
}  // namespace hone
