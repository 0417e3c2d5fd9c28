// Some hundreds of seeded mutations of valid modules, each through decoder, verifier, compiler and a guarded run, in
// child processes: a mutation that ends one of them is reported. The long form is the fuzzer beside it.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "compiler/ir/printer.h"
#include "rpc/ir/decode.h"
#include "tests/fuzz/corpus.h"
#include "tests/fuzz/guarded_run.h"
#include "tests/fuzz/mutate_module.h"

namespace hone::fuzz {
namespace {

constexpr int kPerChild = 50;
constexpr int kSecondsPerChild = 120;  // of CPU: a hang is reported, a slow machine is not

// Reports from children to the parent, in memory that they share.
struct Progress {
  int current = 0;
  std::array<int, 5> outcomes = {};
  char violation[8192] = {};
};

// Mutation number `n` of the corpus. Numbers beyond the test's own continue the same sequence.
std::string mutation(const std::vector<std::string>& seeds, int n) {
  std::mt19937_64 rng(static_cast<uint64_t>(n) * 7919 + 1);
  proto::IrModule m;
  m.ParseFromString(seeds[static_cast<size_t>(n) % seeds.size()]);
  mutate(&m, rng);
  return m.SerializeAsString();
}

void run_children(int first, int count, Progress* shared) {
  const std::vector<std::string> seeds = corpus();
  for (int begin = first; begin < first + count; begin += kPerChild) {
    const int end = std::min(begin + kPerChild, first + count);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const rlimit cpu{kSecondsPerChild, kSecondsPerChild}, core{0, 0};
      setrlimit(RLIMIT_CPU, &cpu);
      setrlimit(RLIMIT_CORE, &core);
      for (shared->current = begin; shared->current < end; ++shared->current) {
        const Report report = run_guarded(mutation(seeds, shared->current));
        ++shared->outcomes[static_cast<size_t>(report.outcome)];
        if (report.violation.empty()) continue;
        std::strncpy(shared->violation, report.violation.c_str(), sizeof(shared->violation) - 1);
        _exit(1);
      }
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    const auto m = decode(mutation(seeds, shared->current));
    const std::string what = WIFSIGNALED(status)    ? fmt::format("ended by signal {}", WTERMSIG(status))
                             : shared->violation[0] ? shared->violation
                                                    : fmt::format("exit {}", WEXITSTATUS(status));
    ADD_FAILURE() << "mutation " << shared->current << ": " << what
                  << (WIFSIGNALED(status) && m.ok() ? "\n" + to_string(*m) : "");
    shared->violation[0] = 0;
    begin = shared->current + 1 - kPerChild;  // goes on behind it
  }
}

class MutatedModules : public testing::Test {
 protected:
  MutatedModules()
      : shared_(new (mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                    Progress) {}
  ~MutatedModules() override { munmap(shared_, sizeof(Progress)); }
  int outcomes(Outcome o) const { return shared_->outcomes[static_cast<size_t>(o)]; }
  Progress* shared_;
};

TEST_F(MutatedModules, AreRefusedOrRunClean) {
  // HONE_FUZZ_FIRST and HONE_FUZZ_COUNT take others.
  const char *first = std::getenv("HONE_FUZZ_FIRST"), *count = std::getenv("HONE_FUZZ_COUNT");
  run_children(first ? std::atoi(first) : 0, count ? std::atoi(count) : 600, shared_);
  std::cout << fmt::format("not decoded {}, not verified {}, compiled only {}, ran {}, stopped by a check {}\n",
                           outcomes(Outcome::kNotDecoded), outcomes(Outcome::kNotVerified),
                           outcomes(Outcome::kCompiled), outcomes(Outcome::kRan), outcomes(Outcome::kFaulted));
  if (first || count) return;
  // The mutations reach every door, and enough of them come through.
  EXPECT_GE(outcomes(Outcome::kNotDecoded), 30);
  EXPECT_GE(outcomes(Outcome::kNotVerified), 60);
  EXPECT_GE(outcomes(Outcome::kRan), 100);
  EXPECT_GE(outcomes(Outcome::kFaulted), 5);
}

TEST(Corpus, RunsClean) {
  for (const std::string& bytes : corpus()) {
    const Report report = run_guarded(bytes);
    EXPECT_EQ(report.violation, "");
    EXPECT_TRUE(report.outcome == Outcome::kRan || report.outcome == Outcome::kFaulted) << to_string(*decode(bytes));
  }
}

}  // namespace
}  // namespace hone::fuzz
