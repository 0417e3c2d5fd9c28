// The tracker program as people and scripts start it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "tests/fakes/temporary_folder.h"

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

// The line of `text` that begins so, without its first word.
std::string arguments_of(const std::string& text, const std::string& begin) {
  const size_t at = text.find("\n" + begin) + 1;
  const std::string line = text.substr(at, text.find('\n', at) - at);
  return line.substr(line.find(' ') + 1);
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at; (at = text.find(what)) != std::string::npos;) text.replace(at, what.size(), by);
  return text;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

TEST(TrackerProgram, WhatInitTlsPrintsWorksWhenPasted) {
  const hone::TemporaryFolder folder;
  const std::string dir = folder.path() + "/tls";
  const Output made = run("init-tls " + dir + " --host localhost --agent lab1 --agent lab2");
  ASSERT_EQ(made.code, 0) << made.text;
  for (const auto& entry : std::filesystem::directory_iterator(dir))
    EXPECT_EQ(entry.status().permissions() & std::filesystem::perms::mask, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write) << entry.path();
  EXPECT_THAT(made.text, HasSubstr("\ndevice-agent --tracker localhost:9190 --name lab1 --tls-ca " + dir + "/ca.pem"));

  const std::string serve = replaced(replaced(arguments_of(made.text, "tracker --listen"), "0.0.0.0:9190", "0.0.0.0:0"), "0.0.0.0:9191", "0.0.0.0:0");
  Program tracker(words_of(serve));
  ASSERT_THAT(tracker.ready(), testing::MatchesRegex("tracker: listening on 0.0.0.0:[1-9][0-9]*, http on 0.0.0.0:[1-9][0-9]*"));
  const std::string address = "localhost" + tracker.listens().substr(tracker.listens().rfind(':'));
  const Output status = run(replaced(arguments_of(made.text, "tracker status"), "localhost:9190", address));
  EXPECT_EQ(status.code, 0) << status.text;
  const std::string tuner = replaced(arguments_of(made.text, "--tracker localhost"), "localhost:9190", address);
  EXPECT_EQ(run("status --tracker " + tuner).code, 0) << tuner;
  EXPECT_EQ(run("drain x --tracker " + tuner).code, 2) << "a tuner may not";
  const Output bare = run("status --tracker " + address + " --tls-ca " + dir + "/ca.pem");
  EXPECT_EQ(bare.code, 2);
  EXPECT_EQ(std::count(bare.text.begin(), bare.text.end(), '\n'), 1) << bare.text;
}

TEST(TrackerProgram, InitTlsAddsAgentsAndOverwritesNothing) {
  const hone::TemporaryFolder folder;
  const std::string dir = folder.path() + "/a folder";
  const auto init = [&](const std::string& arguments) { return run("init-tls '" + dir + "' " + arguments); };
  const auto read = [&](const std::string& name) {
    std::ifstream in(dir + "/" + name);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  ASSERT_EQ(init("--agent lab1").code, 0);
  const std::string ca = read("ca.pem"), tokens = read("tokens"), lab1 = read("agent-lab1.key");
  for (const char* arguments : {"", "--agent lab1", "--host other", "--host other --agent lab2", "--agent lab2 --agent lab1"}) {
    const Output output = init(arguments);
    EXPECT_EQ(output.code, 2) << arguments << ": " << output.text;
    EXPECT_EQ(std::count(output.text.begin(), output.text.end(), '\n'), 1) << output.text;
  }
  EXPECT_EQ(read("tokens"), tokens);
  EXPECT_FALSE(std::filesystem::exists(dir + "/agent-lab2.pem")) << "all or nothing";
  const Output more = init("--agent lab2");
  ASSERT_EQ(more.code, 0) << more.text;
  EXPECT_THAT(more.text, HasSubstr("--name lab2 --tls-ca '" + dir + "/ca.pem'"));
  EXPECT_THAT(more.text, testing::Not(HasSubstr("lab1")));
  EXPECT_EQ(read("ca.pem"), ca);
  EXPECT_EQ(read("agent-lab1.key"), lab1);
  EXPECT_EQ(read("tokens").rfind(tokens + "agent lab2 ", 0), 0u);
  for (const char* bad : {"--agent a/b", "--agent ''", "--agent -x", "--host 'a b'", "--host a:1"}) EXPECT_EQ(run("init-tls " + folder.path() + "/b " + bad).code, 2) << bad;
}

TEST(TrackerProgram, AnOpenAddressNeedsTlsAndTokens) {
  const hone::TemporaryFolder folder;
  const std::string dir = folder.path() + "/tls";
  ASSERT_EQ(run("init-tls " + dir).code, 0);
  const std::string tls = " --tls-cert " + dir + "/tracker.pem --tls-key " + dir + "/tracker.key", tokens = " --token-file " + dir + "/tokens";
  const std::string other = " --tls-cert " + dir + "/tracker.pem --tls-key " + dir + "/ca.key";
  for (const std::string& arguments : {std::string("--http none --listen 0.0.0.0:0"), "--http none --listen 0.0.0.0:0" + tls, "--http none --listen 0.0.0.0:0" + tokens,
                                       "--listen 127.0.0.1:0 --http 0.0.0.0:0" + tls, "--listen 127.0.0.1:0 --http none" + other, "--listen 127.0.0.1:0 --tls-key " + dir + "/ca.key",
                                       "--listen 127.0.0.1:0 --tls-client-ca " + dir + "/ca.pem", "--listen 127.0.0.1:0 --token-file " + dir + "/ca.pem",
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
