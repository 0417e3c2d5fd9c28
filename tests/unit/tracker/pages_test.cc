#include "tracker/pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/json.h"
#include "tests/fakes/fake_fleet.h"

namespace hone::tracker {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::set<std::string> keys(const Json& json) {
  std::set<std::string> out;
  for (const auto& [key, value] : json.items()) out.insert(key);
  return out;
}

wire::FleetStatus full_status() {
  wire::FleetStatus status;
  status.version = "1.2.3";
  status.uptime_s = 7322;
  wire::DeviceStatus& good = status.devices.emplace_back();
  good.info.key = "laboratory-number-one-board-17/cpu";
  good.state = "busy";
  good.utilization = 0.97;
  good.jobs_per_minute = 12345;
  good.leased = 16;
  good.done = 123456789;
  good.failed = 1234567;
  good.health.temperature_c = 104;
  good.health.clock_mhz = 4800;
  wire::DeviceStatus& bad = status.devices.emplace_back();
  bad.info.key = "b/cpu";
  bad.state = "quarantined";
  bad.why = "it lost its leases 3 times in a row; the tracker tries it again in 24 s " + std::string(100, 'x');
  wire::SessionStatus& session = status.sessions.emplace_back();
  session.id = "0123456789ab";
  session.title = "conv2d(n=1,ci=64," + std::string(200, 'y') +
                  "\x1b[2J\xc2\x9b"
                  "31m caf\xc3\xa9)";
  session.queued = 120;
  session.leased = 16;
  session.done = 1024;
  session.oldest_s = 1.2;
  session.share = 0.501;
  session.summary.trials = 1024;
  session.summary.budget = 10000;
  session.summary.best_gflops = 812.34;
  session.summary.best_config = "tile_oc=4x16";
  session.summary.best_config_name = "winograd4";
  session.poisoned = 1;
  session.curve = {{0, 1, 1}, {10, 100, 400}, {20, 1024, 812}};
  status.queued = 120, status.leased = 16, status.oldest_s = 1.2;
  status.results = {{"ok", 1000}, {"wrong_result", 0}};
  return status;
}

size_t columns(const std::string& line) {
  size_t count = 0;
  for (const char c : line) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return count;
}

TEST(Pages, SayWhenCertificatesEnd) {
  TrackerCounts counts;
  EXPECT_THAT(metrics_page({}, counts), testing::Not(HasSubstr("\nhone_tls_certificate_expiration_timestamp_seconds{")))
      << "without TLS there is none";
  counts.certificate_ends = {{"client_ca", 2'103'753'600}, {"server", 1'893'499'200}};
  const std::string text = metrics_page({}, counts);
  EXPECT_THAT(text,
              HasSubstr("\nhone_tls_certificate_expiration_timestamp_seconds{certificate=\"server\"} 1893499200\n"));
  EXPECT_THAT(text,
              HasSubstr("\nhone_tls_certificate_expiration_timestamp_seconds{certificate=\"client_ca\"} 2103753600\n"));
}

TEST(Pages, ShowHowEachDevicesMachineIs) {
  FakeFleet fleet;
  const auto agent = fleet.agent("a", 1);
  fleet.agent("b", 1);
  fleet.tracker->agent_message(agent, wire::Heartbeat{{}, {{"a/cpu", 61.5, 1800, "undervoltage", {}, "ondemand"}}});
  const auto status = fleet.tracker->status();
  const std::string metrics = metrics_page(status, fleet.tracker->counts());
  for (const char* line : {"\nhone_device_temperature_celsius{device=\"a/cpu\"} 61.5\n",
                           "\nhone_device_clock_hertz{device=\"a/cpu\"} 1800000000\n",
                           "\nhone_device_throttled{device=\"a/cpu\",reason=\"undervoltage\"} 1\n",
                           "\nhone_device_governor{device=\"a/cpu\",governor=\"ondemand\"} 1\n"})
    EXPECT_THAT(metrics, HasSubstr(line));
  for (const char* name : {"temperature_celsius", "clock_hertz", "throttled", "governor"})
    EXPECT_THAT(metrics, testing::Not(HasSubstr(std::string("hone_device_") + name + "{device=\"b/cpu\"")))
        << "b tells nothing of itself";
  const Json devices = Json::parse(state_json(status))["devices"];
  EXPECT_EQ(devices[0]["governor"], "ondemand");
  EXPECT_EQ(devices[0]["throttled"], "undervoltage");
  EXPECT_EQ(devices[1]["governor"], "");
}

TEST(Pages, ShowWhatTheTrackerHas) {
  FakeFleet fleet;
  const auto agent = fleet.agent("a", 1);
  wire::SessionOpen open;
  open.session = wire::Uuid::random();
  open.title = "<script>alert(1)</script>";
  const auto session = fleet.open_as(open);
  fleet.submit(session, 1, 2);
  fleet.finish(agent, fleet.leases(agent).at(0));
  const auto status = fleet.tracker->status();
  const std::string metrics = metrics_page(status, fleet.tracker->counts());
  EXPECT_THAT(metrics, HasSubstr("hone_devices{state=\"idle\"} 1"));
  EXPECT_THAT(metrics, HasSubstr("hone_results_total{status=\"ok\"} 1"));
  EXPECT_THAT(metrics, HasSubstr("hone_queued_jobs{session=\"" + status.sessions.at(0).id + "\"} 1"));
  EXPECT_THAT(metrics, testing::Not(HasSubstr(open.session.text())));
  EXPECT_THAT(metrics, HasSubstr("hone_lease_latency_seconds_bucket{le=\"+Inf\"} 1"));
  EXPECT_THAT(metrics, HasSubstr("hone_lease_latency_seconds_count 1"));
  const Json state = Json::parse(state_json(status));
  EXPECT_EQ(state["devices"][0]["key"], "a/cpu");
  EXPECT_EQ(state["sessions"][0]["queued"], 1);
  EXPECT_EQ(state["results"]["ok"], 1);
  EXPECT_EQ(state["queue"]["queued"], 1);
  EXPECT_THAT(state_text(status), HasSubstr("a/cpu"));
}

TEST(StatusText, FitsAHundredColumnsAndSaysWhatMatters) {
  const std::string text = state_text(full_status(), {.colour = false, .width = 100});
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), 100u) << line;
  for (const char* what :
       {"up 2 h;", "120 queued, 16 leased, the oldest waits 1.2 s", "quarantined", "tries it again in 24 s", "97%",
        "104 °C", "4.8 GHz", "50.1%", "1024/10000", "812.3", "best: winograd4  tile_oc=4x16",
        "1 job given up: several devices lost it", "0123456789ab", "ok 1000", "█"})
    EXPECT_THAT(text, HasSubstr(what));
  EXPECT_THAT(text, testing::Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, testing::Not(HasSubstr("wrong_result"))) << "none";
}

