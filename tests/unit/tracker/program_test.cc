// The tracker program as people and scripts start it.
#include "tests/unit/tracker/tracker_program.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>

#include "tests/fakes/temporary_folder.h"

namespace hone::tracker {
namespace {

using testing::HasSubstr;

TEST(TrackerProgram, SaysWhereItListensAndStopsOnSigterm) {
  Program tracker({"--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"});
  EXPECT_THAT(tracker.ready(),
              testing::MatchesRegex("tracker: listening on 127.0.0.1:[1-9][0-9]*, http on 127.0.0.1:[1-9][0-9]*"));
  const Output status = run("status --json --tracker " + tracker.listens());
  EXPECT_EQ(status.code, 0) << status.text;
  EXPECT_THAT(status.text, HasSubstr("\"devices\":[]"));
  const int end = tracker.stop(SIGTERM);
  ASSERT_TRUE(WIFEXITED(end));
  EXPECT_EQ(WEXITSTATUS(end), 0);
}

TEST(TrackerProgram, ATakenPortIsBadUsageInOneLineThatNamesIt) {
  Program tracker({"--listen", "127.0.0.1:0", "--http", "none"});
  EXPECT_THAT(tracker.ready(), HasSubstr(", http on none"));
  const Output second = run("--http none --listen " + tracker.listens());
  EXPECT_EQ(second.code, 2);
  EXPECT_THAT(second.text, HasSubstr(tracker.listens()));
  EXPECT_EQ(std::count(second.text.begin(), second.text.end(), '\n'), 1) << second.text;
}

TEST(TrackerProgram, BadFlagsAreBadUsageInOneLine) {
  for (const char* arguments :
       {"--listen nowhere", "--listen 127.0.0.1:99999", "--http unix:/tmp/x", "--listen 0.0.0.0:0", "--http 0.0.0.0:0",
        "--what", "explode", "drain", "status --tracker 127.0.0.1:1", "--lease-s -1",
        "--listen 127.0.0.1:0 --listen 127.0.0.1:1"}) {
    const Output output = run(arguments);
    EXPECT_EQ(output.code, 2) << arguments << ": " << output.text;
    EXPECT_EQ(std::count(output.text.begin(), output.text.end(), '\n'), 1) << output.text;
  }
}

TEST(TrackerProgram, ADamagedOrUnreadableStateIsBadUsageInOneLineThatNamesIt) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/damaged") << "hone tracker state 1\nquarantined lab";
  for (const char* name : {"/damaged", "/none/state", ""}) {
    const Output output = run("--listen 127.0.0.1:0 --http none --state " + folder.path() + name);
    EXPECT_EQ(output.code, 2) << output.text;
    EXPECT_THAT(output.text, testing::StartsWith("tracker: --state " + folder.path() + name));
    EXPECT_EQ(std::count(output.text.begin(), output.text.end(), '\n'), 1) << output.text;
  }
}

TEST(TrackerProgram, AnOpenAddressNeedsTlsAndTokens) {
  const TemporaryFolder folder;
  const std::string dir = folder.path() + "/tls";
  ASSERT_EQ(run("init-tls " + dir).code, 0);
  const std::string tls = " --tls-cert " + dir + "/tracker.pem --tls-key " + dir + "/tracker.key",
                    tokens = " --token-file " + dir + "/tokens";
  const std::string other = " --tls-cert " + dir + "/tracker.pem --tls-key " + dir + "/ca.key";
  for (const std::string& arguments :
       {std::string("--http none --listen 0.0.0.0:0"), "--http none --listen 0.0.0.0:0" + tls,
        "--http none --listen 0.0.0.0:0" + tokens, "--listen 127.0.0.1:0 --http 0.0.0.0:0" + tls,
        "--listen 127.0.0.1:0 --http none" + other, "--listen 127.0.0.1:0 --tls-key " + dir + "/ca.key",
        "--listen 127.0.0.1:0 --tls-client-ca " + dir + "/ca.pem",
        "--listen 127.0.0.1:0 --token-file " + dir + "/ca.pem",
        std::string("--listen 127.0.0.1:0 --max-connections 1000000"), std::string("status --tracker lab.example:9190"),
        "status --tracker 127.0.0.1:1 --token-file " + dir + "/ca.key"}) {
    const Output output = run(arguments);
    EXPECT_EQ(output.code, 2) << arguments << ": " << output.text;
    EXPECT_EQ(std::count(output.text.begin(), output.text.end(), '\n'), 1) << output.text;
  }
}

TEST(TrackerProgram, ExitsWithItsParent) {
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    // A process that starts a tracker, whose stdout is the pipe, and ends when the tracker is ready.
    if (fork() == 0) {
      dup2(fds[1], STDOUT_FILENO);
      close(fds[0]);
      close(fds[1]);
      execl(kTracker.c_str(), kTracker.c_str(), "--listen", "127.0.0.1:0", "--http", "none", "--exit-with-parent",
            nullptr);
      _exit(127);
    }
    pause();
  }
  close(fds[1]);
  std::string line;
  for (char c; read(fds[0], &c, 1) == 1 && c != '\n';) line += c;
  EXPECT_THAT(line, HasSubstr("listening"));
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  char c;
  EXPECT_EQ(read(fds[0], &c, 1), 0) << "the pipe closes when the tracker ends";
  close(fds[0]);
}

}  // namespace
}  // namespace hone::tracker
