// Machine code that misbehaves, in the real runner: each costs one trial with the right status, and the next candidate is fine.
#include "tests/e2e/agent/agent_fixture.h"

namespace hone::agent {
namespace {

using ::testing::HasSubstr;

struct Case {
  std::string name;
  ResultStatus status;
  std::string message;
};

class HostileTest : public AgentTest, public ::testing::WithParamInterface<Case> {
 protected:
  BuiltModule artifact(const std::string& name) {
    const Module m = add_module();
    BuiltModule out;
    out.path = HONE_HOSTILE_DIR "/hostile_" + name + ".so";
    out.info.params = m.params;
    out.info.elements = {kElements, kElements, kElements};
    out.info.prepack = {-1, -1, -1};
    return out;
  }
};

TEST_P(HostileTest, CostsOneTrial) {
  RunRequest bad = request({artifact(GetParam().name)});
  if (GetParam().status == ResultStatus::kRunTimeout) bad.profile.run_timeout_s = 0.2;
  const wire::CandidateResult r = run_all(bad).candidates.at(0);
  EXPECT_EQ(r.status, GetParam().status) << r.message;
  EXPECT_THAT(r.message, HasSubstr(GetParam().message));
  EXPECT_EQ(r.message.find('\n'), std::string::npos);
  const wire::CandidateResult next = run(artifact("well"));
  EXPECT_EQ(next.status, ResultStatus::kOk) << next.message;
}

INSTANTIATE_TEST_SUITE_P(Artifact, HostileTest,
                         ::testing::Values(Case{"null_store", ResultStatus::kRunFailed, "killed by SIGSEGV"},
                                           Case{"overrun", ResultStatus::kRunFailed, "killed by SIGSEGV"},
                                           Case{"fence_store", ResultStatus::kRunFailed, "wrote outside of 'C'"},
                                           Case{"input_store", ResultStatus::kRunFailed, "killed by SIGSEGV"},
                                           Case{"spin", ResultStatus::kRunTimeout, "still running"},
                                           Case{"leave", ResultStatus::kRunFailed, "exit code 0"},
                                           Case{"fault", ResultStatus::kRejected, "out of bounds"},
                                           Case{"refuse", ResultStatus::kRunFailed, "refused its arguments"},
                                           Case{"unwritten", ResultStatus::kWrongResult, "output element 999 of 'C' was never written"},
                                           Case{"wrong_tail", ResultStatus::kWrongResult, "output element 999 is"}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace hone::agent