TEST(StatusText, ShowsTheKnobsOfATunerThatTellsNoName) {
  wire::FleetStatus status = full_status();
  status.sessions[0].summary.best_config_name.clear();
  EXPECT_THAT(state_text(status), HasSubstr("      best: tile_oc=4x16\n"));
}

TEST(StatusText, SaysHowFarAModelIs) {
  wire::FleetStatus status = full_status();
  wire::SessionStatus& session = status.sessions[0];
  session.summary.best_gflops = 0;
  session.summary.model = wire::ModelSummary{0, 0, 40, 39, {}, 2e-3, 4e-3};
  session.curve = {{0, 1, 0, 0, 1}, {20, 1024, 0, 0, 0.5}};
  EXPECT_THAT(state_text(status), HasSubstr("best: 2.00x the default, of 1 of 40 workloads\n"));
  EXPECT_THAT(state_text(status), HasSubstr("  ▅█\n")) << "the curve begins with the first result";
  session.summary.model = wire::ModelSummary{5e-3, 9e-3, 40, 0, {}, 5e-3, 9e-3};
  EXPECT_THAT(state_text(status), HasSubstr("best: 1.80x the default, 5.00 ms a run\n"));
}

TEST(StatusText, SaysWhatMakesTimesUnsteady) {
  wire::FleetStatus status = full_status();
  wire::DeviceStatus &good = status.devices[0], &bad = status.devices[1];
  const std::string steady = state_text(status);
  good.health.governor = "performance";
  EXPECT_EQ(state_text(status), steady) << "that is as it should be";
  good.why = "throttled: hot", good.health.throttled = "hot", good.health.governor = "ondemand, schedutil";
  bad.why = "by hand", bad.health.throttled = "undervoltage";
  const std::string text = state_text(status);
  EXPECT_THAT(text, HasSubstr("\n      throttled: hot; governor ondemand, schedutil: its clocks follow the load\n"));
  EXPECT_THAT(text, HasSubstr("\n      by hand; throttled: undervoltage\n"));
}

