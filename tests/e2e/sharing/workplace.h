// A user's folders, and the programs in them.
#pragma once

#include <gmock/gmock.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/secure_hash.h"
#include "base/shell_word.h"
#include "tests/e2e/artifact/shell.h"

namespace hone {

class Workplace : public testing::Test {
 protected:
  Workplace() {
    std::string name = (std::filesystem::temp_directory_path() / "hone_sharing_XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("mkdtemp failed");
    folder_ = name;
  }
  ~Workplace() override { std::filesystem::remove_all(folder_); }

  std::string at(const std::string& name) const { return folder_ + "/" + name; }
  // Runs a program as the user `home`, whose folders are his own, in the folder of the test.
  Ran run(const std::string& words, const std::string& home = "ann") const {
    std::filesystem::create_directories(at(home));
    return shell("cd " + folder_ + " && env -u HONE_DB -u XDG_DATA_HOME -u XDG_CONFIG_HOME HOME=" + at(home) + " " +
                 kBin + "/" + words);
  }
  std::string read(const std::string& name) const {
    std::ifstream in(at(name), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(at(name), std::ios::binary) << text;
  }

  static void expect_ok(const Ran& ran) { EXPECT_EQ(ran.code, 0) << ran.output; }
  // One line, of bad usage or input.
  static void expect_refused(const Ran& ran, const std::string& part, int code = 2) {
    EXPECT_EQ(ran.code, code) << ran.output;
    EXPECT_THAT(ran.output, testing::HasSubstr(part));
    EXPECT_EQ(std::count(ran.output.begin(), ran.output.end(), '\n'), 1) << ran.output;
  }

  std::string folder_;
};

}  // namespace hone
