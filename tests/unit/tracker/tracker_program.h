// The tracker program, as people and scripts start it.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

namespace hone::tracker {

inline const std::string kTracker = HONE_BIN_DIR "/tracker";

struct Output {
  int code;
  std::string text;
};

inline Output run(const std::string& arguments) {
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

// The line of `text` that begins so, without its first word.
inline std::string arguments_of(const std::string& text, const std::string& begin) {
  const size_t at = text.find("\n" + begin) + 1;
  const std::string line = text.substr(at, text.find('\n', at) - at);
  return line.substr(line.find(' ') + 1);
}

inline std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at; (at = text.find(what)) != std::string::npos;) text.replace(at, what.size(), by);
  return text;
}

inline std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

}  // namespace hone::tracker
