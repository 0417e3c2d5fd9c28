// Certificates that end: who says so, when, in which words; and how they are made anew.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/log.h"
#include "rpc/gate/certificate_watch.h"
#include "rpc/gate/certificates.h"
#include "rpc/wire/access/certificate_dates.h"
#include "rpc/wire/access/pem.h"
#include "rpc/wire/access/tls_probe.h"
#include "rpc/wire/admin_client.h"
#include "tests/fakes/eventually.h"
#include "tests/fakes/fake_agent.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/test_session.h"
#include "tracker/service.h"

namespace hone::tracker {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using wire::CertificateDates;
using wire::NamedCertificate;
using wire::UnixSeconds;

constexpr UnixSeconds kDay = 24 * 3600;
constexpr UnixSeconds kNoon = 1'893'499'200;  // 2030-01-01 12:00:00 UTC

std::string certificate_until(const gate::KeyPair& ca, const std::string& name, UnixSeconds until) {
  return gate::make_certificate(
             ca,
             {.common_name = name, .organization = "agent", .validity = {.from = until - 100 * kDay, .until = until}})
      .value()
      .certificate;
}

TEST(CertificateDates, AreThoseOfTheCertificateInUtc) {
  const gate::KeyPair ca = gate::make_ca("a CA", {.from = kNoon, .until = kNoon + 9 * kDay}).value();
  const auto dates = wire::certificate_dates(ca.certificate).value();
  ASSERT_EQ(dates.size(), 1u);
  EXPECT_EQ(dates[0].common_name, "a CA");
  EXPECT_EQ(dates[0].not_before, kNoon);
  EXPECT_EQ(dates[0].not_after, kNoon + 9 * kDay);
  EXPECT_EQ(wire::date_text(kNoon + 61), "2030-01-01 12:01:01 UTC");
  EXPECT_FALSE(wire::certificate_dates(ca.key).ok());
  EXPECT_FALSE(wire::certificate_dates("").ok());
}

TEST(CertificateDates, ACaThatANewOneReplacesDoesNotCount) {
  const gate::KeyPair old = gate::make_ca("fleet", {.from = 1, .until = kNoon}).value(),
                      fresh = gate::make_ca("fleet", {.from = 1, .until = kNoon + kDay}).value();
  const gate::KeyPair other = gate::make_ca("another", {.from = 1, .until = 2}).value();
  const auto dates = wire::certificate_dates(fresh.certificate + old.certificate + other.certificate).value();
  ASSERT_EQ(dates.size(), 2u);
  EXPECT_EQ(dates[0].not_after, kNoon + kDay);
  EXPECT_EQ(dates[1].common_name, "another");
}

TEST(CertificateReminder, SpeaksThirtyDaysBeforeOnceADayAndAfterTheEnd) {
  const std::vector<NamedCertificate> own = {{"--tls-cert x.pem", {"lab1", kNoon - 700 * kDay, kNoon}}};
  wire::CertificateReminder reminder;
  EXPECT_THAT(reminder.due(own, kNoon - 30 * kDay - 1), IsEmpty());
  EXPECT_THAT(reminder.due(own, kNoon - 30 * kDay),
              ElementsAre("--tls-cert x.pem: the certificate of 'lab1' ends on 2030-01-01 12:00:00 UTC, in 30 days; "
                          "`tracker init-tls DIR --renew` makes new ones"));
  EXPECT_THAT(reminder.due(own, kNoon - 29 * kDay - 1), IsEmpty()) << "told less than a day ago";
  EXPECT_THAT(reminder.due(own, kNoon - 29 * kDay), ElementsAre(HasSubstr("in 29 days")));
  EXPECT_THAT(reminder.due(own, kNoon - kDay), ElementsAre(HasSubstr("in a day")));
  EXPECT_THAT(reminder.due(own, kNoon + 1),
              ElementsAre(HasSubstr("'lab1' expired on 2030-01-01 12:00:00 UTC; `tracker init-tls")))
      << "at once, not a day later";
  EXPECT_THAT(reminder.due(own, kNoon + 2), IsEmpty());
  EXPECT_THAT(reminder.due(own, kNoon + 1 + kDay), ElementsAre(HasSubstr("expired")));
  EXPECT_THAT(reminder.due({{"--tls-cert x.pem", {"lab1", kNoon, kNoon + 700 * kDay}}}, kNoon + 1), IsEmpty())
      << "renewed";
}

TEST(CertificateReminder, TellsTheTimeToAMachineWhoseClockIsBehind) {
  const std::vector<NamedCertificate> own = {{"--tls-ca", {"a\x1b[31m'CA", kNoon, kNoon + 700 * kDay}}};
  EXPECT_THAT(wire::CertificateReminder().due(own, kNoon - 3600),
              ElementsAre("--tls-ca: the certificate of 'a?[31m?CA' is not valid before 2030-01-01 12:00:00 UTC, and "
                          "this machine's clock says 2030-01-01 11:00:00 UTC"));
}

TEST(CertificateReminder, ListsWhatAClientHolds) {
  const gate::KeyPair ca = gate::make_ca("fleet").value(), own = gate::make_certificate(ca, {"lab1", "agent"}).value();
  const auto held = wire::certificates_of({ca.certificate, own.certificate + ca.certificate, own.key, ""});
  ASSERT_EQ(held.size(), 2u) << "a chain's CAs are the signer's business";
  EXPECT_EQ(held[0].where, "--tls-ca");
  EXPECT_EQ(held[1].where, "--tls-cert");
  EXPECT_EQ(held[1].dates.common_name, "lab1");
  EXPECT_THAT(wire::certificates_of({}), IsEmpty());
}

/// A tracker whose certificates may be old.
class Dated : public testing::Test {
 protected:
  Dated() {
    before_ = spdlog::default_logger();
    spdlog::set_default_logger(
        std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log_)));
  }
  ~Dated() override {
    if (server_) server_->stop();
    spdlog::set_default_logger(before_);
  }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  void write(const std::string& name, const std::string& text) {
    const std::string fresh = path(name) + ".new";
    std::ofstream(fresh) << text;
    chmod(fresh.c_str(), 0600);
    std::filesystem::rename(fresh, path(name));
  }
  // Valid from then until then, in days from now.
  gate::KeyPair tracker_certificate(const gate::KeyPair& ca, UnixSeconds from, UnixSeconds until) const {
    return gate::make_certificate(ca, {.common_name = "tracker",
                                       .organization = "",
                                       .hosts = {"127.0.0.1"},
                                       .server = true,
                                       .validity = {now_ + from * kDay, now_ + until * kDay}})
        .value();
  }
  void start(const gate::KeyPair& ca, const gate::KeyPair& own, bool client_certificates = false) {
    write("ca.pem", ca.certificate);
    write("tracker.pem", own.certificate);
    write("tracker.key", own.key);
    gate::Security security;
    security.tls = {path("tracker.pem"), path("tracker.key"), client_certificates ? path("ca.pem") : ""};
    security.authority = gate::Authority::make({"", client_certificates}, clock_).value();
    auto server = TrackerServer::start(wire::Address::parse("127.0.0.1:0").value(), {}, clock_, security);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = std::move(*server);
  }
  std::string answer(const wire::Credentials& credentials) {
    return message_of(wire::fetch_status(server_->address(), 10s, credentials).status());
  }
  std::string no_tracker() const { return "cannot reach the tracker at " + server_->address().text() + ": "; }
  std::string day(UnixSeconds days) const { return wire::date_text(now_ + days * kDay); }

  const UnixSeconds now_ = wire::wall_clock();
  const SteadyClock clock_;
  const gate::KeyPair ca_ = gate::make_ca("fleet").value();
  TemporaryFolder folder_;
  std::ostringstream log_;
  std::shared_ptr<spdlog::logger> before_;
  std::unique_ptr<TrackerServer> server_;
};

