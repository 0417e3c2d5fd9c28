// Machine code that misbehaves, in the real runner: each costs one trial with the right status, and the next candidate
// is fine.
#include <fcntl.h>

#include <filesystem>
#include <fstream>

#include "rpc/agent/sandbox/sandbox.h"
#include "tests/e2e/agent/agent_fixture.h"

namespace hone::agent {
namespace {

using ::testing::HasSubstr;

struct Case {
  std::string name;
  ResultStatus status;
  std::string message;
};

class HostileTest : public AgentTest {
 protected:
  BuiltModule artifact(const std::string& name) {
    const Module m = add_module();
    BuiltModule out;
    out.path = folder_ + "/hostile_" + name + ".so";  // the runner sees no other folder
    std::filesystem::copy_file(HONE_HOSTILE_DIR "/hostile_" + name + ".so", out.path,
                               std::filesystem::copy_options::skip_existing);
    out.info.params = m.params;
    out.info.workspace_bytes = 4096;
    return out;
  }
};

class HostileArtifact : public HostileTest, public ::testing::WithParamInterface<Case> {};

TEST_P(HostileArtifact, CostsOneTrial) {
  if (kSanitizer && GetParam().name == "eat")
    GTEST_SKIP() << "instrumented by a sanitizer, which reserves terabytes: memory is not limited";
  RunRequest bad = request({artifact(GetParam().name)});
  if (GetParam().status == ResultStatus::kRunTimeout) bad.profile.run_timeout_s = 0.2;
  const wire::CandidateResult r = run_all(bad).candidates.at(0);
  EXPECT_EQ(r.status, GetParam().status) << r.message;
  EXPECT_THAT(r.message, HasSubstr(GetParam().message));
  EXPECT_EQ(r.message.find('\n'), std::string::npos);
  const wire::CandidateResult next = run(artifact("well"));
  EXPECT_EQ(next.status, ResultStatus::kOk) << next.message;
}

INSTANTIATE_TEST_SUITE_P(Case, HostileArtifact,
                         ::testing::Values(Case{"null_store", ResultStatus::kRunFailed, "killed by SIGSEGV"},
                                           Case{"overrun", ResultStatus::kRunFailed, "killed by SIGSEGV"},
                                           Case{"fence_store", ResultStatus::kRunFailed, "wrote outside of 'C'"},
                                           Case{"input_store", ResultStatus::kRunFailed, "killed by SIGSEGV"},
                                           Case{"unlock_input", ResultStatus::kOk, ""},
                                           Case{"spin", ResultStatus::kRunTimeout, "still running"},
                                           Case{"eat", ResultStatus::kRunFailed, "killed by SIGSEGV"},
                                           Case{"workspace_overrun", ResultStatus::kRunFailed, "killed by SIGSEGV"},
                                           Case{"read_behind", ResultStatus::kRunFailed, "killed by SIGSEGV"},
                                           Case{"leave", ResultStatus::kRunFailed, "exit code 0"},
                                           Case{"fault", ResultStatus::kRejected, "out of bounds"},
                                           Case{"refuse", ResultStatus::kRunFailed, "refused its arguments"},
                                           Case{"unwritten", ResultStatus::kWrongResult,
                                                "output element 999 of 'C' was never written"},
                                           Case{"wrong_tail", ResultStatus::kWrongResult, "output element 999 is"}),
                         [](const auto& info) { return info.param.name; });

TEST_F(HostileTest, ACandidateReachesNothing) {
  if (kSanitizer || !info_.missing.empty())
    GTEST_SKIP() << "not granted here: " << ::testing::PrintToString(info_.missing);
  const wire::CandidateResult r = run(artifact("escape"));
  EXPECT_EQ(r.status, ResultStatus::kOk) << r.message;
}

// Secrets may lie in the agent's environment and in files that it has open.
TEST_F(HostileTest, ChildrenInheritNoEnvironmentAndNoDescriptors) {
  setenv("HONE_TEST_SECRET", "sesame", 1);
  const int secret = open("/etc/hostname", O_RDONLY);  // without O_CLOEXEC
  ASSERT_GE(secret, 0);
  const auto file = built(add_module());
  EXPECT_EQ(run(file->module).status, ResultStatus::kOk);
  std::vector<pid_t> children = measurer_->builder_pids();
  children.push_back(measurer_->runner_pid());
  ASSERT_GE(children.size(), 2U);
  for (const pid_t pid : children) {
    const std::string proc = "/proc/" + std::to_string(pid);
    std::ifstream environment(proc + "/environ");
    const std::string text{std::istreambuf_iterator<char>(environment), {}};
    EXPECT_THAT(text, testing::Not(HasSubstr("sesame")));
    std::error_code denied;  // by a kernel that hides a process that cannot be dumped, from others than root
    for (const auto& entry : std::filesystem::directory_iterator(proc + "/fd", denied))
      EXPECT_THAT(std::filesystem::read_symlink(entry, denied).string(), testing::Not(HasSubstr("hostname")));
  }
  close(secret);
  unsetenv("HONE_TEST_SECRET");
}

}  // namespace
}  // namespace hone::agent
