#include "rpc/wire/messages/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <google/protobuf/stubs/logging.h>

#include <functional>
#include <limits>
#include <random>

#include "measure.pb.h"
#include "tests/fakes/hash_collision.h"
#include "tracker.pb.h"

namespace hone::wire {
namespace {

Job sample_job() {
  Job job;
  job.seq = 7;
  job.modules = {blob_id("a"), blob_id("b")};
  job.profile.best_seconds = 1e-3;
  job.profile.threads = 2;
  job.profile.flush_cache = true;
  job.profile.cold_constants = true;
  job.profile.cold_bytes = uint64_t{1} << 40;
  Reference reference;
  reference.module_hash = blob_id("r");
  reference.seed = 5;
  reference.samples = {{0, 3, 1LL << 40}, {}};
  job.reference = reference;
  return job;
}

JobResult sample_result(const Uuid& session) {
  JobResult result;
  result.session = session;
  result.seq = 7;
  CandidateResult good, bad;
  good.times = {1e-3, 2e-3};
  good.rel_error = 1e-7;
  bad.status = ResultStatus::kBuildTimeout;
  bad.message = "build: 10 s passed";
  result.candidates = {good, bad};
  result.phases = {1, 2, 3, 4, 5, 6, 7};
  result.device = "board/cpu";
  result.sentinel_before = 1e-4;
  result.attempts = 2;
  result.drifted = true;
  result.remeasured = 3;
  result.machine = MachineState{"ondemand", -3.5, 61.5, 600, {}, "thermal"};
  return result;
}

TEST(Convert, JobsRoundTrip) {
  proto::Job wire;
  to_wire(sample_job(), &wire);
  const auto back = from_wire(wire);
  ASSERT_TRUE(back.ok()) << message_of(back.status());
  EXPECT_EQ(*back, sample_job());
}

TEST(Convert, FakeJobsRoundTrip) {
  Job job;
  job.seq = 1;
  job.fake = FakePayload{0.5, ResultStatus::kRunFailed, std::string("\0\xff", 2)};
  proto::Job wire;
  to_wire(job, &wire);
  EXPECT_EQ(from_wire(wire).value(), job);
}

Job sample_build() {
  Job job;
  job.seq = 3;
  job.modules = {blob_id("a")};
  job.build = BuildPayload{"llvm -mcpu=cortex-a72", "llvm-19 x", std::string(kNonceBytes, '\xff'), blob_id("s")};
  return job;
}

TEST(Convert, BuildsRoundTrip) {
  proto::Job wire;
  to_wire(sample_build(), &wire);
  EXPECT_EQ(from_wire(wire).value(), sample_build());
  JobResult result = sample_result(Uuid::random());
  result.built = SignedObject{std::string("\0\x7f", 2), "info", 5, std::string(kSignatureBytes, 's')};
  proto::JobResult wire_result;
  to_wire(result, &wire_result);
  EXPECT_EQ(from_wire(wire_result).value(), result);
}

TEST(Convert, BuildsAreOfOneModuleAndOfTheSizesThatTheyHave) {
  const auto refused = [](const std::function<void(proto::Job&)>& change) {
    proto::Job wire;
    to_wire(sample_build(), &wire);
    change(wire);
    return message_of(from_wire(wire).status());
  };
  EXPECT_THAT(refused([](proto::Job& j) { j.mutable_modules()->add_module_hash(blob_id("b").bytes()); }),
              testing::HasSubstr("one module"));
  EXPECT_THAT(refused([](proto::Job& j) { j.mutable_fake()->set_status(1); }), testing::HasSubstr("one module"));
  EXPECT_THAT(refused([](proto::Job& j) { j.mutable_reference()->set_module_hash(blob_id("b").bytes()); }),
              testing::HasSubstr("one module"));
  EXPECT_THAT(refused([](proto::Job& j) { j.mutable_build()->set_nonce("short"); }), testing::HasSubstr("nonce"));
  EXPECT_THAT(refused([](proto::Job& j) { j.mutable_build()->set_scope(""); }), testing::HasSubstr("scope"));
  EXPECT_THAT(refused([](proto::Job& j) { j.mutable_build()->set_target("a\nb"); }), testing::HasSubstr("target"));
  EXPECT_THAT(refused([](proto::Job& j) { j.mutable_build()->set_target("llvm -threads=2 -threads=4"); }),
              testing::HasSubstr("job.build.target: target: flag '-threads' is given twice"));
  JobResult result = sample_result(Uuid::random());
  result.built = SignedObject{std::string(kMaxObjectBytes + 1, 'x'), "", 5, std::string(kSignatureBytes, 's')};
  proto::JobResult wire;
  to_wire(result, &wire);
  EXPECT_THAT(message_of(from_wire(wire).status()), testing::HasSubstr("built.object"));
  wire.mutable_built()->set_object("x");
  wire.mutable_built()->set_signature("");
  EXPECT_THAT(message_of(from_wire(wire).status()), testing::HasSubstr("signature"));
}

TEST(Convert, AProfileOfZeroesIsTheDefault) {
  proto::Job wire;
  wire.mutable_modules()->add_module_hash(blob_id("a").bytes());
  EXPECT_EQ(from_wire(wire).value().profile, MeasureProfile());
}

TEST(Convert, ResultsRoundTrip) {
  const JobResult result = sample_result(Uuid::random());
  proto::JobResult wire;
  to_wire(result, &wire);
  EXPECT_EQ(from_wire(wire).value(), result);
}

// A message from before machines were reported, read by this version.
TEST(Convert, ResultsOfOlderAgentsSayNothingOfTheirMachine) {
  JobResult result = sample_result(Uuid::random());
  result.machine.reset();
  proto::JobResult wire;
  to_wire(result, &wire);
  EXPECT_FALSE(wire.has_machine());
  const std::string old = wire.SerializeAsString();
  ASSERT_TRUE(wire.ParseFromString(old));
  EXPECT_EQ(from_wire(wire).value(), result);
  // And the other way round: fields of a later version are skipped.
  ASSERT_TRUE(wire.ParseFromString(old + std::string("\xfa\x3e\x03zzz", 6)));  // field 1007, 3 bytes
  EXPECT_EQ(wire.ByteSizeLong(), old.size() + 6);
  EXPECT_EQ(from_wire(wire).value(), result);
}

// The bytes of the field: numbers and types must not change, since other versions read them.
TEST(Convert, TheBytesOfAMachinesState) {
  proto::JobResult wire;
  to_wire(sample_result(Uuid()), &wire);
  EXPECT_EQ(wire.machine().SerializeAsString(), std::string("\x0a\x08ondemand"
                                                            "\x11\0\0\0\0\0\0\x0c\xc0"
                                                            "\x19\0\0\0\0\0\xc0\x4e\x40"
                                                            "\x21\0\0\0\0\0\xc0\x82\x40"
                                                            "\x32\x07thermal",
                                                            10 + 27 + 9));
  EXPECT_NE(wire.SerializeAsString().find(std::string("\x62\x2e", 2)), std::string::npos) << "field 12, 46 bytes";
}

TEST(Convert, ImpossibleReadingsOfAMachineAreLeftOutBySendersAndRefusedOfOthers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  JobResult result = sample_result(Uuid::random());
  result.machine = MachineState{"on\x1b[2Jdemand", nan, 1e9, -1, 2000, "hot"};
  proto::JobResult wire;
  to_wire(result, &wire);
  const auto back = from_wire(wire);
  ASSERT_TRUE(back.ok()) << message_of(back.status());
  EXPECT_EQ(back->machine, (MachineState{"on [2Jdemand", {}, {}, {}, 2000, "hot"}));
  const auto refused = [&](const auto& spoil) {
    proto::JobResult bad = wire;
    spoil(*bad.mutable_machine());
    return !from_wire(bad).ok();
  };
  EXPECT_TRUE(refused([&](proto::MachineState& m) { m.set_temperature_after_c(nan); }));
  EXPECT_TRUE(refused([](proto::MachineState& m) { m.set_clock_before_mhz(-1); }));
  EXPECT_TRUE(refused([](proto::MachineState& m) { m.set_governor("two\nlines"); }));
  EXPECT_TRUE(refused([](proto::MachineState& m) { m.set_throttled(std::string(300, 'x')); }));
  EXPECT_FALSE(refused([](proto::MachineState& m) { m.set_temperature_before_c(-40); }));
}

// A wrong candidate's error may be NaN and its message anything; neither may cost the stream.
TEST(Convert, WhatCannotCrossTheWireIsMadeHarmless) {
  JobResult result = sample_result(Uuid::random());
  result.candidates[1].rel_error = std::numeric_limits<double>::quiet_NaN();
  result.candidates[1].max_error = std::numeric_limits<double>::infinity();
  result.candidates[1].message = "two\nlines \xff and caf\xc3\xa9";
  result.candidates[0].times = {std::numeric_limits<double>::quiet_NaN()};
  proto::JobResult wire;
  to_wire(result, &wire);
  std::string bytes;
  ASSERT_TRUE(wire.SerializeToString(&bytes));
  ASSERT_TRUE(wire.ParseFromString(bytes));
  const auto back = from_wire(wire);
  ASSERT_TRUE(back.ok()) << message_of(back.status());
  EXPECT_GT(back->candidates[1].rel_error, 1e100);
  EXPECT_GT(back->candidates[1].max_error, 1e100);
  EXPECT_EQ(back->candidates[1].message, "two lines ? and caf\xc3\xa9");
  EXPECT_EQ(back->candidates[0].status, ResultStatus::kRunFailed) << "ok without a time is not ok";
}

TEST(Convert, CleanLineKeepsWholeCharactersWithinItsLimit) {
  EXPECT_EQ(clean_line("abc", 2), "ab");
  EXPECT_EQ(clean_line("a\xc3\xa9", 2), "a");
  EXPECT_EQ(clean_line("\xed\xa0\x80", 10), "???") << "a surrogate";
  EXPECT_EQ(clean_line("\xc0\xaf", 10), "??") << "an overlong form";
  EXPECT_EQ(clean_line("\xf0\x9f\x98\x80", 10), "\xf0\x9f\x98\x80");
}

template <class Change>
void expect_job_refused(const std::string& field, Change change) {
  proto::Job wire;
  to_wire(sample_job(), &wire);
  change(wire);
  const auto job = from_wire(wire);
  ASSERT_FALSE(job.ok()) << field;
  EXPECT_NE(message_of(job.status()).find(field), std::string::npos) << message_of(job.status());
}

TEST(Convert, MalformedJobsAreRefusedByField) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_job_refused("job.payload", [](proto::Job& j) { j.clear_payload(); });
  expect_job_refused("job.modules", [](proto::Job& j) { j.mutable_modules()->clear_module_hash(); });
  expect_job_refused("job.modules", [](proto::Job& j) { j.mutable_modules()->set_module_hash(0, "short"); });
  expect_job_refused("job.modules", [](proto::Job& j) {
    for (int i = 0; i < 100; ++i) j.mutable_modules()->add_module_hash(std::string(16, 'x'));
  });
  expect_job_refused("job.fake.run_seconds", [](proto::Job& j) { j.mutable_fake()->set_run_seconds(-1); });
  expect_job_refused("status", [](proto::Job& j) { j.mutable_fake()->set_status(77); });
  expect_job_refused("profile.min_repeat_ms", [&](proto::Job& j) { j.mutable_profile()->set_min_repeat_ms(nan); });
  expect_job_refused("profile.repeats", [](proto::Job& j) { j.mutable_profile()->set_repeats(4'000'000'000u); });
  expect_job_refused("profile.run_timeout_s", [](proto::Job& j) { j.mutable_profile()->set_run_timeout_s(1e9); });
  expect_job_refused("reference.samples",
                     [](proto::Job& j) { j.mutable_reference()->mutable_samples(0)->set_indices(0, -1); });
  expect_job_refused("reference.module_hash", [](proto::Job& j) { j.mutable_reference()->clear_module_hash(); });
}

template <class Change>
void expect_result_refused(const std::string& field, Change change) {
  proto::JobResult wire;
  to_wire(sample_result(Uuid::random()), &wire);
  change(wire);
  const auto result = from_wire(wire);
  ASSERT_FALSE(result.ok()) << field;
  EXPECT_NE(message_of(result.status()).find(field), std::string::npos) << message_of(result.status());
}

TEST(Convert, MalformedResultsAreRefusedByField) {
  expect_result_refused("result.session", [](proto::JobResult& r) { r.clear_session(); });
  expect_result_refused("result.candidates", [](proto::JobResult& r) { r.clear_candidates(); });
  expect_result_refused("status", [](proto::JobResult& r) { r.mutable_candidates(0)->clear_status(); });
  expect_result_refused(
      "status", [](proto::JobResult& r) { r.mutable_candidates(0)->set_status(static_cast<proto::ResultStatus>(11)); });
  expect_result_refused("times", [](proto::JobResult& r) { r.mutable_candidates(0)->set_times(0, -1); });
  expect_result_refused("times", [](proto::JobResult& r) { r.mutable_candidates(0)->clear_times(); });
  expect_result_refused("result.phases", [](proto::JobResult& r) { r.mutable_phases()->set_run(-1); });
  expect_result_refused("result.phases", [](proto::JobResult& r) { r.mutable_phases()->set_idle(-1); });
  expect_result_refused("message",
                        [](proto::JobResult& r) { r.mutable_candidates(1)->set_message(std::string(5000, 'x')); });
}

TEST(Convert, ABlobMustHaveItsHash) {
  proto::SessionToTracker wire;
  to_wire(FromSession(Blobs{{{blob_id("data"), "data"}}, {blob_id("x")}}), &wire);
  auto good = from_wire(proto::SessionToTracker(wire));
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(std::get<Blobs>(*good).blobs.at(0).data, "data");
  EXPECT_EQ(std::get<Blobs>(*good).missing.at(0), blob_id("x"));
  wire.mutable_blobs()->mutable_blobs(0)->set_data("forged");
  EXPECT_FALSE(from_wire(std::move(wire)).ok());
}

// Sessions that do not trust each other share the blob of one id.
TEST(Convert, ABlobsIdCannotBeForged) {
  const std::string mine = colliding(std::string(3000, 'm'), 1), theirs = colliding(std::string(3000, 'm'), 2);
  ASSERT_EQ(hash_bytes(mine), hash_bytes(theirs));
  for (const Hash128 id : {blob_id(mine), hash_bytes(mine)}) {
    proto::SessionToTracker wire;
    to_wire(FromSession(Blobs{{{id, theirs}}, {}}), &wire);
    const auto refused = from_wire(std::move(wire));
    ASSERT_FALSE(refused.ok()) << id.hex();
    EXPECT_EQ(message_of(refused.status()), "malformed message: blob.data: its hash is not the one that was announced");
  }
}

TEST(Convert, AResultMustBeOfTheJobItsLeaseNames) {
  const Uuid session = Uuid::random();
  proto::AgentToTracker wire;
  to_wire(FromAgent(AgentResults{{sample_result(session)}, {LeaseId{session, 7, 1}}}), &wire);
  EXPECT_TRUE(from_wire(proto::AgentToTracker(wire)).ok());
  wire.mutable_results()->mutable_leases(0)->set_seq(8);
  EXPECT_FALSE(from_wire(proto::AgentToTracker(wire)).ok());
  wire.mutable_results()->clear_leases();
  EXPECT_FALSE(from_wire(std::move(wire)).ok());
}

TEST(Convert, StreamMessagesRoundTrip) {
  const Uuid session = Uuid::random(), instance = Uuid::random();
  DeviceInfo device;
  device.key = "board/cpu";
  device.target = "llvm -mcpu=znver5";
  device.labels = {{"room", "lab"}};
  device.missing = {"seccomp"};
  device.features = {"avx2", "avx512f"};
  device.compute_capability = "9.0";
  proto::AgentToTracker hello_wire;
  to_wire(FromAgent(AgentHello{
              kProtocolVersion, "board", instance, {device}, {{session, 1, 2}}, 3, {"board/cpu"}, {"board/gpu"}}),
          &hello_wire);
  const auto hello = std::get<AgentHello>(from_wire(std::move(hello_wire)).value());
  EXPECT_EQ(hello.name, "board");
  EXPECT_EQ(hello.instance, instance);
  EXPECT_EQ(hello.devices, std::vector{device});
  EXPECT_EQ(hello.held, (std::vector{LeaseId{session, 1, 2}}));
  EXPECT_EQ(hello.unacked_results, 3u);
  EXPECT_EQ(hello.drained, std::vector<std::string>{"board/gpu"});

  proto::TrackerToAgent drained_wire;
  to_wire(ToAgent(Drained{{"board/cpu", "board/gpu"}}), &drained_wire);
  EXPECT_EQ(std::get<Drained>(from_wire(std::move(drained_wire)).value()).devices,
            (std::vector<std::string>{"board/cpu", "board/gpu"}));
  proto::TrackerToAgent nothing_drained;
  to_wire(ToAgent(Drained{}), &nothing_drained);
  EXPECT_TRUE(std::get<Drained>(from_wire(std::move(nothing_drained)).value()).devices.empty());

  proto::TrackerToAgent leases_wire;
  to_wire(ToAgent(Leases{{Lease{{session, 7, 3}, "board/cpu", sample_job()}}}), &leases_wire);
  const auto leases = std::get<Leases>(from_wire(std::move(leases_wire)).value());
  ASSERT_EQ(leases.leases.size(), 1u);
  EXPECT_EQ(leases.leases[0], (Lease{{session, 7, 3}, "board/cpu", sample_job()}));

  SessionOpen open;
  open.session = session;
  open.title = "conv2d(…)";
  open.target_kind = "llvm";
  open.device_key = "room=lab";
  open.weight = 2;
  open.priority = -1;
  open.labels = {"room=lab", "soc=bcm2711"};
  proto::SessionToTracker open_wire;
  to_wire(FromSession(open), &open_wire);
  EXPECT_EQ(std::get<SessionOpen>(from_wire(std::move(open_wire)).value()), open);

  proto::TrackerToSession opened_wire;
  to_wire(ToSession(SessionOpened{256, {device}, {1, 2, 3}}), &opened_wire);
  const auto opened = std::get<SessionOpened>(from_wire(std::move(opened_wire)).value());
  EXPECT_EQ(opened.window, 256u);
  EXPECT_EQ(opened.known, (std::vector<uint64_t>{1, 2, 3}));

  EXPECT_FALSE(from_wire(proto::AgentToTracker()).ok()) << "an empty message";
}

DeviceHealth sample_health() { return {"board/cpu", 61.5, 1800, "undervoltage", 0.25, "ondemand"}; }

TEST(Convert, HealthTravelsWithHeartbeats) {
  proto::AgentToTracker wire;
  to_wire(FromAgent(Heartbeat{{{Uuid::random(), 1, 2}}, {sample_health(), {"board/cuda0", {}, {}, "", {}}}}), &wire);
  const auto beat = std::get<Heartbeat>(from_wire(std::move(wire)).value());
  ASSERT_EQ(beat.health.size(), 2u);
  EXPECT_EQ(beat.health[0], sample_health());
  EXPECT_FALSE(beat.health[1].temperature_c) << "absent is not zero degrees";
}

TEST(Convert, ReadingsThatCannotBeAreLeftOutBySendersAndRefusedOfOthers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  proto::AgentToTracker wire;
  to_wire(FromAgent(Heartbeat{{}, {{"board/cpu", nan, -5, "", 7}}}), &wire);
  auto beat = from_wire(proto::AgentToTracker(wire));
  ASSERT_TRUE(beat.ok()) << message_of(beat.status());
  EXPECT_EQ(std::get<Heartbeat>(*beat).health[0], (DeviceHealth{"board/cpu", {}, {}, "", 1}));
  proto::DeviceHealth& health = *wire.mutable_heartbeat()->mutable_health(0);
  health.set_temperature_c(nan);
  EXPECT_FALSE(from_wire(proto::AgentToTracker(wire)).ok());
  health.set_temperature_c(-40);
  EXPECT_TRUE(from_wire(proto::AgentToTracker(wire)).ok());
  for (int i = 0; i < 300; ++i) wire.mutable_heartbeat()->add_health();
  EXPECT_FALSE(from_wire(std::move(wire)).ok()) << "more readings than an agent has devices";
}

TEST(Convert, LabelsOfASessionAreKeysWithValues) {
  proto::SessionToTracker wire;
  wire.mutable_open()->set_session(Uuid::random().bytes());
  wire.mutable_open()->add_labels("room");
  const auto open = from_wire(std::move(wire));
  ASSERT_FALSE(open.ok());
  EXPECT_NE(message_of(open.status()).find("open.labels: expected k=v, not 'room'"), std::string::npos)
      << message_of(open.status());
}

// Such text could look like another text where texts are joined, and control the terminal that shows it.
TEST(Convert, ControlCharactersAreSentByNobodyAndRefusedOfOthers) {
  for (const char* odd : {"two\nlines", "\x1b[2J", "\x7f", "\xc2\x9b[2J"}) {
    EXPECT_EQ(clean_line(odd, 100).find_first_of("\n\x1b\x7f\x9b"), std::string::npos) << odd;
    SessionOpen spec;
    spec.session = Uuid::random();
    spec.title = spec.device_key = odd;
    spec.labels = {std::string("k=") + odd};
    proto::SessionToTracker sent, open;
    to_wire(FromSession(spec), &sent);
    EXPECT_TRUE(from_wire(std::move(sent)).ok()) << odd;
    open.mutable_open()->set_session(spec.session.bytes());
    open.mutable_open()->set_device_key(odd);
    const auto refused = from_wire(std::move(open));
    ASSERT_FALSE(refused.ok()) << odd;
    EXPECT_EQ(message_of(refused.status()), "malformed message: open.device_key: control characters are not allowed");
  }
}

TEST(Convert, ASummaryIsBoundedInAllItsParts) {
  proto::SessionToTracker wire;
  (*wire.mutable_summary()->mutable_by_status())["ok"] = 3;
  EXPECT_TRUE(from_wire(proto::SessionToTracker(wire)).ok());
  (*wire.mutable_summary()->mutable_by_status())[std::string(1 << 20, 'x')] = 1;
  EXPECT_FALSE(from_wire(std::move(wire)).ok());
}

TEST(Convert, AModelsSummaryRoundTripsWithinItsBounds) {
  Summary in;
  in.model = ModelSummary{
      1.5e-3, 3e-3, 40, 2, {{"dense(m=1)", 3, 1e-4, 2e-4, 64}, {"conv2d(n=1)", 1, 5e-5, 0, 8, "winograd4"}},
      1e-3,   2e-3};
  in.best_config_name = "winograd4";
  proto::SessionToTracker wire;
  to_wire(FromSession(in), &wire);
  EXPECT_EQ(std::get<Summary>(from_wire(proto::SessionToTracker(wire)).value()), in);
  const auto is_refused = [&](const auto& change) {
    proto::SessionToTracker changed = wire;
    change(*changed.mutable_summary()->mutable_model());
    return !from_wire(std::move(changed)).ok();
  };
  EXPECT_FALSE(is_refused([](proto::ModelSummary&) {}));
  EXPECT_TRUE(is_refused([](proto::ModelSummary& m) { m.set_seconds(std::nan("")); }));
  EXPECT_TRUE(is_refused([](proto::ModelSummary& m) { m.set_measured_seconds(-1); }));
  EXPECT_TRUE(is_refused([](proto::ModelSummary& m) { m.mutable_slowest(0)->set_seconds(-1); }));
  EXPECT_TRUE(
      is_refused([](proto::ModelSummary& m) { m.mutable_slowest(0)->set_config_name(std::string(1 << 20, 'x')); }));
  EXPECT_TRUE(
      is_refused([](proto::ModelSummary& m) { m.mutable_slowest(0)->set_workload(std::string(1 << 20, 'x')); }));
  EXPECT_TRUE(is_refused([](proto::ModelSummary& m) {
    while (m.slowest_size() <= static_cast<int>(ModelSummary::kMaxTasks)) m.add_slowest();
  }));
  // Only the first ones of too many are sent.
  in.model->slowest.resize(ModelSummary::kMaxTasks + 5);
  proto::SessionToTracker longer;
  to_wire(FromSession(in), &longer);
  EXPECT_EQ(longer.summary().model().slowest_size(), static_cast<int>(ModelSummary::kMaxTasks));
}

TEST(Convert, TheFleetsStatusRoundTrips) {
  FleetStatus fleet;
  DeviceStatus& device = fleet.devices.emplace_back();
  device.info.key = "board/cpu";
  device.info.target = "llvm";
  device.state = "probation";
  device.why = "3 jobs in a row failed";
  device.health = sample_health();
  device.utilization = 0.5;
  device.jobs_per_minute = 120;
  device.lost_s = 77;
  SessionStatus& session = fleet.sessions.emplace_back();
  session.session = Uuid::random();
  session.device_key = "board";
  session.target_kind = "llvm";
  session.target = "llvm -mcpu=znver5";
  session.labels = {"room=lab"};
  session.priority = -3;
  session.device_seconds = 12.5;
  session.share = 0.25;
  session.poisoned = 2;
  session.owner = "tuner ann";
  session.host = "192.0.2.7";
  session.curve = {{1, 8, 10}, {2.5, 64, 40, 1e-3}};
  fleet.queued = 5, fleet.leased = 6, fleet.oldest_s = 7, fleet.now = 1e9;
  proto::StatusReply wire;
  to_wire(fleet, &wire);
  const FleetStatus back = from_wire(wire).value();
  EXPECT_EQ(back.devices[0].state, device.state);
  EXPECT_EQ(back.devices[0].why, device.why);
  EXPECT_EQ(back.devices[0].health, device.health);
  EXPECT_EQ(back.devices[0].utilization, 0.5);
  EXPECT_EQ(back.devices[0].jobs_per_minute, 120);
  EXPECT_EQ(back.devices[0].lost_s, 77);
  EXPECT_EQ(back.sessions[0].device_key, "board");
  EXPECT_EQ(back.sessions[0].target_kind, "llvm");
  EXPECT_EQ(back.sessions[0].target, session.target);
  EXPECT_EQ(back.sessions[0].labels, session.labels);
  EXPECT_EQ(back.sessions[0].priority, -3);
  EXPECT_EQ(back.sessions[0].device_seconds, 12.5);
  EXPECT_EQ(back.sessions[0].share, 0.25);
  EXPECT_EQ(back.sessions[0].poisoned, 2u);
  EXPECT_EQ(back.sessions[0].owner, "tuner ann");
  EXPECT_EQ(back.sessions[0].host, "192.0.2.7");
  EXPECT_EQ(back.sessions[0].curve, session.curve);
  EXPECT_EQ(back.queued, 5u);
  EXPECT_EQ(back.leased, 6u);
  EXPECT_EQ(back.oldest_s, 7);
  EXPECT_EQ(back.now, 1e9);
}

template <class Change>
void expect_status_refused(const std::string& field, Change change) {
  FleetStatus fleet;
  fleet.devices.emplace_back().info = {.key = "board/cpu", .target = "llvm"};
  fleet.sessions.emplace_back().session = Uuid::random();
  fleet.results["ok"] = 1;
  proto::StatusReply wire;
  to_wire(fleet, &wire);
  ASSERT_TRUE(from_wire(wire).ok());
  change(wire);
  const auto status = from_wire(wire);
  ASSERT_FALSE(status.ok()) << field;
  EXPECT_NE(message_of(status.status()).find(field), std::string::npos) << message_of(status.status());
}

// `tracker status` may ask a program that only poses as a tracker.
TEST(Convert, AMalformedStatusIsRefusedByField) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_status_refused("status.version", [](proto::StatusReply& s) { s.set_version("\x1b[2J"); });
  expect_status_refused("status.results", [](proto::StatusReply& s) { (*s.mutable_results())["\x1b[2J"] = 1; });
  expect_status_refused("status", [&](proto::StatusReply& s) { s.set_uptime_s(nan); });
  expect_status_refused("device.state", [](proto::StatusReply& s) { s.mutable_devices(0)->set_state("\x1b[2J"); });
  expect_status_refused("device.why",
                        [](proto::StatusReply& s) { s.mutable_devices(0)->set_why(std::string(5000, 'x')); });
  expect_status_refused("device", [&](proto::StatusReply& s) { s.mutable_devices(0)->set_utilization(nan); });
  expect_status_refused("session", [](proto::StatusReply& s) { s.mutable_sessions(0)->set_title("two\nlines"); });
  expect_status_refused("session.labels", [](proto::StatusReply& s) { s.mutable_sessions(0)->add_labels("\x7f"); });
  expect_status_refused("session", [&](proto::StatusReply& s) { s.mutable_sessions(0)->set_share(-1); });
  expect_status_refused("session.curve",
                        [&](proto::StatusReply& s) { s.mutable_sessions(0)->add_curve()->set_best_gflops(nan); });
}

// Mutates `seed_message` and converts the results that still parse.
void expect_survives(const proto::AgentToTracker& seed_message) {
  const google::protobuf::LogSilencer silence;  // it names each field that is not UTF-8
  std::mt19937_64 random(11);
  const std::string seed = seed_message.SerializeAsString();
  int parsed = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = seed;
    for (int flips = 0; flips < 3; ++flips) bytes[random() % bytes.size()] = static_cast<char>(random());
    proto::AgentToTracker message;
    if (!message.ParseFromString(bytes)) continue;
    ++parsed;
    (void)from_wire(std::move(message)).ok();
  }
  EXPECT_GT(parsed, 100);
}

TEST(Convert, RandomBytesNeverCrash) {
  proto::AgentToTracker results, beat;
  to_wire(FromAgent(AgentResults{{sample_result(Uuid::random())}, {LeaseId{Uuid::random(), 7, 1}}}), &results);
  to_wire(FromAgent(Heartbeat{{{Uuid::random(), 1, 2}}, {sample_health()}}), &beat);
  expect_survives(results);
  expect_survives(beat);
}

}  // namespace
}  // namespace hone::wire
