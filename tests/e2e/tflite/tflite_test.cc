// Models of TensorFlow Lite from the command line: a small one, and published ones beside what TensorFlow Lite gives.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "tests/e2e/artifact/shell.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/tflite_pets.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A file of numpy's.
void write_npy(const std::string& path, const std::string& type, const std::string& shape, const std::string& bytes) {
  constexpr size_t kHeader = 118;
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize(kHeader - 1, ' ');
  std::ofstream(path, std::ios::binary) << "\x93NUMPY\1" << std::string(1, '\0') << static_cast<char>(kHeader)
                                        << std::string(1, '\0') << header << '\n'
                                        << bytes;
}

struct TfliteFiles : testing::Test {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path() + "/";
  Ran run(const std::string& command) { return shell("cd " + folder + " && " + kBin + "/" + command + " 2>&1"); }
  void write_small() {
    TfliteModel m;
    m.input("image:0", {1, 8, 8, 3})
        .floats("w", {4, 3, 3, 3}, std::vector<float>(108, 0.25f))
        .floats("b", {4}, {1, 2, 3, 4});
    constexpr int32_t kConv = 3;
    m.op(kConv, {"image:0", "w", "b"}, {"scores:0"}, tables::CreateConvOptions(m.b, 0, 2, 2, 1)).output("scores:0");
    std::ofstream(folder + "m.tflite", std::ios::binary) << m.bytes();
  }
};

TEST_F(TfliteFiles, AreBuiltCheckedAndListedAsOthersAre) {
  write_small();
  const Ran built = run("tensorc m.tflite -o m.so --check");
  ASSERT_EQ(built.code, 0) << built.output;
  EXPECT_THAT(built.output, HasSubstr("the whole agrees with the imported model"));
  EXPECT_EQ(run("tensorc run m.so").code, 0);
  const Ran tasks = run("tuner m.tflite --print-tasks");
  ASSERT_EQ(tasks.code, 0) << tasks.output;
  EXPECT_THAT(tasks.output, AllOf(HasSubstr("conv2d"), HasSubstr("ci=3")));
  const Ran growing = run("tensorc m.tflite --cache past=4 -o m.so");
  EXPECT_EQ(growing.code, 2);
  EXPECT_THAT(growing.output, HasSubstr("models of TensorFlow Lite have no caches that grow"));
  const Ran other = run("tensorc m.tflite --bind batch=2 -o m.so");
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.output, HasSubstr("there are image:0 [1, 8, 8, 3]"));
}

TEST_F(TfliteFiles, SayHowInputsAreNormalizedAndWhatScoresStandFor) {
  std::ofstream(folder + "pets.tflite", std::ios::binary) << pets_tflite();
  std::filesystem::create_directory(folder + "in");
  std::string pixels(192, '\0');
  pixels[0] = '\0', pixels[1] = '\xff', pixels[2] = '\x7f';
  write_npy(folder + "in/input_0.npy", "|u1", "1, 8, 8, 3", pixels);
  write_npy(folder + "in/output_0.npy", "<f4", "1, 3", bytes_of_numbers<float>({-1, 1, -1.0f / 255}));
  const Ran built = run("tensorc pets.tflite --input image=u8,normalized -o m.so --inputs in --check");
  ASSERT_EQ(built.code, 0) << built.output;
  EXPECT_THAT(built.output, HasSubstr("output scores: best is dog (1), place 1\n"));
  const Ran ran = run("tensorc run m.so --inputs in");
  EXPECT_EQ(ran.code, 0) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("output scores: best is dog (1), place 1\n"));
  write_npy(folder + "in/input_0.npy", "|u1", "1, 8, 8, 3", std::string(192, '\x60'));
  EXPECT_THAT(run("tensorc run m.so --inputs in").output,
              HasSubstr("output scores: best is cat (-0.247), place 0; scores below 0.5 say nothing\n"));
  // Floats are taken as the model has them, and the description says how they are made.
  const Ran plain = run("tensorc pets.tflite -o p.so --json");
  ASSERT_EQ(plain.code, 0) << plain.output;
  EXPECT_THAT(plain.output, HasSubstr(R"("metadata":{"name":"a net","description":"tells cats from dogs",)"));
  EXPECT_THAT(plain.output, HasSubstr(R"("image":{"name":"picture","description":"a pet","content":"image",)"
                                      R"("colors":"rgb","mean":[127.5],"std":[127.5],"min":[-1.0],"max":[1.0]})"));
  EXPECT_THAT(plain.output, HasSubstr(R"("least_score":0.5,"labels":["cat","dog","bird"],"labels_axis":1})"));
  const Ran tasks = run("tuner pets.tflite --input image=u8,normalized --print-tasks");
  EXPECT_EQ(tasks.code, 0) << tasks.output;
  EXPECT_NE(tasks.output, run("tuner pets.tflite --print-tasks").output) << "the first layer reads bytes";
  write_small();
  const Ran none = run("tensorc m.tflite --input image:0=u8,normalized -o m.so");
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.output, HasSubstr("the model's file does not say how 'image:0' is normalized"));
}

