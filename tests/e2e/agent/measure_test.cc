// Modules through the real builder and the real runner.
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>

#include "base/host_lock.h"
#include "base/sanitizer.h"
#include "tests/e2e/agent/agent_fixture.h"

namespace hone::agent {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::SizeIs;
using ::testing::StartsWith;

using MeasureTest = AgentTest;

TEST_F(MeasureTest, OffersThisMachine) {
  EXPECT_THAT(info_.target, StartsWith("llvm -mtriple="));
  EXPECT_THAT(info_.version, HasSubstr("llvm-19"));
}

TEST_F(MeasureTest, TimesARightCandidate) {
  const auto file = built(add_module());
  const wire::CandidateResult r = run(file->module);
  EXPECT_EQ(r.status, ResultStatus::kOk) << r.message;
  EXPECT_THAT(r.times, SizeIs(AllOf(Ge(3), Le(7))));  // more where they disagree
  EXPECT_THAT(r.times, Each(Gt(0)));
  EXPECT_FALSE(r.censored);
  EXPECT_LT(r.rel_error, 1e-6);
}

TEST_F(MeasureTest, PacksAndUnpacksLayouts) {
  // 63 blocks of 16: eight elements of padding.
  const auto file = built(add_module({.layout = Layout{{{0, 16, 63}, {0, 1, 16}}}}));
  const wire::CandidateResult r = run(file->module);
  EXPECT_EQ(r.status, ResultStatus::kOk) << r.message;
}

TEST_F(MeasureTest, ComparesSamplesAndIntegers) {
  const auto file = built(add_module({.wrong_tail = 3, .dtype = i32})), reference = built(add_reference(2, i32));
  RunRequest r = request({file->module});
  r.reference = ReferenceRequest{reference->module, Hash128{2, 2}, {{0, 500}}, 30};
  EXPECT_EQ(run_all(r).candidates[0].status, ResultStatus::kOk);  // the wrong element is not among the samples
  r.reference->samples = {{0, kElements - 1}};
  r.reference->key = {2, 3};
  const wire::CandidateResult wrong = run_all(r).candidates[0];
  EXPECT_EQ(wrong.status, ResultStatus::kWrongResult);
  EXPECT_THAT(wrong.message, HasSubstr("output element 999 is"));
}

TEST_F(MeasureTest, ComparesEveryOutput) {
  const auto right = built(with_difference(add_module(), 0)), wrong = built(with_difference(add_module(), 1e-3)),
             reference = built(difference_reference()), one = built(add_module());
  RunRequest r = request({right->module, wrong->module, one->module});
  r.reference = ReferenceRequest{reference->module, Hash128{2, 4}, {{}, {0, 999}}, 30};
  const RunReply reply = run_all(r);
  EXPECT_EQ(reply.candidates[0].status, ResultStatus::kOk) << reply.candidates[0].message;
  EXPECT_EQ(reply.candidates[1].status, ResultStatus::kWrongResult);
  EXPECT_THAT(reply.candidates[1].message, StartsWith("'D': output element 999 is"));
  EXPECT_EQ(reply.candidates[2].status, ResultStatus::kRejected);
  EXPECT_THAT(reply.candidates[2].message, HasSubstr("has 3 parameters, its reference 2 inputs and 2 outputs"));
  // Two outputs where the reference has one.
  r = request({right->module});
  EXPECT_EQ(run_all(r).candidates[0].status, ResultStatus::kRejected);
}

TEST_F(MeasureTest, FindsTheWrongElementInTheTail) {
  const wire::CandidateResult r = run(built(add_module({.wrong_tail = 1e-3}))->module);
  EXPECT_EQ(r.status, ResultStatus::kWrongResult);
  EXPECT_THAT(r.message, HasSubstr("output element 999 is"));
  EXPECT_THAT(r.times, SizeIs(0));
}

TEST_F(MeasureTest, InterleavesSeveralCandidates) {
  const auto good = built(add_module()), slow = built(add_module({.repeats = 50})),
             wrong = built(add_module({.wrong_tail = 1}));
  RunRequest r = request({good->module, wrong->module, slow->module});
  r.profile.repeats = 7;
  r.profile.best_seconds = 1e-9;  // nothing is censored in turn
  const RunReply reply = run_all(r);
  EXPECT_EQ(reply.candidates[0].status, ResultStatus::kOk) << reply.candidates[0].message;
  EXPECT_EQ(reply.candidates[1].status, ResultStatus::kWrongResult);
  EXPECT_EQ(reply.candidates[2].status, ResultStatus::kOk) << reply.candidates[2].message;
  // Half of them where the machine is too busy for more.
  EXPECT_THAT(reply.candidates[0].times, SizeIs(AllOf(Ge(4), Le(7))));
  EXPECT_THAT(reply.candidates[2].times, SizeIs(AllOf(Ge(4), Le(7))));
}

TEST_F(MeasureTest, CensorsTheClearlySlower) {
  const auto file = built(add_module());
  RunRequest r = request({file->module});
  r.profile.best_seconds = 1e-9;
  const wire::CandidateResult c = run_all(r).candidates[0];
  EXPECT_EQ(c.status, ResultStatus::kOk);
  EXPECT_TRUE(c.censored);
  EXPECT_THAT(c.times, SizeIs(1));
}

TEST_F(MeasureTest, ComputesTheReferenceOnce) {
  const auto file = built(add_module());
  EXPECT_GT(run_all(request({file->module})).reference_seconds, 0);
  EXPECT_EQ(run_all(request({file->module})).reference_seconds, 0);
}

TEST_F(MeasureTest, EndlessLoopTimesOut) {
  const auto file = built(add_module({.repeats = int64_t{1} << 40}));
  RunRequest r = request({file->module});
  r.profile.run_timeout_s = 0.2;
  const wire::CandidateResult c = run_all(r).candidates[0];
  EXPECT_EQ(c.status, ResultStatus::kRunTimeout);
  EXPECT_THAT(c.message, HasSubstr("still running after 0.2 s"));
  EXPECT_EQ(run(built(add_module())->module).status, ResultStatus::kOk);
}

TEST_F(MeasureTest, AccessOutOfBoundsIsRejected) {
  const BuildOutcome load = build(add_module({.wild_load_scale = 1 << 20})),
                     store = build(add_module({.store_offset = 1 << 20}));
  for (const BuildOutcome& out : {load, store}) {
    // Either the verifier proves it wrong or the kernel's own check stops it.
    if (out.status == ResultStatus::kRejected) continue;
    ASSERT_EQ(out.status, ResultStatus::kOk) << out.message;
    EXPECT_EQ(run(out.file->module).status, ResultStatus::kRejected);
  }
}

TEST_F(MeasureTest, GarbageIsRejected) {
  const BuildOutcome out = build_bytes("this is no module");
  EXPECT_EQ(out.status, ResultStatus::kRejected);
  EXPECT_FALSE(out.message.empty());
}

// C = A + (2 P - N) with P = f64(B) and N = `factor` B, both packed ahead.
Module packed_add_module(double factor) {
  Module m = add_module();
  m.params[1].role = ParamRole::kConstant;
  const std::vector<int64_t> shape = {kElements};
  const Buffer a = make_buffer("A", f32, shape), wide = make_buffer("P", f64, shape),
               more = make_buffer("N", f32, shape), c = make_buffer("C", f32, shape),
               plain = make_buffer("B", f32, shape);
  const auto each = [](const std::function<Stmt(const Expr&)>& body) {
    const Var i("i");
    return make_for(i, make_int(0), make_int(kElements), LoopKind::kSerial, body(i));
  };
  m.kernels = {{"add", {a, wide, more, c}, {}, each([&](const Expr& i) {
                  return make_store(c, {i},
                                    load(a, {i}) + (cast(f32, load(wide, {i})) * make_float(2) - load(more, {i})));
                })}};
  const Stmt fill_wide = each([&](const Expr&i) { return make_store(wide, {i}, cast(f64, load(plain, {i}))); }),
             fill_more =
                 each([&](const Expr&i) { return make_store(more, {i}, load(plain, {i}) * make_float(factor)); });
  m.prepacks = {{1, {"pack", {plain, wide, more}, {}, make_seq({fill_wide, fill_more})}}};
  return m;
}

TEST_F(MeasureTest, AConstantIsPackedToSeveralTensorsOfOtherTypes) {
  const auto file = built(packed_add_module(1));
  ASSERT_TRUE(file);
  ASSERT_EQ(file->module.info.prepacks.size(), 1u);
  EXPECT_EQ(file->module.info.prepacks[0].tensors[0].dtype, f64);
  EXPECT_EQ(file->module.info.prepacks[0].tensors[1].bytes(), 4 * kElements);
  const wire::CandidateResult right = run(file->module);
  EXPECT_EQ(right.status, ResultStatus::kOk) << right.message;
  EXPECT_EQ(run(built(packed_add_module(1.25))->module).status, ResultStatus::kWrongResult);
}

TEST_F(MeasureTest, ReferencesArePackedByNoCode) {
  RunRequest r = request({built(add_module())->module});
  r.reference->module.info.prepacks = {{3, {{f64, kElements}}}};
  const wire::CandidateResult result = run_all(r).candidates.at(0);
  EXPECT_EQ(result.status, ResultStatus::kRunFailed);
  EXPECT_THAT(result.message, HasSubstr("the module is not a reference of 1 outputs"));
}

TEST_F(MeasureTest, HugeWorkspaceFailsAlone) {
  if (kSanitizer) GTEST_SKIP() << "instrumented by a sanitizer, which reserves terabytes: addresses are not limited";
  BuiltModule m = built(add_module())->module;
  const auto file = built(add_module());
  m = file->module;
  m.info.workspace_bytes = int64_t{1} << 45;
  const wire::CandidateResult r = run(m);
  EXPECT_EQ(r.status, ResultStatus::kRunFailed);
  EXPECT_THAT(r.message, HasSubstr("its tensors take 3.355e+07 MiB; a candidate may use"));
  EXPECT_EQ(run(file->module).status, ResultStatus::kOk);
}

TEST_F(MeasureTest, HugeInputsFailBeforeTheyAreFilled) {
  const auto file = built(add_module());
  EXPECT_EQ(run(file->module).status, ResultStatus::kOk);
  const pid_t runner = measurer_->runner_pid();
  BuiltModule m = file->module;
  m.info.params[0].shape = {int64_t{1} << 44};
  m.info.params[0].layout = Layout::identity(m.info.params[0].shape);
  RunRequest r = request({m});
  r.reference.reset();
  const wire::CandidateResult result = run_all(r).candidates.at(0);
  EXPECT_EQ(result.status, ResultStatus::kRunFailed);
  EXPECT_THAT(result.message, HasSubstr("its tensors take 6.711e+07 MiB"));
  EXPECT_EQ(measurer_->runner_pid(), runner);
  EXPECT_EQ(run(file->module).status, ResultStatus::kOk);
}

TEST_F(MeasureTest, SlowBuildTimesOutAndTheNextOneWorks) {
  EXPECT_EQ(build(add_module(), 1e-6).status, ResultStatus::kBuildTimeout);
  EXPECT_EQ(build(add_module()).status, ResultStatus::kOk);
}

TEST_F(MeasureTest, BuilderKilledInTheMiddleIsReplaced) {
  StatusOr<HostLock> lock = HostLock::open(lock_path_);
  HostLock::Hold hold = lock->exclusive();  // the builder gets no further than its start
  std::optional<BuildOutcome> outcome;
  asio::co_spawn(io_,
                 measurer_->build({std::make_shared<const std::string>(encode(add_module())), BuildPurpose::kCandidate,
                                   60, session_}),
                 [&](std::exception_ptr, BuildOutcome o) { outcome = std::move(o); });
  io_.restart();
  io_.poll();
  for (const pid_t pid : measurer_->builder_pids()) kill(pid, SIGKILL);
  hold.release();
  while (!outcome) io_.run_one();
  EXPECT_EQ(outcome->status, ResultStatus::kOk) << outcome->message;  // the module was not to blame
}

TEST_F(MeasureTest, RunnerKilledInTheMiddleIsReplaced) {
  const auto file = built(add_module());
  const RunRequest r = request({file->module});
  StatusOr<HostLock> lock = HostLock::open(lock_path_);
  HostLock::Hold hold = lock->exclusive();
  std::optional<RunReply> reply;
  asio::co_spawn(io_, measurer_->run(r), [&](std::exception_ptr, RunReply got) { reply = std::move(got); });
  io_.restart();
  io_.poll();
  const pid_t first = measurer_->runner_pid();
  kill(first, SIGKILL);
  hold.release();
  while (!reply) io_.run_one();
  EXPECT_EQ(reply->candidates[0].status, ResultStatus::kOk) << reply->candidates[0].message;
  EXPECT_NE(measurer_->runner_pid(), first);
}

TEST_F(MeasureTest, CancelStopsARun) {
  const auto file = built(add_module({.repeats = int64_t{1} << 40}));
  const RunRequest r = request({file->module});
  std::optional<RunReply> reply;
  asio::co_spawn(io_, measurer_->run(r), [&](std::exception_ptr, RunReply got) { reply = std::move(got); });
  io_.restart();
  io_.poll();
  measurer_->cancel_run();
  while (!reply) io_.run_one();
  EXPECT_EQ(reply->candidates[0].status, ResultStatus::kCancelled);
  EXPECT_EQ(run(built(add_module())->module).status, ResultStatus::kOk);
}

// A request of a MiB takes several writes.
TEST_F(MeasureTest, CancelDoesNotComeInTheMiddleOfARequest) {
  const auto file = built(add_module());
  EXPECT_EQ(run(file->module).status, ResultStatus::kOk);
  const pid_t runner = measurer_->runner_pid();
  RunRequest r = request({file->module});
  r.reference->key = {2, 2};
  r.reference->samples[0].assign(1 << 17, 0);
  std::optional<RunReply> reply;
  asio::co_spawn(io_, measurer_->run(r), [&](std::exception_ptr, RunReply got) { reply = std::move(got); });
  io_.restart();
  for (int n = 0; !reply; ++n) {
    io_.run_one();
    if (n < 20) measurer_->cancel_run();
  }
  EXPECT_THAT(reply->candidates[0].message, HasSubstr("131072 samples for a reference of 1000"));
  EXPECT_EQ(run(file->module).status, ResultStatus::kOk);
  EXPECT_EQ(measurer_->runner_pid(), runner);
}

TEST_F(MeasureTest, NothingIsTimedWhileAnotherTimes) {
  const auto file = built(add_module());
  const RunRequest r = request({file->module});
  run_all(r);  // the reference is there
  StatusOr<HostLock> other = HostLock::open(lock_path_);
  HostLock::Hold hold = other->exclusive();
  std::optional<RunReply> reply;
  asio::co_spawn(io_, measurer_->run(r), [&](std::exception_ptr, RunReply got) { reply = std::move(got); });
  io_.restart();
  io_.run_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(reply.has_value());
  hold.release();
  while (!reply) io_.run_one();
  EXPECT_EQ(reply->candidates[0].status, ResultStatus::kOk);
  EXPECT_GT(reply->wait_seconds, 0.05);
}

TEST_F(MeasureTest, TimesTheSentinelAroundTheRepeats) {
  const auto file = built(add_module());
  const RunReply reply = run_all(request({file->module}));
  EXPECT_GT(reply.sentinel_before, 0);
  EXPECT_GT(reply.sentinel_after, 0);
}

std::vector<int> cores_here() {
  cpu_set_t set;
  std::vector<int> out;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int i = 0; i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &set)) out.push_back(i);
  return out;
}