TEST_F(Dated, ClientsSayThatTheTrackersCertificateExpired) {
  start(ca_, tracker_certificate(ca_, -100, -2));
  EXPECT_EQ(answer({.ca = ca_.certificate}), no_tracker() + "its certificate expired on " + day(-2));
  EXPECT_THAT(answer({.ca = gate::make_ca("another").value().certificate}),
              HasSubstr("not signed by a certificate of --tls-ca"))
      << "that comes first";
  wire::TestSession session(server_->address(), {}, {.ca = ca_.certificate});
  EXPECT_THAT(message_of(session.client_->wait_open(3s)), HasSubstr("its certificate expired on " + day(-2)));
}

TEST_F(Dated, ClientsSayThatTheTrackersCertificateIsNotYetValidAndWhatTheirClockSays) {
  start(ca_, tracker_certificate(ca_, 2, 100));
  EXPECT_THAT(answer({.ca = ca_.certificate}), StartsWith(no_tracker() + "its certificate is not valid before " +
                                                          day(2) + ", and this machine's clock says 2"));
}

TEST_F(Dated, ClientsSayThatTheCaExpired) {
  const gate::KeyPair old = gate::make_ca("fleet", {now_ - 100 * kDay, now_ - 3 * kDay}).value();
  start(old, tracker_certificate(old, -50, 50));
  EXPECT_EQ(answer({.ca = old.certificate}), no_tracker() + "the CA of its certificate expired on " + day(-3));
}

