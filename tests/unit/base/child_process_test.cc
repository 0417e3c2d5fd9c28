#include "base/child_process.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

namespace hone {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

ChildOptions shell(const std::string& script) {
  ChildOptions options;
  options.argv = {"/bin/sh", "-c", script};
  return options;
}

std::string read_line(int fd) {
  std::string line;
  char c;
  while (read(fd, &c, 1) == 1 && c != '\n') line += c;
  return line;
}

// Dead; whether init has reaped it yet does not matter.
bool is_gone(pid_t pid) {
  for (int i = 0; i < 1000; ++i) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string number, name, state;
    if (!(stat >> number >> name >> state) || state == "Z" || state == "X") return true;
    poll(nullptr, 0, 10);
  }
  return false;
}

TEST(ChildProcess, ReportsTheExitCode) {
  StatusOr<ChildProcess> child = ChildProcess::spawn(shell("exit 7"));
  ASSERT_TRUE(child.ok()) << child.status();
  const int status = child->wait();
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(describe_exit(status), "exit code 7");
  EXPECT_EQ(child->pid(), 0);
}

TEST(ChildProcess, NamesAProgramThatIsNotThere) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer makes a fork of vfork: the child cannot tell its parent";
#endif
  ChildOptions options;
  options.argv = {"/nonexistent/program"};
  const StatusOr<ChildProcess> child = ChildProcess::spawn(options);
  EXPECT_EQ(child.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(message_of(child.status()), HasSubstr("/nonexistent/program"));
}

TEST(ChildProcess, TalksOverItsChannel) {
  ChildOptions options = shell("read line <&3; echo \"$line back $EXTRA\" >&3");
  options.channel = true;
  options.env = {"EXTRA=yes"};
  StatusOr<ChildProcess> child = ChildProcess::spawn(options);
  ASSERT_TRUE(child.ok());
  ASSERT_EQ(send(child->channel(), "there\n", 6, 0), 6);
  EXPECT_EQ(read_line(child->channel()), "there back yes");
}

TEST(ChildProcess, ClosesEveryOtherDescriptor) {
  int pipe_fds[2];
  ASSERT_EQ(pipe(pipe_fds), 0);
  ChildOptions options = shell("ls /proc/self/fd | wc -l >&3");
  options.channel = true;
  StatusOr<ChildProcess> child = ChildProcess::spawn(options);
  ASSERT_TRUE(child.ok());
  EXPECT_LE(std::stoi(read_line(child->channel())), 5);  // 0, 1, 2, 3 and the folder itself
  close(pipe_fds[0]);
  close(pipe_fds[1]);
}

TEST(ChildProcess, WaitGivesUpAtItsDeadline) {
  StatusOr<ChildProcess> child = ChildProcess::spawn(shell("exec sleep 1000"));
  ASSERT_TRUE(child.ok());
  EXPECT_FALSE(child->wait(std::chrono::milliseconds(5)).has_value());
  child->signal(SIGTERM);
  const std::optional<int> status = child->wait(seconds(60));
  ASSERT_TRUE(status.has_value());
  EXPECT_THAT(describe_exit(*status), HasSubstr("SIGTERM"));
}

TEST(ChildProcess, KillTakesTheWholeGroup) {
  ChildOptions options = shell("sleep 1000 3>&- & echo $! >&3; wait");
  options.channel = true;
  StatusOr<ChildProcess> child = ChildProcess::spawn(options);
  ASSERT_TRUE(child.ok());
  const pid_t grandchild = std::stoi(read_line(child->channel()));
  child->kill_group();
  EXPECT_TRUE(WIFSIGNALED(child->wait()));
  EXPECT_TRUE(is_gone(grandchild));
}

TEST(ChildProcess, LeavesNothingOfItsGroupBehind) {
  ChildOptions options = shell("sleep 1000 3>&- & echo $! >&3");
  options.channel = true;
  StatusOr<ChildProcess> child = ChildProcess::spawn(options);
  ASSERT_TRUE(child.ok());
  const pid_t grandchild = std::stoi(read_line(child->channel()));
  EXPECT_EQ(WEXITSTATUS(child->wait()), 0);
  EXPECT_TRUE(is_gone(grandchild));
}

TEST(ChildProcess, DiesWithTheProcessThatStartedIt) {
  int pipe_fds[2];
  ASSERT_EQ(pipe(pipe_fds), 0);
  const pid_t middle = fork();
  if (middle == 0) {
    StatusOr<ChildProcess> child = ChildProcess::spawn(shell("exec sleep 1000"));
    const pid_t pid = child.ok() ? child->pid() : 0;
    if (write(pipe_fds[1], &pid, sizeof pid) != sizeof pid) _exit(1);
    pause();
  }
  pid_t grandchild = 0;
  ASSERT_EQ(read(pipe_fds[0], &grandchild, sizeof grandchild), static_cast<ssize_t>(sizeof grandchild));
  ASSERT_GT(grandchild, 0);
  kill(middle, SIGKILL);
  waitpid(middle, nullptr, 0);
  EXPECT_TRUE(is_gone(grandchild));
  close(pipe_fds[0]);
  close(pipe_fds[1]);
}

TEST(ChildProcess, FindsItsSiblings) { EXPECT_THAT(sibling_program("tuner"), ::testing::EndsWith("/bin/tuner")); }

}  // namespace
}  // namespace hone
