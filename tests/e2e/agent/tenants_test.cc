// Sessions that do not trust each other: what they share of an agent, and how much of it one of them may take.
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/sanitizer.h"
#include "tests/e2e/agent/agent_fixture.h"
#include "tests/fakes/test_session.h"

namespace hone::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class TenantsTest : public AgentTest {
 protected:
  static wire::Uuid session(uint8_t number) {
    wire::Uuid u;
    u.value[0] = number;
    return u;
  }
  std::vector<pid_t> build_for(uint8_t number) {
    session_ = session(number);
    built(add_module({.repeats = ++modules_}));
    return measurer_->builder_pids();
  }
  /// Measures with so many bytes of memory from now on.
  void have_memory(uint64_t bytes) {
    StatusOr<ScratchFolder> folder = ScratchFolder::make();
    ASSERT_TRUE(folder.ok()) << folder.status();
    HostOptions options;
    options.threads = 2;
    options.builders = 2;
    options.memory = bytes;
    measurer_ = std::make_unique<HostMeasurer>(io_, options, std::move(*folder));
    const StatusOr<HostInfo> info = await(measurer_->start());
    ASSERT_TRUE(info.ok()) << info.status();
  }
  int64_t modules_ = 1;
};

TEST_F(TenantsTest, ABuilderWorksForOneSession) {
  have_memory(uint64_t{2} << 30);  // for two builders
  const std::vector<pid_t> one = build_for(1);
  ASSERT_THAT(one, SizeIs(1)) << "which was there from the start";
  const std::vector<pid_t> two = build_for(2);
  ASSERT_THAT(two, SizeIs(2));
  EXPECT_EQ(build_for(1), two) << "as long as there is one for each, nothing is started";
  EXPECT_EQ(build_for(2), two);
  const std::vector<pid_t> three = build_for(3);
  ASSERT_THAT(three, SizeIs(2));
  EXPECT_NE(three, two) << "it may not have one that has built for another";
  EXPECT_EQ(build_for(3), three);
}

TEST_F(TenantsTest, SessionsThatTakeTurnsKeepTheirBuilders) {
  have_memory(uint64_t{16} << 30);
  std::vector<pid_t> all;
  for (const uint8_t number : {1, 2, 3, 4}) all = build_for(number);
  ASSERT_THAT(all, SizeIs(4));
  for (const uint8_t number : {4, 1, 3, 2}) EXPECT_EQ(build_for(number), all) << int{number};
}

// A few KiB of module, a few GiB of code: unrolled, within the limits of verify().
Module memory_bomb() {
  Module m = add_module();
  const Buffer a = m.kernels[0].params[0], b = m.kernels[0].params[1], c = m.kernels[0].params[2];
  const Var i("i"), j("j");
  Expr sum = load(a, {i});
  for (int n = 0; n < 24; ++n) sum = sum * load(b, {i}) + make_float(n);
  const Stmt store = make_store(c, {i}, sum);
  m.kernels[0].body = make_for(j, make_int(0), make_int(60), LoopKind::kUnroll,
                               make_for(i, make_int(0), make_int(kElements), LoopKind::kUnroll, store));
  return m;
}

TEST_F(TenantsTest, ACompilerThatWantsTooMuchMemoryIsOneFailedBuild) {
  if (kSanitizer) GTEST_SKIP() << "a sanitizer reserves terabytes: memory is not limited";
  have_memory(uint64_t{2} << 30);  // less than the bomb takes of a machine that has it
  const auto fine = built(add_module());
  ASSERT_TRUE(fine);
  const BuildOutcome out = build(memory_bomb(), 120);
  EXPECT_EQ(out.status, ResultStatus::kBuildFailed) << out.message;
  EXPECT_THAT(out.message, ::testing::AnyOf(HasSubstr("the compiler needs more memory than the 384 MiB"),
                                            HasSubstr("out of memory"), HasSubstr("bad_alloc")))
      << "not for another reason";
  ASSERT_TRUE(built(add_module({.repeats = 2})));
}

