// `tracker init-tls`: the files that it makes, adds and renews, and that they work.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "rpc/gate/certificates.h"
#include "rpc/wire/access/certificate_dates.h"
#include "rpc/wire/access/fleet_file.h"
#include "rpc/wire/access/pem.h"
#include "tests/fakes/eventually.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/unit/tracker/tracker_program.h"

namespace hone::tracker {
namespace {

using testing::HasSubstr;

TEST(TrackerProgram, WhatInitTlsPrintsWorksWhenPasted) {
  const TemporaryFolder folder;
  const std::string dir = folder.path() + "/tls";
  const Output made = run("init-tls " + dir + " --host localhost --agent lab1 --agent lab2");
  ASSERT_EQ(made.code, 0) << made.text;
  for (const auto& entry : std::filesystem::directory_iterator(dir))
    EXPECT_EQ(entry.status().permissions() & std::filesystem::perms::mask,
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write)
        << entry.path();
  EXPECT_THAT(made.text, HasSubstr("\ndevice-agent --fleet " + dir + "/lab1.hone\n"));
  EXPECT_THAT(made.text, HasSubstr("\nssh lab1 'umask 77; cat >lab1.hone' <" + dir +
                                   "/lab1.hone && ssh -t lab1 sudo /opt/hone/bin/hone-enrol lab1.hone\n"));

  const std::string serve = replaced(replaced(arguments_of(made.text, "tracker --listen"), "0.0.0.0:9190", "0.0.0.0:0"),
                                     "0.0.0.0:9191", "0.0.0.0:0");
  Program tracker(words_of(serve));
  ASSERT_THAT(tracker.ready(),
              testing::MatchesRegex("tracker: listening on 0.0.0.0:[1-9][0-9]*, http on 0.0.0.0:[1-9][0-9]*"));
  const std::string address = "localhost" + tracker.listens().substr(tracker.listens().rfind(':'));
  // Port 9190 may be taken here.
  const Output status = run(arguments_of(made.text, "tracker status") + " --tracker " + address);
  EXPECT_EQ(status.code, 0) << status.text;
  const std::string tuner = arguments_of(made.text, "--fleet") + " --tracker " + address;
  EXPECT_EQ(run("status --fleet " + tuner).code, 0) << tuner;
  EXPECT_EQ(run("drain x --fleet " + tuner).code, 2) << "a tuner may not";
  const Output bare = run("status --tracker " + address + " --tls-ca " + dir + "/ca.pem");
  EXPECT_EQ(bare.code, 2);
  EXPECT_EQ(std::count(bare.text.begin(), bare.text.end(), '\n'), 1) << bare.text;
}

TEST(TrackerProgram, InitTlsAddsAgentsAndOverwritesNothing) {
  const TemporaryFolder folder;
  const std::string dir = folder.path() + "/a folder";
  const auto init = [&](const std::string& arguments) { return run("init-tls '" + dir + "' " + arguments); };
  const auto read = [&](const std::string& name) {
    std::ifstream in(dir + "/" + name);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  ASSERT_EQ(init("--agent lab1").code, 0);
  const std::string ca = read("ca.pem"), tokens = read("tokens"), lab1 = read("agent-lab1.key");
  for (const char* arguments :
       {"", "--agent lab1", "--host other", "--host other --agent lab2", "--agent lab2 --agent lab1"}) {
    const Output output = init(arguments);
    EXPECT_EQ(output.code, 2) << arguments << ": " << output.text;
    EXPECT_EQ(std::count(output.text.begin(), output.text.end(), '\n'), 1) << output.text;
  }
  EXPECT_EQ(read("tokens"), tokens);
  EXPECT_FALSE(std::filesystem::exists(dir + "/agent-lab2.pem")) << "all or nothing";
  const Output more = init("--agent lab2");
  ASSERT_EQ(more.code, 0) << more.text;
  EXPECT_THAT(more.text, HasSubstr("device-agent --fleet '" + dir + "/lab2.hone'"));
  EXPECT_THAT(more.text, testing::Not(HasSubstr("lab1")));
  EXPECT_EQ(read("ca.pem"), ca);
  EXPECT_EQ(read("agent-lab1.key"), lab1);
  EXPECT_EQ(read("tokens").rfind(tokens + "agent lab2 ", 0), 0u);
  EXPECT_EQ(init("--tuner lab2").code, 2) << "its file would be the agent's";
  EXPECT_EQ(init("--tuner admin").code, 2) << "its file would be the administrator's";
  for (const char* bad : {"--agent a/b", "--agent ''", "--agent -x", "--host 'a b'", "--host a:1"})
    EXPECT_EQ(run("init-tls " + folder.path() + "/b " + bad).code, 2) << bad;
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
    for (const auto& entry : std::filesystem::directory_iterator(dir_))
      out[entry.path().filename()] = read(entry.path().filename());
    return out;
  }
  wire::UnixSeconds end_of(const std::string& name) const {
    return wire::certificate_dates(read(name)).value().front().not_after;
  }
  // A fleet whose CA, and with it all the rest, ends in so many days.
  void make_ending(int days) const {
    ASSERT_EQ(init("--host localhost --agent lab1").code, 0);
    const wire::UnixSeconds from = wire::wall_clock() - 1000 * kDay, until = wire::wall_clock() + days * kDay;
    const auto ca = gate::make_ca("Hone fleet", {from, until}).value();
    write("ca.pem", ca.certificate);
    write("ca.key", ca.key);
    const auto own = gate::make_certificate(ca, {.common_name = "tracker",
                                                 .organization = "",
                                                 .hosts = {"localhost", "127.0.0.1"},
                                                 .server = true,
                                                 .key = read("tracker.key"),
                                                 .validity = {from, until}})
                         .value();
    write("tracker.pem", own.certificate);
    for (const auto& [file, name, role] :
         {std::tuple{"admin", "admin", "admin"}, {"tuner", "tuner", "tuner"}, {"agent-lab1", "lab1", "agent"}})
      write(file + std::string(".pem"), gate::make_certificate(ca, {.common_name = name,
                                                                    .organization = role,
                                                                    .key = read(file + std::string(".key")),
                                                                    .validity = {from, until}})
                                            ->certificate);
  }
  std::string tracker_flags(const std::string& client_ca = "ca.pem") const {
    return "--listen 127.0.0.1:0 --http none --tls-cert " + path("tracker.pem") + " --tls-key " + path("tracker.key") +
           " --tls-client-ca " + path(client_ca) + " --token-file " + path("tokens");
  }
  Output ask(const Program& tracker, const std::string& who = "admin", const std::string& ca = "ca.pem") const {
    return run("status --tracker " + tracker.listens() + " --tls-ca " + path(ca) + " --tls-cert " + path(who + ".pem") +
               " --tls-key " + path(who + ".key") + " --token-file " + path(who + ".token"));
  }

  // Once it has read its changed files again, which it looks at every few seconds.
  bool comes_to_answer(const Program& tracker, const std::string& who) const {
    return eventually([&] { return ask(tracker, who).code == 0; });
  }

  static constexpr wire::UnixSeconds kDay = 24 * 3600;
  const TemporaryFolder folder_;
  const std::string dir_ = folder_.path() + "/tls";
};

TEST_F(InitTls, ATophubIsInEveryFleetFileAndStaysThere) {
  const auto tophub_in = [&](const std::string& name) { return wire::load_fleet_file(path(name + ".hone"))->tophub; };
  for (const char* bad : {"hub:9200", "http://hub:9200", "https://", "https://ann:secret@hub"}) {
    const Output refused = init(std::string("--host lab --tophub ") + bad);
    EXPECT_EQ(refused.code, 2) << bad;
    EXPECT_THAT(refused.text, HasSubstr("--tophub"));
    EXPECT_THAT(refused.text, testing::Not(HasSubstr("secret")));
  }
  const Output made = init("--host lab --tuner ann --tophub https://hub.example:9200/");
  ASSERT_EQ(made.code, 0) << made.text;
  EXPECT_THAT(made.text, HasSubstr("\ntophub serve --listen 0.0.0.0:9200 --tls-cert " + path("tracker.pem") +
                                   " --tls-key " + path("tracker.key") + " --token-file " + path("tokens") + "\n"));
  EXPECT_THAT(gate::hosts_of(read("tracker.pem")), testing::Contains("hub.example")) << "the service shows it";
  ASSERT_EQ(init("--tuner ben").code, 0);
  for (const char* name : {"admin", "ann", "ben"}) EXPECT_EQ(tophub_in(name), "https://hub.example:9200") << name;
  ASSERT_EQ(init("--renew").code, 0);
  for (const char* name : {"admin", "ann", "ben"}) EXPECT_EQ(tophub_in(name), "https://hub.example:9200") << name;
  ASSERT_EQ(init("--renew --tophub https://new.example:1").code, 0);
  EXPECT_EQ(tophub_in("ann"), "https://new.example:1");
  EXPECT_THAT(gate::hosts_of(read("tracker.pem")), testing::Contains("new.example"));
}

TEST_F(InitTls, ATunerOfANameHasATokenOfItsOwn) {
  const Output made = init("--host localhost --tuner ann --tuner ben");
  ASSERT_EQ(made.code, 0) << made.text;
  EXPECT_THAT(read("tokens"), HasSubstr("tuner ann " + read("tuner-ann.token")));
  EXPECT_THAT(read("tokens"), HasSubstr("tuner ben " + read("tuner-ben.token")));
  EXPECT_NE(read("tuner-ann.token"), read("tuner-ben.token"));
  EXPECT_FALSE(std::filesystem::exists(path("tuner.token"))) << "no token that all share";
  EXPECT_EQ(wire::certificate_subject(read("tuner-ann.pem"))->common_name, "ann");
  EXPECT_EQ(wire::certificate_subject(read("tuner-ann.pem"))->organization, "tuner");
  const Output more = init("--tuner eve");
  ASSERT_EQ(more.code, 0) << more.text;
  EXPECT_THAT(more.text, HasSubstr("\n--fleet " + path("eve.hone") + "\n"));
  EXPECT_THAT(more.text, testing::Not(HasSubstr("ann")));
  for (const char* bad : {"--tuner eve", "--tuner a/b", "--tuner kim --tuner kim"}) EXPECT_EQ(init(bad).code, 2) << bad;
  Program tracker(words_of(tracker_flags()));
  for (const char* who : {"tuner-ann", "tuner-ben", "tuner-eve"}) EXPECT_EQ(ask(tracker, who).code, 0) << who;
}

TEST_F(InitTls, EachHasOneFileThatLetsItIn) {
  ASSERT_EQ(init("--host localhost --port 7000 --agent lab1 --tuner ann").code, 0);
  ASSERT_EQ(init("--tuner ben").code, 0);
  for (const auto& [file, role, name] : {std::tuple{"admin", "admin", "admin"},
                                         {"tuner-ann", "tuner", "ann"},
                                         {"tuner-ben", "tuner", "ben"},
                                         {"agent-lab1", "agent", "lab1"}}) {
    const auto fleet = wire::load_fleet_file(path(name + std::string(".hone")));
    ASSERT_TRUE(fleet.ok()) << fleet.status();
    EXPECT_EQ(fleet->role, role);
    EXPECT_EQ(fleet->name, name);
    EXPECT_EQ(fleet->trackers.front().text(), "localhost:7000");
    EXPECT_EQ(fleet->trackers.size(), gate::hosts_of(read("tracker.pem")).size());
    EXPECT_EQ(fleet->credentials.ca, read("ca.pem"));
    EXPECT_EQ(fleet->credentials.certificate, read(file + std::string(".pem")));
    EXPECT_EQ(fleet->credentials.key, read(file + std::string(".key")));
    EXPECT_EQ(fleet->credentials.token + "\n", read(file + std::string(".token")));
  }
  Program tracker(words_of(tracker_flags()));
  const auto ask_by = [&](const std::string& name) {
    return run("status --fleet " + path(name + ".hone") + " --tracker localhost" +
               tracker.listens().substr(tracker.listens().rfind(':')));
  };
  EXPECT_EQ(ask_by("ann").code, 0) << ask_by("ann").text;
  // As a folder of before has it: renewed, all have theirs.
  for (const char* name : {"admin", "ann", "lab1"}) std::filesystem::remove(path(name + std::string(".hone")));
  const Output renewed = init("--renew --host new.example --port 7001");
  ASSERT_EQ(renewed.code, 0) << renewed.text;
  EXPECT_THAT(renewed.text, HasSubstr(path("tuner-ann.pem") + ": copy it, or ann.hone alone, to where it is used"));
  for (const char* name : {"admin", "ann", "ben", "lab1"}) {
    const auto fleet = wire::load_fleet_file(path(name + std::string(".hone")));
    ASSERT_TRUE(fleet.ok()) << fleet.status();
    EXPECT_EQ(fleet->trackers.front().text(), "new.example:7001");
  }
  EXPECT_EQ(ask_by("ann").code, 0) << ask_by("ann").text;
}

TEST_F(InitTls, RenewMakesCertificatesAnewForTheSameKeysAndTokens) {
  ASSERT_EQ(init("--host localhost --agent lab1").code, 0);
  const auto ca = gate::KeyPair{read("ca.pem"), read("ca.key")};
  const wire::UnixSeconds now = wire::wall_clock();
  const auto old = gate::make_certificate(ca, {.common_name = "tracker",
                                               .organization = "",
                                               .hosts = {"localhost", "127.0.0.1"},
                                               .server = true,
                                               .key = read("tracker.key"),
                                               .validity = {now - 700 * kDay, now - kDay}});
  write("tracker.pem", old->certificate);
  write("foreign.pem", gate::make_ca("another").value().certificate);
  std::filesystem::permissions(path("tracker.key"), std::filesystem::perms::group_read,
                               std::filesystem::perm_options::add);
  std::filesystem::permissions(path("tracker.pem"), std::filesystem::perms::group_read,
                               std::filesystem::perm_options::add);
  const auto before = all();
  Program tracker(words_of(tracker_flags()));
  const Output expired = ask(tracker);
  EXPECT_EQ(expired.code, 2);
  EXPECT_THAT(expired.text, HasSubstr("its certificate expired on " + wire::date_text(now - kDay)));

  const Output renewed = init("--renew --host new.example");
  ASSERT_EQ(renewed.code, 0) << renewed.text;
  for (const auto& [name, text] : before) {
    const bool file = name.ends_with(".hone");
    const bool fresh =
        file || name == "tracker.pem" || name == "admin.pem" || name == "tuner.pem" || name == "agent-lab1.pem";
    EXPECT_EQ(read(name) == text, !fresh) << name;
    if (fresh && !file) {
      EXPECT_GT(end_of(name), now + 700 * kDay) << name;
      EXPECT_THAT(renewed.text, HasSubstr("\n" + path(name) + ": ")) << "where it goes";
    }
  }
  EXPECT_EQ(all().size(), before.size()) << "nothing is left behind";
  EXPECT_THAT(gate::hosts_of(read("tracker.pem")), testing::ElementsAre("new.example", "localhost", "127.0.0.1"));
  EXPECT_NE(std::filesystem::status(path("tracker.pem")).permissions() & std::filesystem::perms::group_read,
            std::filesystem::perms::none)
      << "who could read it can";
  EXPECT_THAT(renewed.text, HasSubstr(path("foreign.pem") + ": not renewed: "));
  // The tracker that runs takes it up.
  EXPECT_TRUE(comes_to_answer(tracker, "admin"));
}

TEST_F(InitTls, RenewMakesANewCaWhereTheOldOneEndsTooSoonAndKeepsItBeside) {
  make_ending(300);
  const std::string old_ca = read("ca.pem"), tokens = read("tokens"), key = read("agent-lab1.key");
  std::filesystem::copy_file(path("ca.pem"), path("old-ca.pem"));
  for (const char* extension : {".pem", ".key", ".token"})
    std::filesystem::copy_file(path(std::string("agent-lab1") + extension),
                               path(std::string("undistributed") + extension));
  std::filesystem::remove(path("undistributed.key"));
  const Output renewed = init("--renew");
  ASSERT_EQ(renewed.code, 0) << renewed.text;
  EXPECT_THAT(renewed.text, HasSubstr("A new CA was made"));
  EXPECT_THAT(renewed.text, HasSubstr("# Copy ca.pem, which holds both, to every machine"));
  EXPECT_THAT(read("ca.pem"), testing::EndsWith(old_ca)) << "certificates of the old CA are accepted until it ends";
  EXPECT_NE(read("ca.pem"), old_ca);
  EXPECT_EQ(read("tokens"), tokens);
  EXPECT_EQ(read("agent-lab1.key"), key);
  EXPECT_GT(end_of("ca.pem"), wire::wall_clock() + 3000 * kDay);
  EXPECT_TRUE(gate::is_signed_by(read("agent-lab1.pem"), read("ca.pem")));
  EXPECT_FALSE(gate::is_signed_by(read("agent-lab1.pem"), old_ca));
  Program tracker(words_of(tracker_flags()));
  EXPECT_EQ(ask(tracker).code, 0);
  std::filesystem::copy_file(path("agent-lab1.key"), path("undistributed.key"));
  EXPECT_EQ(ask(tracker, "undistributed").code, 0) << "an agent that has the new ca.pem and its old certificate";
  EXPECT_THAT(ask(tracker, "agent-lab1", "old-ca.pem").text, HasSubstr("not signed by a certificate of --tls-ca"))
      << "as the words said";
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
  EXPECT_THAT(init("--renew").text, HasSubstr("the key does not belong to the certificate"));
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

}  // namespace
}  // namespace hone::tracker
