// The files that a failing pass leaves behind.
#include "compiler/build/reproducer.h"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using testing::HasSubstr;

Stmt store_one() { return make_store(make_buffer("C", f32, {4}), {make_int(2)}, make_float(1)); }

TEST(Reproducer, NamesThePassAndShowsWhatItWasGiven) {
  const std::vector<Pass<Stmt>> passes = {{"first",
                                           [](const Stmt& s) {
                                             return make_seq({s, s});
                                           }},
                                          {"second", [](const Stmt&) -> Stmt { throw InternalError("two stores"); }},
                                          {"third", [](const Stmt& s) { return s; }}};
  const auto failure = failure_of(passes, store_one());
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->pass, "second");
  EXPECT_THAT(failure->error, HasSubstr("two stores"));
  EXPECT_THAT(failure->program, HasSubstr("C[2] = 1"));

  const TemporaryFolder folder;
  const auto path = write_reproducer(folder.path(), *failure, "tensorc --workload 'dense()'");
  ASSERT_TRUE(path.ok()) << path.status();
  std::stringstream text;
  text << std::ifstream(*path).rdbuf();
  EXPECT_THAT(text.str(), testing::AllOf(HasSubstr("two stores"), HasSubstr("Shown by:\ntensorc --workload 'dense()'"),
                                         HasSubstr(failure->program)));
  EXPECT_FALSE(write_reproducer(folder.path() + "/none", *failure, "").ok());
}

TEST(Reproducer, OfWhatSucceedsIsNothing) {
  EXPECT_FALSE(failure_of({{"only", [](const Stmt& s) { return s; }}}, store_one()));
  const Workload w = parse_workload("dense(m=8,n=8,k=8)");
  const Target target = Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver4 -threads=2");
  const Space space = make_space(w, target);
  EXPECT_FALSE(find_failure(w, target, space, space.default_config()));
}

}  // namespace
}  // namespace hone
