// A disk that is full in the middle of a session: the tuner says so and ends with 5, measurements are kept, and the
// same command goes on once there is room.
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include "tests/e2e/fleet/programs.h"

namespace hone::e2e {
namespace {

namespace fs = std::filesystem;

class FullDisk : public Workplace {
 protected:
  ~FullDisk() override {
    if (mounted_) umount2(path("disk").c_str(), MNT_DETACH);
  }

  Words command(int64_t trials) const {
    return {"tuner", "--task",          "dense", "--args",   "m=8,n=64,k=32",        "--repeat",
            "2",     "--min-repeat-ms", "0.5",   "--trials", std::to_string(trials), "--db",
            hub_,    "--json"};
  }
  Program start_tuner() {
    Program tuner = start(command(50'000));
    EXPECT_TRUE(eventually([&] { return stored(hub_).trials >= 40; })) << tuner.err();
    return tuner;
  }
  // A tuner whose disk is full must end like this, and the next one, which `make_room` has made room for, like this.
  void expect_kept_and_resumed(Program tuner, const std::function<void()>& make_room) {
    const int code = tuner.wait();
    EXPECT_EQ(code, 5) << tuner.err();
    EXPECT_THAT(tuner.err(), testing::HasSubstr("tuner: " + hub_)) << "it names the file";
    EXPECT_THAT(tuner.err(), testing::HasSubstr("disk"));
    make_room();
    const std::vector<std::string> kept = trial_names(hub_);
    EXPECT_GE(kept.size(), 40u);
    const int64_t trials = static_cast<int64_t>(kept.size()) + 20;
    const Output resumed = run(command(trials));
    EXPECT_EQ(resumed.code, 0) << resumed.err;
    const std::vector<std::string> now = trial_names(hub_);
    const std::set<std::string> distinct(now.begin(), now.end());
    EXPECT_EQ(now.size(), static_cast<size_t>(trials));
    EXPECT_EQ(distinct.size(), now.size()) << "a config was stored twice";
    for (const std::string& trial : kept) EXPECT_TRUE(distinct.contains(trial)) << trial << " was lost";
    EXPECT_EQ(run({"tophub", "check", "--db", hub_}).code, 0);
    EXPECT_TRUE(nothing_left({})) << testing::PrintToString(processes());
  }

  std::string hub_ = path("hub.db");
  bool mounted_ = false;
};

TEST_F(FullDisk, AFileThatMayNotGrow) {
  Program tuner = start_tuner();
  std::error_code ignored;
  const auto size = std::max(fs::file_size(hub_, ignored), fs::file_size(hub_ + "-wal", ignored));
  rlimit limit{};
  ASSERT_EQ(prlimit(tuner.pid(), RLIMIT_FSIZE, nullptr, &limit), 0);
  limit.rlim_cur = size;
  ASSERT_EQ(prlimit(tuner.pid(), RLIMIT_FSIZE, &limit, nullptr), 0);
  expect_kept_and_resumed(std::move(tuner), [] {});
}

TEST_F(FullDisk, NoSpaceLeftOnTheDevice) {
  fs::create_directory(path("disk"));
  if (mount("tmpfs", path("disk").c_str(), "tmpfs", 0, "size=16m") != 0)
    GTEST_SKIP() << "a small disk can be mounted by root only";
  mounted_ = true;
  hub_ = path("disk/hub.db");
  Program tuner = start_tuner();
  std::ofstream ballast(path("disk/ballast"), std::ios::binary);
  const std::string block(4096, 'x');
  while (ballast.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
  }
  ballast.close();
  expect_kept_and_resumed(std::move(tuner), [&] { fs::remove(path("disk/ballast")); });
}

}  // namespace
}  // namespace hone::e2e