TEST(StatusText, ColoursAreItsOwnAndNobodyElsesCommandsPass) {
  wire::FleetStatus status = full_status();
  status.devices.emplace_back().state = "\x1b[2Jbusy";
  const std::string plain = state_text(status);
  EXPECT_THAT(plain, HasSubstr("?[2J?31m caf\xc3\xa9")) << "nothing is cut, nothing commands the terminal";
  EXPECT_THAT(plain, testing::Not(HasSubstr("\x1b")));
  const std::string coloured = state_text(full_status(), {.colour = true, .width = 0});
  EXPECT_THAT(coloured, HasSubstr("\x1b[31mquarantined\x1b[0m"));
  EXPECT_THAT(coloured, testing::Not(HasSubstr("\x1b[2J")));
}

TEST(Json, TellsWhatASessionSaysOfAModel) {
  FakeFleet fleet({.started_unix_s = 1e9});
  const auto session = fleet.open(wire::Uuid::random());
  wire::Summary summary;
  summary.trials = 1;
  fleet.tracker->session_message(session, summary);
  summary.trials = 8;
  summary.best_gflops = 5;
  summary.model = wire::ModelSummary{0, 0, 3, 2, {}, 1e-3, 4e-3};
  fleet.clock.advance(1s);
  fleet.tracker->session_message(session, summary);
  summary.trials = 12;
  summary.model = wire::ModelSummary{2e-3, 5e-3, 3, 0, {{"dense(m=1)", 2, 1e-3, 2e-3, 8, "winograd4"}}};
  fleet.clock.advance(1s);
  fleet.tracker->session_message(session, summary);
  const wire::FleetStatus status = fleet.tracker->status();
  const Json one = Json::parse(session_detail_json(fleet.tracker->session_detail(status.sessions.at(0).id).value()));
  EXPECT_EQ(one["curve"], Json::parse("[[0.0, 1, 0.0], [1.0, 8, 5.0, 0.0, 0.25], [2.0, 12, 5.0, 0.002]]"))
      << "what an older tuner does not tell is not there";
  const Json& model = one["session"]["summary"]["model"];
  EXPECT_EQ(model["seconds"], 2e-3);
  EXPECT_EQ(model["default_seconds"], 5e-3);
  EXPECT_EQ(model["slowest"][0]["workload"], "dense(m=1)");
  EXPECT_EQ(model["slowest"][0]["count"], 2);
  EXPECT_EQ(model["slowest"][0]["config_name"], "winograd4");
  // The list of sessions has the sums alone.
  const Json listed = Json::parse(state_json(status))["sessions"][0]["summary"]["model"];
  EXPECT_EQ(listed["seconds"], 2e-3);
  EXPECT_EQ(listed["slowest"], Json::array());
}

