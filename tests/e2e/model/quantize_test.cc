// Models of floats that tensorc and the tuner quantise.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "tests/e2e/artifact/shell.h"
#include "tests/fakes/small_model.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

struct QuantizeCommand : testing::Test {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path() + "/";
  void SetUp() override {
    SmallModel().write(folder + "small.onnx");
    std::filesystem::create_directories(folder + "samples/one");
    std::filesystem::create_directories(folder + "samples/two");
    write_sample("samples/one", 17), write_sample("samples/two", 13);
  }
  // An ONNX tensor: --inputs reads such files, too.
  void write_sample(const std::string& sample, int period) const {
    onnx::Tensor t;
    for (const int d : {1, 3, 20, 20}) t.add_dims(d);
    t.set_data_type(1);
    std::string bytes;
    for (int i = 0; i < 1200; ++i) {
      const float v = static_cast<float>(i % period) / 8 - 1;
      bytes.append(reinterpret_cast<const char*>(&v), sizeof v);
    }
    t.set_raw_data(bytes);
    std::ofstream out(folder + sample + "/input_0.pb", std::ios::binary);
    t.SerializeToOstream(&out);
  }
  Ran tensorc(const std::string& arguments) {
    return shell("cd " + folder + " && " + kBin + "/tensorc small.onnx --threads 1 --config default " + arguments +
                 " 2>&1");
  }
};

TEST_F(QuantizeCommand, SaysHowFarEachLayerIsOff) {
  const Ran ran = tensorc("-o q.so --quantize int8 --calibrate samples --ranges r.json --check");
  ASSERT_EQ(ran.code, 0) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("calibrated 3 values on 2 samples (min-max) in"));
  EXPECT_THAT(ran.output, HasSubstr("wrote r.json"));
  EXPECT_THAT(ran.output, ContainsRegex("0\\.0[0-9]+ +[0-9.]+ +[0-9.]+  c1"));
  EXPECT_THAT(ran.output, ContainsRegex("output 'classes' is off by 0\\.0[0-9]* of its norm"));
  EXPECT_THAT(ran.output, HasSubstr("the largest element of 'classes' is at the same place in 2 of 2 rows"));
  EXPECT_THAT(ran.output, testing::Not(HasSubstr("wrong")));
  // The same from the file, for other methods of building; the tuner takes it, too.
  const Ran again = tensorc("--emit graph --quantize int8 --calibrate r.json --keep z");
  ASSERT_EQ(again.code, 0) << again.output;
  EXPECT_THAT(again.output, ContainsRegex("conv2d\\(.*dtype=u8:s8:s32:s32"));
  EXPECT_THAT(again.output, ContainsRegex("dense\\(m=1,n=10,k=16,dtype=f32"));
  const Ran tasks = shell("cd " + folder + " && " + kBin +
                          "/tuner --model small.onnx --threads 1 --quantize int8 --ranges r.json --print-tasks 2>&1");
  ASSERT_EQ(tasks.code, 0) << tasks.output;
  EXPECT_THAT(tasks.output, ContainsRegex("dense\\(m=1,n=10,k=16,dtype=u8:s8:s32:s32"));
}

TEST_F(QuantizeCommand, AnswersBadInputWithOneLine) {
  const std::pair<std::string, std::string> cases[] = {
      {"--quantize int8",
       "tensorc: --quantize: it takes --calibrate FOLDER with samples, or a file that --ranges wrote\n"},
      {"--quantize int4 --calibrate samples", "tensorc: --quantize int4: there is int8\n"},
      {"--quantize int8 --calibrate samples --range most",
       "tensorc: --range most: there are min-max, percentile, entropy\n"},
      {"--quantize int8 --calibrate nowhere",
       "tensorc: nowhere: No such file or directory; a file of ranges is meant\n"},
      {"--quantize int8 --calibrate small.onnx",
       "tensorc: small.onnx: this is no file of ranges; it is what --ranges writes\n"},
      {"--quantize int8 --calibrate samples --keep c9",
       "tensorc: --keep c9: no layer that can be quantised has this name; there are c1, c2, z\n"},
      {"--keep c1", "tensorc: --calibrate, --ranges and --keep belong to --quantize int8\n"}};
  for (const auto& [flags, line] : cases) {
    const Ran ran = tensorc("-o q.so " + flags);
    EXPECT_EQ(ran.code, 2) << flags;
    EXPECT_EQ(ran.output, line) << flags;
  }
}

}  // namespace
}  // namespace hone
