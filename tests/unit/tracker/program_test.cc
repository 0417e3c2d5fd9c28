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
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "rpc/wire/certificate_dates.h"
#include "rpc/wire/pem.h"
#include "tests/fakes/temporary_folder.h"
#include "tracker/gate/certificates.h"

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

class InitTls : public testing::Test {
 protected:
  Output init(const std::string& arguments) const { return run("init-tls " + dir_ + " " + arguments); }
  std::string path(const std::string& name) const { return dir_ + "/" + name; }
  std::string read(const std::string& name) const {
    std::ifstream in(path(name));
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::trunc) << text;
    std::filesystem::permissions(path(name), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }
  std::map<std::string, std::string> all() const {
    std::map<std::string, std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(dir_)) out[entry.path().filename()] = read(entry.path().filename());
    return out;
  }
  hone::wire::UnixSeconds end_of(const std::string& name) const { return hone::wire::certificate_dates(read(name)).value().front().not_after; }
  // A fleet whose CA, and with it all the rest, ends in so many days.
  void make_ending(int days) const {
    ASSERT_EQ(init("--host localhost --agent lab1").code, 0);
    const hone::wire::UnixSeconds from = hone::wire::wall_clock() - 1000 * kDay, until = hone::wire::wall_clock() + days * kDay;
    const auto ca = hone::tracker::make_ca("Hone fleet", {from, until}).value();
    write("ca.pem", ca.certificate);
    write("ca.key", ca.key);
    const auto own = hone::tracker::make_certificate(ca, {.common_name = "tracker", .organization = "", .hosts = {"localhost", "127.0.0.1"}, .server = true, .key = read("tracker.key"), .validity = {from, until}}).value();
    write("tracker.pem", own.certificate);
    for (const auto& [file, name, role] : {std::tuple{"admin", "admin", "admin"}, {"tuner", "tuner", "tuner"}, {"agent-lab1", "lab1", "agent"}})
      write(file + std::string(".pem"),
            hone::tracker::make_certificate(ca, {.common_name = name, .organization = role, .key = read(file + std::string(".key")), .validity = {from, until}})->certificate);
  }
  std::string tracker_flags(const std::string& client_ca = "ca.pem") const {
    return "--listen 127.0.0.1:0 --http none --tls-cert " + path("tracker.pem") + " --tls-key " + path("tracker.key") + " --tls-client-ca " + path(client_ca) + " --token-file " + path("tokens");
  }
  Output ask(const Program& tracker, const std::string& who = "admin", const std::string& ca = "ca.pem") const {
    return run("status --tracker " + tracker.listens() + " --tls-ca " + path(ca) + " --tls-cert " + path(who + ".pem") + " --tls-key " + path(who + ".key") + " --token-file " + path(who + ".token"));
  }

  // Once it has read its changed files again, which it looks at every few seconds.
  bool comes_to_answer(const Program& tracker, const std::string& who) const {
    for (int i = 0; i < 600; ++i, usleep(100'000))
      if (ask(tracker, who).code == 0) return true;
    return false;
  }

  static constexpr hone::wire::UnixSeconds kDay = 24 * 3600;
  const hone::TemporaryFolder folder_;
  const std::string dir_ = folder_.path() + "/tls";
};

TEST_F(InitTls, ATunerOfANameHasATokenOfItsOwn) {
  const Output made = init("--host localhost --tuner ann --tuner ben");
  ASSERT_EQ(made.code, 0) << made.text;
  EXPECT_THAT(read("tokens"), HasSubstr("tuner ann " + read("tuner-ann.token")));
  EXPECT_THAT(read("tokens"), HasSubstr("tuner ben " + read("tuner-ben.token")));
  EXPECT_NE(read("tuner-ann.token"), read("tuner-ben.token"));
  EXPECT_FALSE(std::filesystem::exists(path("tuner.token"))) << "no token that all share";
  EXPECT_EQ(hone::wire::certificate_subject(read("tuner-ann.pem"))->common_name, "ann");
  EXPECT_EQ(hone::wire::certificate_subject(read("tuner-ann.pem"))->organization, "tuner");
  const Output more = init("--tuner eve");
  ASSERT_EQ(more.code, 0) << more.text;
  EXPECT_THAT(more.text, HasSubstr("\n--tracker localhost:9190 --tls-ca " + path("ca.pem") + " --tls-cert " + path("tuner-eve.pem")));
  EXPECT_THAT(more.text, testing::Not(HasSubstr("ann")));
  for (const char* bad : {"--tuner eve", "--tuner a/b", "--tuner kim --tuner kim"}) EXPECT_EQ(init(bad).code, 2) << bad;
  Program tracker(words_of(tracker_flags()));
  for (const char* who : {"tuner-ann", "tuner-ben", "tuner-eve"}) EXPECT_EQ(ask(tracker, who).code, 0) << who;
}

TEST_F(InitTls, RenewMakesCertificatesAnewForTheSameKeysAndTokens) {
  ASSERT_EQ(init("--host localhost --agent lab1").code, 0);
  const auto ca = hone::tracker::KeyPair{read("ca.pem"), read("ca.key")};
  const hone::wire::UnixSeconds now = hone::wire::wall_clock();
  const auto old = hone::tracker::make_certificate(
      ca, {.common_name = "tracker", .organization = "", .hosts = {"localhost", "127.0.0.1"}, .server = true, .key = read("tracker.key"), .validity = {now - 700 * kDay, now - kDay}});
  write("tracker.pem", old->certificate);
  write("foreign.pem", hone::tracker::make_ca("another").value().certificate);
  std::filesystem::permissions(path("tracker.key"), std::filesystem::perms::group_read, std::filesystem::perm_options::add);
  std::filesystem::permissions(path("tracker.pem"), std::filesystem::perms::group_read, std::filesystem::perm_options::add);
  const auto before = all();
  Program tracker(words_of(tracker_flags()));
  const Output expired = ask(tracker);
  EXPECT_EQ(expired.code, 2);
  EXPECT_THAT(expired.text, HasSubstr("its certificate expired on " + hone::wire::date_text(now - kDay)));

  const Output renewed = init("--renew --host new.example");
  ASSERT_EQ(renewed.code, 0) << renewed.text;
  for (const auto& [name, text] : before) {
    const bool fresh = name == "tracker.pem" || name == "admin.pem" || name == "tuner.pem" || name == "agent-lab1.pem";
    EXPECT_EQ(read(name) == text, !fresh) << name;
    if (fresh) {
      EXPECT_GT(end_of(name), now + 700 * kDay) << name;
      EXPECT_THAT(renewed.text, HasSubstr("\n" + path(name) + ": ")) << "where it goes";
    }
  }
  EXPECT_EQ(all().size(), before.size()) << "nothing is left behind";
  EXPECT_THAT(hone::tracker::hosts_of(read("tracker.pem")), testing::ElementsAre("new.example", "localhost", "127.0.0.1"));
  EXPECT_NE(std::filesystem::status(path("tracker.pem")).permissions() & std::filesystem::perms::group_read, std::filesystem::perms::none) << "who could read it can";
  EXPECT_THAT(renewed.text, HasSubstr(path("foreign.pem") + ": left as it is"));
  // The tracker that runs takes it up.
  EXPECT_TRUE(comes_to_answer(tracker, "admin"));
}

TEST_F(InitTls, RenewMakesANewCaWhereTheOldOneEndsTooSoonAndKeepsItBeside) {
  make_ending(300);
  const std::string old_ca = read("ca.pem"), tokens = read("tokens"), key = read("agent-lab1.key");
  std::filesystem::copy_file(path("ca.pem"), path("old-ca.pem"));
  for (const char* extension : {".pem", ".key", ".token"}) std::filesystem::copy_file(path(std::string("agent-lab1") + extension), path(std::string("undistributed") + extension));
  std::filesystem::remove(path("undistributed.key"));
  const Output renewed = init("--renew");
  ASSERT_EQ(renewed.code, 0) << renewed.text;
  EXPECT_THAT(renewed.text, HasSubstr("A new CA was made"));
  EXPECT_THAT(renewed.text, HasSubstr("# ca.pem, which holds both, goes to every machine"));
  EXPECT_THAT(read("ca.pem"), testing::EndsWith(old_ca)) << "certificates of the old CA are accepted until it ends";
  EXPECT_NE(read("ca.pem"), old_ca);
  EXPECT_EQ(read("tokens"), tokens);
  EXPECT_EQ(read("agent-lab1.key"), key);
  EXPECT_GT(end_of("ca.pem"), hone::wire::wall_clock() + 3000 * kDay);
  EXPECT_TRUE(hone::tracker::is_signed_by(read("agent-lab1.pem"), read("ca.pem")));
  EXPECT_FALSE(hone::tracker::is_signed_by(read("agent-lab1.pem"), old_ca));
  Program tracker(words_of(tracker_flags()));
  EXPECT_EQ(ask(tracker).code, 0);
  std::filesystem::copy_file(path("agent-lab1.key"), path("undistributed.key"));
  EXPECT_EQ(ask(tracker, "undistributed").code, 0) << "an agent that has the new ca.pem and its old certificate";
  EXPECT_THAT(ask(tracker, "agent-lab1", "old-ca.pem").text, HasSubstr("not signed by a certificate of --tls-ca")) << "as the words said";
  EXPECT_EQ(init("--agent lab2").code, 0) << "signed by the new CA";
  EXPECT_TRUE(comes_to_answer(tracker, "agent-lab2"));
}

TEST_F(InitTls, RenewServesAFleetThatHasExpired) {
  make_ending(-5);
  const Output more = init("--agent lab2");
  EXPECT_EQ(more.code, 2);
  EXPECT_THAT(more.text, HasSubstr("expired on"));
  const Output renewed = init("--renew");
  ASSERT_EQ(renewed.code, 0) << renewed.text;
  EXPECT_THAT(renewed.text, HasSubstr("the old one expired on"));
  Program tracker(words_of(tracker_flags()));
  EXPECT_EQ(ask(tracker).code, 0);
}

TEST_F(InitTls, RenewIsRefusedWhereItWouldDoSomethingElse) {
  EXPECT_EQ(init("--renew").code, 2) << "there is nothing";
  ASSERT_EQ(init("--agent lab1").code, 0);
  const auto before = all();
  for (const char* bad : {"--renew --agent lab2", "--renew --tuner ann", "--renew --host 'a b'"}) {
    const Output output = init(bad);
    EXPECT_EQ(output.code, 2) << bad;
    EXPECT_EQ(std::count(output.text.begin(), output.text.end(), '\n'), 1) << output.text;
  }
  write("tracker.key", read("ca.key"));
  EXPECT_THAT(init("--renew").text, HasSubstr("the key is not the certificate's"));
  write("tracker.key", before.at("tracker.key"));
  EXPECT_EQ(all(), before) << "all or nothing";
}

// Killed before its files were complete, and after.
TEST_F(InitTls, WhatAKilledRunLeftBehindIsDroppedOrFinished) {
  ASSERT_EQ(init("--agent lab1").code, 0);
  std::filesystem::create_directory(path(".init-tls.part"));
  write(".init-tls.part/ca.pem", "half");
  ASSERT_EQ(init("--agent lab2").code, 0);
  EXPECT_THAT(read("ca.pem"), testing::StartsWith("-----BEGIN"));
  EXPECT_FALSE(std::filesystem::exists(path(".init-tls.part")));

  std::filesystem::create_directory(path(".init-tls.done"));
  std::filesystem::rename(path("agent-lab2.pem"), path(".init-tls.done/agent-lab2.pem"));
  write(".init-tls.done/tokens", "# finished\n" + read("tokens"));
  ASSERT_EQ(init("--agent lab3").code, 0);
  EXPECT_TRUE(std::filesystem::exists(path("agent-lab2.pem")));
  EXPECT_THAT(read("tokens"), testing::StartsWith("# finished\n"));
  EXPECT_THAT(read("tokens"), HasSubstr("\nagent lab3 "));
  EXPECT_FALSE(std::filesystem::exists(path(".init-tls.done")));
}

TEST_F(InitTls, TheProgramsWarnOfCertificatesThatEnd) {
  make_ending(20);
  Program tracker(words_of(tracker_flags()));
  const Output answer = ask(tracker);
  EXPECT_EQ(answer.code, 0);
  EXPECT_THAT(answer.text, HasSubstr("--tls-cert: the certificate of 'admin' ends on "));
  EXPECT_THAT(answer.text, HasSubstr("--tls-ca: the certificate of 'Hone fleet' ends on "));
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
