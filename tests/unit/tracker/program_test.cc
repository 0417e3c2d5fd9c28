// The tracker program as people and scripts start it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using testing::HasSubstr;

const std::string kTracker = HONE_BIN_DIR "/tracker";

struct Output {
  int code;
  std::string text;
};

Output run(const std::string& arguments) {
  FILE* pipe = popen((kTracker + " " + arguments + " 2>&1").c_str(), "r");
  std::string text;
  char buffer[512];
  while (fgets(buffer, sizeof(buffer), pipe)) text += buffer;
  return {WEXITSTATUS(pclose(pipe)), text};
}

/// A tracker in the background, ready when constructed.
class Program {
 public:
  explicit Program(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), kTracker);
    int fds[2];
    EXPECT_EQ(pipe(fds), 0);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(fds[1], STDOUT_FILENO);
      std::vector<char*> argv;
      for (std::string& argument : arguments) argv.push_back(argument.data());
      argv.push_back(nullptr);
      execv(argv[0], argv.data());
      _exit(127);
    }
    close(fds[1]);
    for (char c; read(fds[0], &c, 1) == 1 && c != '\n';) ready_ += c;
    close(fds[0]);
  }
  ~Program() {
    if (pid_ > 0) stop(SIGKILL);
  }
  int stop(int signal) {
    kill(pid_, signal);
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }
  const std::string& ready() const { return ready_; }
  std::string listens() const {
    const size_t from = std::string("tracker: listening on ").size();
    return ready_.substr(from, ready_.find(',') - from);
  }

 private:
  pid_t pid_ = -1;
  std::string ready_;
};

TEST(TrackerProgram, SaysWhereItListensAndStopsOnSigterm) {
  Program tracker({"--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"});
  EXPECT_THAT(tracker.ready(), testing::MatchesRegex("tracker: listening on 127.0.0.1:[1-9][0-9]*, http on 127.0.0.1:[1-9][0-9]*"));
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
  for (const char* arguments : {"--listen nowhere", "--listen 127.0.0.1:99999", "--http unix:/tmp/x", "--listen 0.0.0.0:0", "--http 0.0.0.0:0",
                                "--what", "explode", "drain", "status --tracker 127.0.0.1:1", "--lease-s -1", "--listen 127.0.0.1:0 --listen 127.0.0.1:1"}) {
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
      execl(kTracker.c_str(), kTracker.c_str(), "--listen", "127.0.0.1:0", "--http", "none", "--exit-with-parent", nullptr);
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