TEST(Json, HasTheKeysOfTheContract) {
  FakeFleet fleet({.started_unix_s = 1e9});
  const auto agent = fleet.agent("a", 1);
  const wire::Uuid uuid = wire::Uuid::random();
  const auto session = fleet.open(uuid);
  fleet.submit(session, 1, 2);
  fleet.clock.advance(2s);
  fleet.finish(agent, fleet.leases(agent).at(0));
  wire::Summary summary;
  summary.trials = 1;
  summary.best_gflops = 5;
  fleet.tracker->session_message(session, summary);
  fleet.tracker->agent_message(agent, wire::Heartbeat{{}, {{"a/cpu", 50, {}, "", {}}}});

  const Json state = Json::parse(state_json(fleet.tracker->status()));
  EXPECT_THAT(keys(state),
              testing::IsSupersetOf({"version", "uptime_s", "now", "devices", "sessions", "results", "queue"}));
  EXPECT_EQ(keys(state["queue"]), (std::set<std::string>{"queued", "leased", "oldest_s"}));
  EXPECT_EQ(state["queue"]["oldest_s"], 2);
  const Json& device = state["devices"][0];
  EXPECT_THAT(keys(device), testing::IsSupersetOf({"key",           "agent",       "state",
                                                   "why",           "target",      "model",
                                                   "memory_bytes",  "versions",    "labels",
                                                   "missing",       "leased",      "done",
                                                   "failed",        "connected_s", "sentinel_seconds",
                                                   "temperature_c", "clock_mhz",   "governor",
                                                   "throttled",     "utilization", "jobs_per_minute"}));
  EXPECT_EQ(device["temperature_c"], 50);
  EXPECT_TRUE(device["clock_mhz"].is_null());
  const Json& one = state["sessions"][0];
  EXPECT_THAT(keys(one), testing::IsSupersetOf({"session", "owner", "host", "title", "device_key", "target_kind",
                                                "labels", "weight", "priority", "queued", "leased", "done", "oldest_s",
                                                "connected", "device_seconds", "share", "summary", "curve"}));
  EXPECT_EQ(one["curve"], (Json{{2.0, 1, 5.0}}));

  const Json detail = Json::parse(device_detail_json(fleet.tracker->device_detail("a/cpu").value()));
  EXPECT_THAT(keys(detail), testing::IsSupersetOf({"device", "history", "events", "by_status", "phases"}));
  EXPECT_THAT(keys(detail["history"][0]), testing::IsSupersetOf({"t", "done", "failed", "busy_s", "sentinel_seconds",
                                                                 "temperature_c", "clock_mhz"}));
  EXPECT_EQ(detail["history"][0]["done"], 1);
  EXPECT_EQ(keys(detail["phases"]),
            (std::set<std::string>{"queue", "transfer", "build", "check", "run", "reference", "idle"}));
  EXPECT_EQ(detail["by_status"]["ok"], 1);
  EXPECT_EQ(detail["events"][0]["what"], "the agent connected");

  const Json about = Json::parse(
      session_detail_json(fleet.tracker->session_detail(fleet.tracker->status().sessions.at(0).id).value()));
  EXPECT_EQ(keys(about), (std::set<std::string>{"session", "curve", "events"}));
  EXPECT_EQ(about["session"]["session"], fleet.tracker->status().sessions.at(0).id);
  EXPECT_FALSE(about["session"].contains("uuid"));
  EXPECT_EQ(Json::parse(session_detail_json(
                fleet.tracker->session_detail(uuid.text(), {.admin = true}).value()))["session"]["uuid"],
            uuid.text())
      << "who knows it may ask by it";
}

TEST(Json, SurvivesTextThatIsNoText) {
  wire::FleetStatus status = full_status();
  status.sessions[0].title = "bad \xff bytes";
  EXPECT_EQ(Json::parse(state_json(status))["sessions"][0]["title"], "bad \xef\xbf\xbd bytes");
}

TEST(Metrics, HaveABoundedNumberOfSessionsAndDevices) {
  wire::FleetStatus status;
  for (int i = 0; i < 100; ++i) {
    wire::SessionStatus& session = status.sessions.emplace_back();
    session.id = std::to_string(i);
    session.queued = 2;
    session.oldest_s = i;
  }
  for (int i = 0; i < 2000; ++i) {
    wire::DeviceStatus& device = status.devices.emplace_back();
    device.info.key = std::to_string(i);
    device.state = "probation";
    device.done = 1;
  }
  TrackerCounts counts;
  counts.phases[0].add(0.02);
  counts.phases[0].add(1000);
  counts.poisoned = 3;
  const std::string text = metrics_page(status, counts);
  EXPECT_THAT(text, HasSubstr("hone_queued_jobs{session=\"other\"} 72"));
  EXPECT_THAT(text, HasSubstr("hone_queue_oldest_seconds{session=\"other\"} 99"));
  EXPECT_THAT(text, HasSubstr("hone_device_jobs_total{device=\"other\"} 976"));
  EXPECT_THAT(text, HasSubstr("hone_devices{state=\"probation\"} 2000"));
  EXPECT_THAT(text, HasSubstr("hone_phase_seconds_bucket{phase=\"transfer\",le=\"0.03\"} 1"));
  EXPECT_THAT(text, HasSubstr("hone_phase_seconds_count{phase=\"transfer\"} 2"));
  EXPECT_THAT(text, HasSubstr("hone_phase_seconds_count{phase=\"reference\"} 0"));
  EXPECT_THAT(text, HasSubstr("hone_poison_jobs_total 3"));
  EXPECT_THAT(text, HasSubstr("process_resident_memory_bytes"));
}

}  // namespace
}  // namespace hone::tracker
