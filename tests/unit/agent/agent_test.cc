// The meaning of an agent's command line, and its report of this machine.
#include "rpc/agent/supervise/agent.h"

#include <gmock/gmock.h>

#include "base/check.h"

namespace hone::agent {
namespace {

using testing::HasSubstr;

TEST(AgentOptions, LabelsAreKeysAndValues) {
  const auto labels = parse_labels({"room=2", "rack=a=b", "empty="});
  ASSERT_TRUE(labels.ok()) << labels.status();
  EXPECT_THAT(*labels, testing::ElementsAre(testing::Pair("empty", ""), testing::Pair("rack", "a=b"),
                                            testing::Pair("room", "2")));
  EXPECT_THAT(message_of(parse_labels({"room"}).status()), HasSubstr("--label room: expected KEY=VALUE"));
  EXPECT_FALSE(parse_labels({"=2"}).ok());
}

TEST(AgentOptions, ThereIsOneTargetOfAKind) {
  const auto targets = parse_targets({"llvm", "cuda"});
  ASSERT_TRUE(targets.ok()) << targets.status();
  EXPECT_EQ(targets->size(), 2u);
  EXPECT_THAT(message_of(parse_targets({"cuda", "cuda -arch=sm_80"}).status()),
              HasSubstr("--target was given more than once for cuda"));
  EXPECT_THROW((void)parse_targets({"vulkan"}), UserError);
}

TEST(AgentOptions, TheLineOnIsolationNamesWhatIsThereAndWhatIsNot) {
  EXPECT_EQ(describe_isolation({}),
            "isolation of modules: files (landlock), system calls (seccomp), network (namespace), no capabilities, no "
            "new privileges");
  const std::string some = describe_isolation({"landlock", "cgroup memory"});
  EXPECT_THAT(some, HasSubstr("isolation of modules: system calls (seccomp)"));
  EXPECT_THAT(some, HasSubstr("; this system lacks: landlock, cgroup memory"));
  EXPECT_EQ(describe_isolation({"landlock", "seccomp", "network namespace", "dropping capabilities", "no_new_privs"})
                .substr(0, 35),
            "isolation of modules: limits only; ");
}

}  // namespace
}  // namespace hone::agent
