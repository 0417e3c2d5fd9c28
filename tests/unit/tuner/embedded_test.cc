#include "tuner/measure/embedded.h"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/exit_code.h"
#include "tests/fakes/eventually.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

struct TempDir {
  std::string path = "/tmp/hone-embedded-test-XXXXXX";
  TempDir() {
    if (!mkdtemp(path.data())) throw std::runtime_error("mkdtemp");
  }
  ~TempDir() { fs::remove_all(path); }
  size_t entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
  }
};

// Shell scripts in the programs' place; they ignore words appended to their command lines.
EmbeddedOptions scripts(const TempDir& dir, const std::string& tracker, const std::string& agent) {
  EmbeddedOptions o;
  o.tracker = {"/bin/sh", "-c", tracker};
  o.agent = {"/bin/sh", "-c", agent};
  o.temp_dir = dir.path;
  return o;
}

// The first failure that check() tells; OK when there is none.
Status check_until_it_fails(Embedded& e) {
  Status status = absl::OkStatus();
  EXPECT_TRUE(eventually([&] {
    status = e.check();
    return !status.ok();
  }));
  return status;
}

TEST(Embedded, MakesAPrivateFolderAndRemovesIt) {
  const TempDir dir;
  {
    const auto e = Embedded::start(scripts(dir, "exec sleep 60", "exec sleep 60"), "llvm");
    ASSERT_TRUE(e.ok()) << e.status();
    struct stat info {};
    const std::string folder = fs::path((*e)->address().path).parent_path();
    ASSERT_EQ(stat(folder.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700u);
    EXPECT_TRUE((*e)->check().ok());
  }
  EXPECT_EQ(dir.entries(), 0u);
}

TEST(Embedded, AProgramThatKeepsDyingIsNamedWithItsLastLine) {
  const TempDir dir;
  EmbeddedOptions o = scripts(dir, "exec sleep 60", "echo starting; echo 'device-agent: no memory' >&2; exit 4");
  o.restarts = 1;
  const auto e = Embedded::start(o, "llvm");
  ASSERT_TRUE(e.ok()) << e.status();
  EXPECT_EQ(message_of(check_until_it_fails(**e)),
            "the tuner's own device-agent ended with exit code 4: device-agent: no memory");
}

TEST(Embedded, AMachineWithoutSuchADeviceIsToldAtOnce) {
  const TempDir dir;
  const auto e =
      Embedded::start(scripts(dir, "exec sleep 60", "echo \"device-agent: no device for $3\" >&2; exit 3"), "cuda");
  ASSERT_TRUE(e.ok()) << e.status();
  const Status status = check_until_it_fails(**e);
  EXPECT_EQ(exit_code_of(status), 3);
  EXPECT_EQ(message_of(status), "no device for cuda");
}

TEST(Embedded, WhatAProgramCannotWorkWithIsNoBug) {
  const TempDir dir;
  const auto e = Embedded::start(
      scripts(dir, "exec sleep 60", "echo 'device-agent: the host lock cannot be kept in /tmp/x' >&2; exit 2"), "llvm");
  ASSERT_TRUE(e.ok()) << e.status();
  const Status status = check_until_it_fails(**e);
  EXPECT_EQ(exit_code_of(status), kExitUsage);
  EXPECT_EQ(message_of(status), "the tuner's own device-agent: the host lock cannot be kept in /tmp/x");
}

TEST(Embedded, AProgramThatDiesOnceIsStartedAgain) {
  const TempDir dir;
  const std::string mark = dir.path + "/mark";
  // The first run leaves a mark and ends, the second stays.
  const auto e =
      Embedded::start(scripts(dir, "if [ -e " + mark + " ]; then touch " + mark + "2; exec sleep 60; fi; touch " + mark,
                              "exec sleep 60"),
                      "llvm");
  ASSERT_TRUE(e.ok()) << e.status();
  Status status = absl::OkStatus();
  EXPECT_TRUE(eventually([&] {
    status = (*e)->check();
    return !status.ok() || fs::exists(mark + "2");
  }));
  EXPECT_TRUE(status.ok()) << status;
}

TEST(Embedded, AMissingProgramIsAnError) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer makes a fork of vfork: the child cannot tell its parent";
#endif
  const TempDir dir;
  EmbeddedOptions o = scripts(dir, "exec sleep 60", "exec sleep 60");
  o.agent = {dir.path + "/device-agent"};
  const auto e = Embedded::start(o, "llvm");
  ASSERT_FALSE(e.ok());
  EXPECT_NE(message_of(e.status()).find("device-agent"), std::string::npos);
  EXPECT_EQ(dir.entries(), 0u) << "nothing is left behind";
}

TEST(Embedded, RemovesWhatAKilledTunerLeftBehind) {
  const TempDir dir;
  // A process number that is not in use: above the kernel's limit.
  const std::string old = dir.path + "/hone-tuner-" + std::to_string(getuid()) + "-2147483000-abc";
  fs::create_directory(old);
  std::ofstream(old + "/sock") << "";
  const std::string own =
      dir.path + "/hone-tuner-" + std::to_string(getuid()) + "-" + std::to_string(getpid()) + "-abc";
  fs::create_directory(own);
  const auto e = Embedded::start(scripts(dir, "exec sleep 60", "exec sleep 60"), "llvm");
  ASSERT_TRUE(e.ok());
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(own)) << "its process lives";
}

}  // namespace
}  // namespace hone