TEST_F(Dated, ClientsSayThatTheirOwnCertificateExpired) {
  start(ca_, tracker_certificate(ca_, -1, 100), true);
  const auto with = [&](UnixSeconds from, UnixSeconds until) {
    const gate::KeyPair own = gate::make_certificate(ca_, {.common_name = "good",
                                                           .organization = "agent",
                                                           .validity = {now_ + from * kDay, now_ + until * kDay}})
                                  .value();
    return wire::Credentials{ca_.certificate, own.certificate, own.key, ""};
  };
  EXPECT_EQ(answer(with(-1, 1)), "");
  EXPECT_THAT(answer(with(-100, -1)),
              HasSubstr("the certificate that it was shown (--tls-cert) expired on " + day(-1)));
  EXPECT_THAT(answer(with(1, 100)), HasSubstr("(--tls-cert) is not valid before " + day(1)));
}

TEST_F(Dated, AnAgentIsToldAgainAndAgainWhyItDoesNotConnectAndItsLogThatItsCertificateEnds) {
  start(ca_, tracker_certificate(ca_, -100, -2));
  const gate::KeyPair own =
      gate::make_certificate(
          ca_, {.common_name = "good", .organization = "agent", .validity = {now_ - kDay, now_ + 9 * kDay + 60}})
          .value();
  {
    const wire::Credentials credentials{ca_.certificate, own.certificate, own.key, ""};
    wire::FakeAgent agent(server_->address(), "good", 1, false, credentials);
    const std::string why = "TLS: its certificate expired on " + day(-2);
    EXPECT_TRUE(eventually([&] { return agent.unreachable(why) >= 2; }));
    wire::TestSession another(server_->address(), {}, credentials);
    EXPECT_FALSE(another.client_->wait_open(1s).ok());
  }
  server_->stop();
  const std::string text = log_.str();
  EXPECT_THAT(text, HasSubstr("--tls-cert: the certificate of 'good' ends on "));
  EXPECT_THAT(text, HasSubstr("in 9 days; `tracker init-tls DIR --renew` makes new ones"));
  EXPECT_THAT(text, testing::Not(HasSubstr(no_tracker()))) << "who is told needs no log";
  EXPECT_EQ(text.find("'good' ends on"), text.rfind("'good' ends on")) << "once a process, not once a client";
}

TEST_F(Dated, TheTrackerSaysAtItsStartThatItsCertificateEndsAndInNumbersWhen) {
  start(ca_, tracker_certificate(ca_, -100, 20), true);
  const auto ends = server_->counts().certificate_ends;
  EXPECT_EQ(ends.at("server"), now_ + 20 * kDay);
  EXPECT_EQ(ends.at("client_ca"), wire::certificate_dates(ca_.certificate)->front().not_after);
  server_->stop();
  EXPECT_THAT(log_.str(),
              HasSubstr("--tls-cert " + path("tracker.pem") + ": the certificate of 'tracker' ends on " + day(20)));
  EXPECT_THAT(log_.str(), testing::Not(HasSubstr("--tls-client-ca")));
}

TEST_F(Dated, ARenewedCaBesideTheOldOneServesCertificatesOfBoth) {
  const gate::KeyPair fresh = gate::make_ca("fleet", {now_ - kDay, now_ + 5000 * kDay}).value();
  start({fresh.certificate + ca_.certificate, ""}, tracker_certificate(fresh, -1, 100), true);
  for (const gate::KeyPair& ca : {ca_, fresh}) {
    const gate::KeyPair own = gate::make_certificate(ca, {"good", "agent"}).value();
    EXPECT_EQ(answer({fresh.certificate + ca_.certificate, own.certificate, own.key, ""}), "");
  }
}

