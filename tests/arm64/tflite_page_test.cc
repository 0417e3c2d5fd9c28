// docs/tflite-on-a-pi.md, its commands in their order. qemu plays the board: ssh and scp are scripts that know a folder
// instead of it.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/e2e/artifact/shell.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/tflite_model.h"

namespace hone {
namespace {

using testing::HasSubstr;

constexpr int kSide = 256;

std::string text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The blocks of a page that are to be typed.
std::vector<std::string> blocks_of(const std::string& page) {
  std::vector<std::string> blocks;
  const std::string begin = "\n```bash\n", end = "\n```\n";
  for (size_t at = page.find(begin); at != std::string::npos; at = page.find(begin, at)) {
    at += begin.size();
    blocks.push_back(page.substr(at, page.find(end, at) - at));
  }
  return blocks;
}

// As selfie_segmentation.tflite takes and gives them; red is a person.
std::string red_is_a_person() {
  TfliteModel m;
  constexpr int32_t kConv = 3, kLogistic = 14;
  m.input("input_1", {1, kSide, kSide, 3}).floats("w", {1, 1, 1, 3}, {40, -20, -20}).floats("b", {1}, {-10});
  m.op(kConv, {"input_1", "w", "b"}, {"score"}, tables::CreateConvOptions(m.b, 0, 1, 1, 0));
  m.op(kLogistic, {"score"}, {"activation_10"}).output("activation_10");
  return m.bytes();
}

struct TfliteOnAPi : testing::Test {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path() + "/";

  void write_script(const std::string& name, const std::string& text) const {
    std::ofstream(folder + "bin/" + name) << "#!/bin/bash -e\n" << text;
    chmod((folder + "bin/" + name).c_str(), 0755);
  }
  void SetUp() override {
    if (shell("which qemu-aarch64-static aarch64-linux-gnu-gcc").code != 0)
      GTEST_SKIP() << "no cross compiler or emulator: deploy/setup arm64 installs them";
    std::filesystem::create_directories(folder + "bin");
    std::filesystem::create_directories(folder + "pi4");
    write_script("ssh", "[[ $1 == pi4 ]] && cd " + folder + "pi4 && exec timeout 600 qemu-aarch64-static \"${@:2}\"\n");
    write_script("scp", "for name; do words+=(\"${name/#pi4:/" + folder + "pi4/}\"); done; cp \"${words[@]}\"\n");
    const char* const models = std::getenv("HONE_TFLITE_MODELS");
    is_published = models != nullptr;
    std::ofstream(folder + "selfie_segmentation.tflite", std::ios::binary)
        << (models ? text_of_file(std::string(models) + "/selfie_segmentation.tflite") : red_is_a_person());
    // The left third is red, the rest blue.
    std::string pixels;
    for (int i = 0; i < kWidth * kHeight; ++i) pixels += i % kWidth < kWidth / 3 ? "\xc8\x10\x10" : "\x10\x10\xc8";
    std::ofstream(folder + "photo.ppm", std::ios::binary) << "P6\n# drawn\n300 200\n255\n" << pixels;
  }

  static constexpr int kWidth = 300, kHeight = 200;
  bool is_published = false;
};

TEST_F(TfliteOnAPi, ThePagesCommandsMakeAProgramThatRuns) {
  const std::vector<std::string> blocks = blocks_of(text_of_file(HONE_SOURCE_DIR "/docs/tflite-on-a-pi.md"));
  ASSERT_EQ(blocks.size(), 4u);
  std::string output;
  for (const std::string& block : blocks) {
    std::ofstream(folder + "block.sh") << block << "\n";
    const Ran ran = shell("cd " + folder + " && export HOME=" + folder + " HONE=" HONE_SOURCE_DIR " HONE_DB=" + folder +
                          "hub.db PATH=" + folder + "bin:" + kBin + ":$PATH && bash -euo pipefail block.sh");
    ASSERT_EQ(ran.code, 0) << block << "\n" << ran.output;
    output += ran.output;
  }
  EXPECT_THAT(output, HasSubstr("the whole agrees with the imported model"));
  EXPECT_THAT(output, HasSubstr(" of 100 pixels are people's\n"));
  const std::string cut = text_of_file(folder + "cut.ppm"), head = "P6\n300 200\n255\n";
  ASSERT_EQ(cut.size(), head.size() + kWidth * kHeight * 3);
  EXPECT_EQ(cut.substr(0, head.size()), head);
  if (is_published) return;  // who is no person in its eyes may be anything
  EXPECT_THAT(output, HasSubstr("33 of 100 pixels are people's\n"));
  const auto pixel = [&](int x, int y) { return cut.substr(head.size() + static_cast<size_t>(y * kWidth + x) * 3, 3); };
  EXPECT_EQ(pixel(10, 100), "\xc8\x10\x10");
  EXPECT_EQ(pixel(200, 100), "\xa0\xa0\xa0");
}

}  // namespace
}  // namespace hone
