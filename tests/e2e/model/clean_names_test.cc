// A model whose names command a terminal and are no UTF-8: whatever tensorc prints of it, nothing of that gets through.
#include <gmock/gmock.h>

#include <filesystem>

#include "base/text.h"
#include "tests/e2e/artifact/shell.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/test_model.h"
#include "tests/unit/graph/onnx_models.h"

namespace hone {
namespace {

using testing::HasSubstr;

constexpr char kOdd[] = "\x1b]0;title\x07\x1b[31m\xc2\x9b\x7f\r\xff";

class CleanNames : public testing::Test {
 protected:
  CleanNames() {
    const std::string odd = kOdd, x = "x" + odd, y = "y" + odd, symbol = "batch" + odd;
    TestModel m;
    m.input(x, {symbol.c_str(), 8}).floats("w", {8, 4}, std::vector<float>(32, 0.5f));
    m.node("MatMul", {x, "w"}, {"p" + odd}).node("Sigmoid", {"p" + odd}, {y}).output(y);
    std::ofstream(model_, std::ios::binary) << m.model.SerializeAsString();
  }
  // The output of tensorc, whose exit code must be this.
  std::string tensorc(int code, const std::string& arguments) const {
    const Ran ran = shell("cd " + folder_.path() + " && " + kBin + "/tensorc m.onnx --config default " + arguments);
    EXPECT_EQ(ran.code, code) << arguments << "\n" << ran.output;
    EXPECT_EQ(clean_lines(ran.output), ran.output) << arguments;
    return ran.output;
  }

  const TemporaryFolder folder_;
  const std::string model_ = folder_.path() + "/m.onnx";
};

TEST_F(CleanNames, CommandNoTerminal) {
  EXPECT_THAT(tensorc(0, "-o m.so --threads 1 --check --profile --explain"), HasSubstr("assumed: batch ]0;title"));
  EXPECT_THAT(tensorc(0, "--emit graph"), HasSubstr("MatMul_p\\x1b]0;title"));
  tensorc(0, "--emit c --threads 1");
  tensorc(2, "-o m.so --bind none=1");
  tensorc(2, "-o m.so --inputs .");
}

}  // namespace
}  // namespace hone