TEST(TlsProbe, SaysNothingOfPeersThatDoNotShakeHands) {
  const auto nobody = wire::Address::parse("127.0.0.1:1").value();
  EXPECT_EQ(wire::date_problem(nobody, gate::make_ca("x").value().certificate, kNoon, 100ms), "");
}

TEST(CertificateWatch, LooksAtTheFilesOnceAMinuteAndSeesNewOnes) {
  FakeClock clock;
  UnixSeconds today = kNoon;
  std::vector<std::string> lines;
  TemporaryFolder folder;
  const gate::KeyPair ca = gate::make_ca("fleet", {.from = 1, .until = kNoon + 5000 * kDay}).value();
  const std::string path = folder.path() + "/tracker.pem", ca_path = folder.path() + "/ca.pem";
  const auto write = [](const std::string& where, const std::string& text) {
    std::ofstream(where, std::ios::trunc) << text;
  };
  write(path, certificate_until(ca, "tracker", kNoon + 10 * kDay) + ca.certificate);
  write(ca_path, ca.certificate);
  gate::CertificateWatch watch(
      {path, "", ca_path}, clock, [&] { return today; }, [&](const std::string& line) { lines.push_back(line); });
  watch.look();
  EXPECT_THAT(lines, ElementsAre(HasSubstr("in 10 days")));
  EXPECT_THAT(watch.ends(),
              ElementsAre(std::pair("client_ca", kNoon + 5000 * kDay), std::pair("server", kNoon + 10 * kDay)));
  today += 2 * kDay;
  watch.look();
  EXPECT_EQ(lines.size(), 1u) << "looked at a moment ago";
  clock.advance(1min);
  watch.look();
  EXPECT_THAT(lines.back(), HasSubstr("in 8 days"));
  write(path, "half a fi");
  clock.advance(1min);
  today += 9 * kDay;
  watch.look();
  EXPECT_THAT(lines.back(), HasSubstr("expired on")) << "what was known stays";
  write(path, certificate_until(ca, "tracker", today + 90 * kDay));
  clock.advance(1min);
  today += kDay;
  watch.look();
  EXPECT_EQ(lines.size(), 3u);
  EXPECT_EQ(watch.ends().at("server"), kNoon + 101 * kDay);
}

TEST(RenewCertificate, KeepsNameKeyUsageAndHostsAndOutlivesNoCa) {
  const gate::KeyPair ca = gate::make_ca("fleet").value();
  const gate::KeyPair old = gate::make_certificate(ca, {.common_name = "tracker",
                                                        .organization = "",
                                                        .hosts = {"lab.example", "10.1.2.3"},
                                                        .server = true,
                                                        .validity = {1, 2}})
                                .value();
  const gate::KeyPair fresh = gate::renew_certificate(ca, old, {"new.example", "10.1.2.3"}).value();
  EXPECT_EQ(fresh.key, old.key);
  EXPECT_THAT(gate::hosts_of(fresh.certificate), ElementsAre("new.example", "10.1.2.3", "lab.example"));
  EXPECT_EQ(wire::certificate_subject(fresh.certificate)->common_name, "tracker");
  EXPECT_TRUE(wire::check_key_pair(fresh.certificate, old.key).ok());
  EXPECT_TRUE(gate::is_signed_by(fresh.certificate, gate::make_ca("x").value().certificate + ca.certificate));
  EXPECT_FALSE(gate::is_signed_by(fresh.certificate, gate::make_ca("fleet").value().certificate))
      << "a CA of the same name";
  EXPECT_NEAR(static_cast<double>(wire::certificate_dates(fresh.certificate)->front().not_after - wire::wall_clock()),
              gate::kCertificateSeconds, 3600);
  EXPECT_FALSE(gate::renew_certificate(ca, {old.certificate, ca.key}).ok()) << "another's key";

  const UnixSeconds soon = wire::wall_clock() + 10 * kDay;
  const gate::KeyPair short_lived = gate::make_ca("short", {.from = 1, .until = soon}).value();
  EXPECT_EQ(
      wire::certificate_dates(gate::make_certificate(short_lived, {"lab1", "agent"})->certificate)->front().not_after,
      soon);
}

}  // namespace
}  // namespace hone::tracker
