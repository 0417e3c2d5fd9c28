// Which inputs are to be bound where calls may take a branch without a result.
#include "compiler/model/refused_branch.h"

#include <gtest/gtest.h>

#include "compiler/graph/text.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

std::string bindings(const std::string& condition) {
  return bindings_for_branches(
      parse_graph(test_operators(), "graph g\ninput \"x\" %x f32[4]\ninput \"rate\" %rate s64[1]\n" + condition +
                                        "%y = require(shape=4,dtype=f32) %x %c\noutput \"y\" %y f32[4]\n"));
}

TEST(RefusedBranch, NamesTheInputAndWhatItIsComparedWith) {
  EXPECT_EQ(bindings("%c = elementwise(op=equal[16000],shape=1,dtype=s64) %rate\n"), "--bind rate=16000");
  EXPECT_EQ(bindings("%k = constant s64[1] [8000]\n"
                     "%c = elementwise(op=equal,shape=1,operands=same,dtype=s64) %rate %k\n"),
            "--bind rate=8000");
}

TEST(RefusedBranch, SaysNWhereTheNumberIsNotPlain) {
  EXPECT_EQ(bindings("%c = elementwise(op=greater[8000],shape=1,dtype=s64) %rate\n"), "--bind rate=N");
  EXPECT_EQ(bindings("%d = elementwise(op=equal[8000],shape=1,dtype=s64) %rate\n"
                     "%c = elementwise(op=not,shape=1,dtype=bool) %d\n"),
            "--bind rate=N")
      << "any other number";
}

TEST(RefusedBranch, NamesNothingWhereNoBranchIsRefused) {
  EXPECT_EQ(
      bindings_for_branches(parse_graph(test_operators(),
                                        "graph g\ninput \"x\" %x f32[4]\n"
                                        "%y = elementwise(op=relu,shape=4,dtype=f32) %x\noutput \"y\" %y f32[4]\n")),
      "");
}

}  // namespace
}  // namespace hone