TEST_F(TfliteFiles, NotesThatAreDamagedAreSaidAndLeftOut) {
  std::string bytes = pets_tflite();
  bytes[bytes.find("PK\3\4") + 40] ^= 1;  // of the labels
  std::ofstream(folder + "pets.tflite", std::ios::binary) << bytes;
  const Ran built = run("tensorc pets.tflite -o m.so --json");
  EXPECT_EQ(built.code, 0) << built.output;
  EXPECT_THAT(built.output, HasSubstr("left out of the model's notes: output 'scores': its labels, labels.txt: it is "
                                      "damaged"));
  EXPECT_THAT(built.output, Not(HasSubstr("\"labels\"")));
}

// Operators whose artifacts call functions, write at positions that a call says, or take many steps: each on numbers
// whose results are known.
TEST_F(TfliteFiles, OperatorsOfManyKindsAreRightAsArtifacts) {
  TfliteModel m;
  std::filesystem::create_directory(folder + "in");
  int inputs = 0, outputs = 0;
  const auto given = [&](const std::string& name, const std::vector<int32_t>& shape, int8_t type,
                         const std::string& shape_text, const std::string& bytes) {
    m.input(name, shape, type);
    write_npy(folder + "in/input_" + std::to_string(inputs++) + ".npy", type == kTfFloat ? "<f4" : "<i4", shape_text,
              bytes);
  };
  const auto wanted = [&](const std::string& name, int8_t type, const std::string& shape_text,
                          const std::string& bytes) {
    m.output(name);
    write_npy(folder + "in/output_" + std::to_string(outputs++) + ".npy", type == kTfFloat ? "<f4" : "<i4", shape_text,
              bytes);
  };
  const auto floats = [](const std::vector<float>& v) { return bytes_of_numbers(v); };
  const auto numbers = [](const std::vector<int32_t>& v) { return bytes_of_numbers(v); };
  given("x", {3, 2}, kTfFloat, "3, 2", floats({1, 2, 3, 4, 5, 6}));
  given("at", {3, 1}, kTfInt, "3, 1", numbers({2, 0, 2}));
  given("begin", {2}, kTfInt, "2,", numbers({1, 9}));
  given("lengths", {2}, kTfInt, "2,", numbers({3, 2}));
  given("base", {2}, kTfInt, "2,", numbers({2, -3}));
  given("exponent", {2}, kTfInt, "2,", numbers({10, 3}));
  given("volume", {1, 2, 2, 2, 1}, kTfFloat, "1, 2, 2, 2, 1", floats({1, 2, 3, 4, 5, 6, 7, 8}));
  given("image", {1, 2, 4, 1}, kTfFloat, "1, 2, 4, 1", floats({1, 2, 7, 4, 5, 6, 3, 8}));
  given("boxes", {3, 4}, kTfFloat, "3, 4", floats({0, 0, 1, 1, 0, 0, 1, 1.125f, 5, 5, 6, 6}));
  given("scores", {3}, kTfFloat, "3,", floats({0.5f, 0.75f, 0.25f}));
  given("sequence", {1, 2, 1}, kTfFloat, "1, 2, 1", floats({1, -1}));

  m.numbers("s", {4, 2}).op(122, {"at", "x", "s"}, {"sums"});
  wanted("sums", kTfFloat, "4, 2", floats({3, 4, 0, 0, 6, 8, 0, 0}));
  m.floats("block", {1, 1}, {9}).op(151, {"x", "block", "begin"}, {"updated"});
  wanted("updated", kTfFloat, "3, 2", floats({1, 2, 3, 9, 5, 6}));
  m.op(112, {"x", "lengths"}, {"turned"}, tables::CreateReverseSequenceOptions(m.b, 0, 1));
  wanted("turned", kTfFloat, "3, 2", floats({5, 4, 3, 2, 1, 6}));
  m.tensor("powers", {2}, kTfInt).op(78, {"base", "exponent"}, {"powers"});
  wanted("powers", kTfInt, "2,", numbers({1024, -27}));
  m.floats("taps", {2, 1, 2, 1, 1}, {1, 10, 100, 1000});
  m.op(132, {"volume", "taps"}, {"convolved"}, tables::CreateConv3DOptions(m.b, 1, 1, 1, 1));
  wanted("convolved", kTfFloat, "1, 1, 2, 1, 1", floats({6521, 8743}));
  const std::string params = numbers({2, 2, 2, 2, 2, 0});
  const std::vector<uint8_t> pooling(params.begin(), params.end());
  m.custom("MaxPoolingWithArgmax2D", {"image"}, {"largest", "which"}, pooling);
  m.custom("MaxUnpooling2D", {"largest", "which"}, {"back"}, pooling);
  wanted("back", kTfFloat, "1, 2, 4, 1", floats({0, 0, 0, 0, 0, 6, 0, 8}));
  m.number("most", 3).floats("overlap", {}, {0.5f}).floats("least", {}, {0});
  m.tensor("kept", {3}, kTfInt).tensor("count", {}, kTfInt);
  m.op(120, {"boxes", "scores", "most", "overlap", "least"}, {"kept", "count"});
  wanted("kept", kTfInt, "3,", numbers({1, 2, 0}));
  // Weights of states are 0, so gates are halves: c = (c + tanh(x)) / 2, h = tanh(c) / 2.
  m.floats("zero", {1, 1}, {0}).floats("one", {1, 1}, {1}).floats("none", {1}, {0});
  for (const char* state : {"h", "c"}) m.tensor(state, {1, 1}, kTfFloat, {}, 0, {}, 0, true);
  m.op(44, {"sequence", "zero", "zero", "one",  "zero", "zero", "zero", "zero", "zero", "",
            "",         "",     "none", "none", "none", "none", "",     "",     "h",    "c"},
       {"states"}, tables::CreateSequenceLstmOptions(m.b, 4, 10));
  const float first = std::tanh(1.0f) / 2, second = (first - std::tanh(1.0f)) / 2;
  wanted("states", kTfFloat, "1, 2, 1", floats({std::tanh(first) / 2, std::tanh(second) / 2}));

  std::ofstream(folder + "many.tflite", std::ios::binary) << m.bytes();
  const Ran built = run("tensorc many.tflite -o m.so --check --threads 1");
  ASSERT_EQ(built.code, 0) << built.output;
  EXPECT_THAT(built.output, HasSubstr("the whole agrees with the imported model"));
  const Ran ran = run("tensorc run m.so --inputs in");
  EXPECT_EQ(ran.code, 0) << ran.output;
  // It is no comparison that cannot fail.
  write_npy(folder + "in/output_0.npy", "<f4", "4, 2", floats({3, 4, 0, 0, 6, 8, 0, 1}));
  EXPECT_EQ(run("tensorc run m.so --inputs in").code, 6);
}

// HONE_TFLITE_MODELS: a folder with models, and below expected/NAME what they give (input_0.npy, output_0.npy, …).
TEST_F(TfliteFiles, PublishedModelsGiveWhatTensorFlowLiteGives) {
  const char* models = std::getenv("HONE_TFLITE_MODELS");
  if (!models) GTEST_SKIP() << "HONE_TFLITE_MODELS names no folder with models";
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(models))
    if (entry.path().extension() == ".tflite") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  EXPECT_FALSE(files.empty());
  for (const std::filesystem::path& file : files) {
    const std::string name = file.stem().string();
    const Ran built = run("tensorc " + file.string() + " -o m.so --threads 1");
    ASSERT_EQ(built.code, 0) << name << "\n" << built.output;
    const std::filesystem::path expected = std::filesystem::path(models) / "expected" / name;
    const bool is_known = std::filesystem::exists(expected / "output_0.npy");
    const Ran ran = run("tensorc run m.so --bench" + (is_known ? " --inputs " + expected.string() : ""));
    EXPECT_EQ(ran.code, 0) << name << "\n" << ran.output;
    std::cout << name << (is_known ? "" : " (nothing to compare with)") << "\n" << ran.output;
  }
}

}  // namespace
}  // namespace hone
