// One file of a fleet, --fleet: which files are one, and to whom their contents go.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "rpc/gate/certificates.h"
#include "rpc/wire/access/fleet_file.h"
#include "rpc/wire/access/tracker_access.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/unit/tracker/tracker_program.h"

namespace hone::tracker {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string kToken(64, 'a');

class FleetFiles : public testing::Test {
 protected:
  FleetFiles() {
    const gate::KeyPair ca = gate::make_ca("Hone fleet").value();
    const gate::KeyPair own = gate::make_certificate(ca, {"ann", "tuner"}).value();
    fleet_ = {
        "tuner", "ann", {{"lab", 9190, ""}, {"fd00::7", 9190, ""}}, {ca.certificate, own.certificate, own.key, kToken}};
  }
  std::string text() const { return wire::fleet_file_text(fleet_); }
  std::string written(const std::string& text, mode_t mode = 0600) const {
    const std::string path = folder_.path() + "/ann.hone";
    std::ofstream(path, std::ios::trunc) << text;
    chmod(path.c_str(), mode);
    return path;
  }
  std::string refusal(const std::string& text) const {
    const auto parsed = wire::parse_fleet_file("ann.hone", text);
    EXPECT_FALSE(parsed.ok()) << text;
    const std::string line = message_of(parsed.status());
    EXPECT_THAT(line, StartsWith("ann.hone:"));
    EXPECT_THAT(line, testing::Not(HasSubstr("\n")));
    EXPECT_THAT(line, testing::Not(HasSubstr(kToken)));
    return line;
  }
  static size_t lines(const std::string& text) {
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  const TemporaryFolder folder_;
  wire::FleetFile fleet_;
};

TEST_F(FleetFiles, IsReadAsItWasWritten) {
  const std::string dos = [&] {
    std::string out;
    for (const char c : text()) out += c == '\n' ? "\r\n" : std::string(1, c);
    return out;
  }();
  for (const std::string& text : {text(), dos}) {
    const auto read = wire::parse_fleet_file("ann.hone", text);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->role, "tuner");
    EXPECT_EQ(read->name, "ann");
    EXPECT_EQ(read->trackers, fleet_.trackers);
    EXPECT_EQ(read->credentials.ca, fleet_.credentials.ca);
    EXPECT_EQ(read->credentials.certificate, fleet_.credentials.certificate);
    EXPECT_EQ(read->credentials.key, fleet_.credentials.key);
    EXPECT_EQ(read->credentials.token, kToken);
  }
}

TEST_F(FleetFiles, MayNameTheTeamsTophub) {
  EXPECT_EQ(wire::parse_fleet_file("ann.hone", text())->tophub, "");
  fleet_.tophub = "https://lab:9200";
  EXPECT_EQ(wire::parse_fleet_file("ann.hone", text())->tophub, "https://lab:9200");
  fleet_.tophub = "https://hub.example/team";
  const wire::FleetFile read = *wire::parse_fleet_file("ann.hone", text());
  EXPECT_TRUE(read.names({"hub.example", 443, ""}));
  EXPECT_TRUE(read.names({"lab", 443, ""}));
  EXPECT_FALSE(read.names({"example", 443, ""}));
  fleet_.tophub = "lab:9200";
  EXPECT_THAT(refusal(text()), HasSubstr("not an entry of a fleet file; allowed: for"));
}

TEST_F(FleetFiles, APartOfItIsRefusedWhereverItWasCut) {
  const std::string whole = text();
  for (size_t end = whole.find('\n') + 1; end + 1 < whole.size(); end = whole.find('\n', end) + 1)
    EXPECT_THAT(refusal(whole.substr(0, end)), HasSubstr("a part of the file is missing")) << end;
}

TEST_F(FleetFiles, WhatIsWrongIsSaidWithItsLine) {
  const auto with = [&](const std::string& what, const std::string& instead) {
    std::string out = text();
    out.replace(out.find(what), what.size(), instead);
    return out;
  };
  EXPECT_THAT(refusal(""), HasSubstr(":1: not a fleet file"));
  EXPECT_THAT(refusal(kToken + "\n"), HasSubstr(":1: not a fleet file"));
  EXPECT_THAT(refusal(with("hone-fleet 1", "hone-fleet 2")), HasSubstr(":1: version 2 of the format"));
  EXPECT_THAT(refusal(with("tracker lab:9190", "tracker lab")), HasSubstr(":4: bad address 'lab'"));
  EXPECT_THAT(refusal(with("for tuner ann", kToken)), HasSubstr(":3: not an entry of a fleet file; allowed: for"));
  EXPECT_THAT(refusal(with("token " + kToken, "token short")), HasSubstr(":6: a token must have 16 to 256 characters"));
  EXPECT_THAT(refusal(with("for tuner ann", "token " + kToken)), HasSubstr(":6: `token` is there twice"));
  EXPECT_THAT(refusal(with("for tuner ann", "# nobody")), HasSubstr("the file has no `for`"));
  EXPECT_THAT(refusal(with("ca\n-----BEGIN", "ca\nBEGIN")), HasSubstr(":8: expected a block of PEM after `ca`"));
  EXPECT_THAT(refusal(text() + "more\n"), HasSubstr(":" + std::to_string(lines(text()) + 1) + ": text after `end`"));
  wire::FleetFile other = fleet_;
  other.credentials.key = gate::make_ca("x")->key;
  EXPECT_THAT(refusal(wire::fleet_file_text(other)), HasSubstr("the key does not belong to the certificate"));
  other.credentials.key.clear();
  EXPECT_THAT(refusal(wire::fleet_file_text(other)), HasSubstr("`certificate` and `key` belong together"));
}

TEST_F(FleetFiles, OthersMustNotBeAbleToReadIt) {
  EXPECT_TRUE(wire::load_fleet_file(written(text())).ok());
  const auto open = wire::tracker_access("", {.fleet = written(text(), 0644)}, false);
  EXPECT_THAT(message_of(open.status()),
              StartsWith("--fleet " + folder_.path() + "/ann.hone: holds a secret, and its mode 0644"));
}

TEST_F(FleetFiles, FlagsBesideItWin) {
  const std::string path = written(text()), token_file = folder_.path() + "/token", token(32, 'b');
  std::ofstream(token_file) << token;
  chmod(token_file.c_str(), 0600);
  const auto alone = wire::tracker_access("", {.fleet = path}, false);
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_EQ(alone->tracker.text(), "lab:9190");
  EXPECT_EQ(alone->credentials.token, kToken);
  EXPECT_EQ(alone->credentials.ca_from, "--fleet");
  EXPECT_EQ(alone->agent, "") << "ann is a tuner";
  const auto beside = wire::tracker_access("[fd00::7]:7", {.token = token_file, .fleet = path}, false);
  ASSERT_TRUE(beside.ok()) << beside.status();
  EXPECT_EQ(beside->tracker.text(), "[fd00::7]:7") << "another port of a host that the file names";
  EXPECT_EQ(beside->credentials.token, token);
  EXPECT_EQ(beside->credentials.key, fleet_.credentials.key);
  fleet_.role = "agent";
  EXPECT_EQ(wire::tracker_access("", {.fleet = written(text())}, false)->agent, "ann");
}

TEST_F(FleetFiles, WhatItHoldsGoesToNoHostThatItDoesNotName) {
  const std::string path = written(text());
  for (const char* tracker : {"evil:9190", "127.0.0.1:9190", "lab.evil:9190", "unix:/tmp/sock", "[fd00::8]:9190"})
    for (const bool insecure : {false, true}) {
      const auto refused = wire::tracker_access(tracker, {.fleet = path}, insecure);
      ASSERT_FALSE(refused.ok()) << tracker;
      EXPECT_THAT(message_of(refused.status()),
                  StartsWith("--tracker " + std::string(tracker) + ": the token and key of " + path +
                             " are only for lab, fd00::7"));
    }
}

TEST_F(FleetFiles, WithoutItTheUsualTrackerIsMeant) {
  EXPECT_EQ(wire::tracker_access("", {}, false)->tracker.text(), wire::kUsualTracker);
  EXPECT_FALSE(wire::tracker_access("lab:9190", {}, false).ok()) << "not protected";
}

TEST_F(FleetFiles, TheVariableStandsForTheFlag) {
  const std::string dir = folder_.path() + "/tls";
  ASSERT_EQ(run("init-tls " + dir + " --host localhost --port 9").code, 0);
  const auto with = [&](const std::string& fleet, const std::string& arguments) {
    setenv("HONE_FLEET", fleet.c_str(), 1);
    const Output output = run(arguments);
    unsetenv("HONE_FLEET");
    return output;
  };
  // Nothing listens on port 9, and the line names the address that it tried to reach.
  EXPECT_THAT(with(dir + "/admin.hone", "status").text, HasSubstr("localhost:9"));
  const Output elsewhere = with(dir + "/admin.hone", "status --tracker 127.1.2.3:9");
  EXPECT_EQ(elsewhere.code, 2);
  EXPECT_THAT(elsewhere.text,
              HasSubstr("--tracker 127.1.2.3:9: the token and key of " + dir + "/admin.hone are only for localhost"));
  EXPECT_THAT(with(dir + "/admin.hone", "status --fleet '' --tracker 127.1.2.3:9").text,
              testing::Not(HasSubstr("admin.hone")))
      << "an empty one: none";
  EXPECT_THAT(with("/nowhere", "status").text, HasSubstr("HONE_FLEET: /nowhere: "));
  EXPECT_THAT(with(dir + "/admin.hone", "status --fleet /else").text, HasSubstr("--fleet /else: "));
}

}  // namespace
}  // namespace hone::tracker
