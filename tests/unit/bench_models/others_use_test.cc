#include "tests/bench/models/others_use.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/fakes/temporary_folder.h"

namespace hone::bench {
namespace {

// Accounts of a made-up kernel, in its ticks.
struct Accounts {
  const TemporaryFolder folder;
  const double second = static_cast<double>(sysconf(_SC_CLK_TCK));
  void write(double busy_seconds, double own_seconds) const {
    std::filesystem::create_directories(folder.path() + "/7");
    // idle and iowait are not busy; steal is.
    std::ofstream(folder.path() + "/stat") << "cpu  " << busy_seconds * second / 2 << " 0 0 99999 9999 0 0 "
                                           << busy_seconds * second / 2 << " 0 0\ncpu0 1 2 3\n";
    std::ofstream(folder.path() + "/7/stat")
        << "7 (a) 1 (b) R 1 1 1 0 -1 4194304 100 0 0 0 " << own_seconds * second << " 0 0 0 20 0\n";
  }
};

TEST(OthersUse, IsWhatTheMachineComputedWithoutTheProcess) {
  const Accounts accounts;
  OthersUse use(accounts.folder.path());
  EXPECT_EQ(use.cpus(), 0);
  accounts.write(100, 10);
  use.begin(7);
  accounts.write(105, 12);
  use.end(std::chrono::seconds(2));
  EXPECT_DOUBLE_EQ(use.cpus(), 1.5);
  accounts.write(205, 12);  // in between, which is nobody's turn
  use.begin(7);
  accounts.write(207, 14);
  use.end(std::chrono::seconds(2));
  EXPECT_DOUBLE_EQ(use.cpus(), 0.75);
}

TEST(OthersUse, CountsNothingWhereAccountsAreMissing) {
  const Accounts accounts;
  OthersUse use(accounts.folder.path());
  use.begin(7);
  use.end(std::chrono::seconds(1));
  accounts.write(1, 1);
  use.begin(8);  // there is no such process
  accounts.write(5, 1);
  use.end(std::chrono::seconds(1));
  EXPECT_EQ(use.cpus(), 0);
  OthersUse of_this_process;
  of_this_process.begin(getpid());
  of_this_process.end(std::chrono::seconds(1));
  EXPECT_GE(of_this_process.cpus(), 0);
}

}  // namespace
}  // namespace hone::bench