// A process that keeps one core busy for as long as it lives.
class Spinner {
 public:
  explicit Spinner(int cpu) : pid_(fork()) {
    if (pid_ != 0) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
    for (volatile uint64_t n = 0;;) n = n + 1;
  }
  ~Spinner() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Spinner(const Spinner&) = delete;
  Spinner& operator=(const Spinner&) = delete;

 private:
  const pid_t pid_;
};

// There from the agent's first moment, as on a board that is never quiet: on the candidate's core, and on another,
// where no thread waits for it.
TEST_F(MeasureTest, ANeighbourThatStaysIsTold) {
  const std::vector<int> cpus = cores_here();
  ASSERT_FALSE(cpus.empty());
  std::vector<int> places = {cpus.front()};
  if (cpus.size() > 1 && cpus.size() < 5) places.push_back(cpus.back());  // of more, one other is no disturbance
  const auto file = built(add_module());
  RunRequest r = request({file->module});
  r.profile.repeats = 25;
  r.profile.min_repeat_ms = 10;
  for (const int cpu : places) {
    const Spinner neighbour(cpu);
    const RunReply reply = run_all(r);
    EXPECT_EQ(reply.candidates.at(0).status, ResultStatus::kOk) << reply.candidates.at(0).message;
    EXPECT_TRUE(reply.drifted) << "a neighbour on core " << cpu;
    EXPECT_THAT(reply.candidates.at(0).times, SizeIs(Ge(1)));
  }
}

TEST_F(MeasureTest, LeavesNoFilesBehind) {
  { const auto file = built(add_module()); }
  reference_.reset();
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_))
    if (!entry.is_directory()) files.push_back(entry.path().filename());
  EXPECT_THAT(files, ::testing::ElementsAre("lock"));
  measurer_.reset();
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

TEST_F(MeasureTest, RemovesWhatACrashedAgentLeft) {
  const std::string orphan =
      std::filesystem::path(folder_).parent_path() / ("hone-agent-" + std::to_string(getuid()) + "-orphan");
  std::filesystem::create_directory(orphan);
  std::ofstream(orphan + "/lock") << "";
  std::ofstream(orphan + "/1.so") << "x";
  EXPECT_TRUE(ScratchFolder::make().ok());
  EXPECT_FALSE(std::filesystem::exists(orphan));
  EXPECT_TRUE(std::filesystem::exists(folder_));
}

}  // namespace
}  // namespace hone::agent