// The agent's processes in a control group of their own, which the kernel limits.
class LimitedGroup {
 public:
  explicit LimitedGroup(uint64_t bytes) {
    std::ifstream own("/proc/self/cgroup");
    for (std::string line; std::getline(own, line);) {
      const size_t path = line.rfind(':');
      if (line.starts_with("0::"))
        attempt("/sys/fs/cgroup" + line.substr(path + 1), "memory.max", "memory.events", bytes);
      if (line.find(":memory:") != std::string::npos)
        attempt("/sys/fs/cgroup/memory" + line.substr(path + 1), "memory.limit_in_bytes", "memory.oom_control", bytes);
    }
  }
  // Children of a process that was ended end a moment after it, and a group with members cannot go.
  ~LimitedGroup() {
    for (int i = 0; !path_.empty() && rmdir(path_.c_str()) != 0 && errno == EBUSY && i < 1000; ++i) usleep(10'000);
  }
  bool there() const { return !path_.empty(); }
  /// A process joins by writing 0 there.
  std::string members() const { return path_ + "/cgroup.procs"; }
  int64_t killed() const {
    std::ifstream events(path_ + "/" + events_);
    std::string word;
    for (int64_t number = 0; events >> word >> number;)
      if (word == "oom_kill") return number;
    return -1;
  }

 private:
  void attempt(const std::string& parent, const std::string& limit, const std::string& events, uint64_t bytes) {
    const std::string path = parent + "/hone-test-" + std::to_string(getpid());
    std::error_code error;
    if (there() || !std::filesystem::create_directory(path, error)) return;
    std::ofstream file(path + "/" + limit);
    if (file << bytes << std::flush) {
      path_ = path;
      events_ = events;
    } else {
      rmdir(path.c_str());
    }
  }
  std::string path_, events_;
};

// As in a pod: the real programs know the limit, and the kernel has to kill no process.
TEST_F(TenantsTest, AnAgentInALimitedGroupSurvivesAMemoryBomb) {
  if (kSanitizer) GTEST_SKIP() << "a sanitizer reserves terabytes: memory is not limited";
  const LimitedGroup group(uint64_t{1} << 30);
  if (!group.there()) GTEST_SKIP() << "this system does not let its user limit the memory of a control group";
  const TemporaryFolder folder;
  const std::string address = "unix:" + folder.path() + "/sock", log = folder.path() + "/log";
  std::vector<ChildProcess> children;
  const auto start = [&](std::vector<std::string> argv) {
    ChildOptions options;
    options.argv = std::move(argv);
    const int fd = open(log.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    options.stdout_fd = options.stderr_fd = fd;
    StatusOr<ChildProcess> child = ChildProcess::spawn(options);
    close(fd);
    ASSERT_TRUE(child.ok()) << child.status();
    children.push_back(std::move(*child));
  };
  const std::string bin = std::string(HONE_BIN_DIR) + "/";
  start({bin + "tracker", "--listen", address, "--http", "none"});
  start({"/bin/sh", "-c",
         "echo 0 > " + group.members() + " && exec " + bin + "device-agent --target llvm --name lab --tracker " +
             address});
  {
    wire::TestSession session(*wire::Address::parse(address));
    const auto submit = [&](uint64_t seq, const Module& m) {
      wire::Job j;
      j.seq = seq;
      j.modules = {session.add_blob(encode(m))};
      j.profile.build_timeout_s = 55;
      session.client_->submit({j});
      EXPECT_TRUE(session.wait_results(seq));
      return session.result(seq).candidates.at(0);
    };
    EXPECT_EQ(submit(1, add_module()).status, ResultStatus::kOk);
    const wire::CandidateResult bomb = submit(2, memory_bomb());
    EXPECT_EQ(bomb.status, ResultStatus::kBuildFailed) << bomb.message;
    EXPECT_EQ(submit(3, add_module({.repeats = 2})).status, ResultStatus::kOk);
    ASSERT_TRUE(session.wait_devices(1));
    const std::lock_guard lock(session.mutex_);
    EXPECT_LE(session.devices_.at(0).memory_bytes, uint64_t{1} << 30);
  }
  EXPECT_EQ(group.killed(), 0);
  children.clear();
}

}  // namespace
}  // namespace hone::agent
