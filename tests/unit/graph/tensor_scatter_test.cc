// Caches into which each sequence writes at its own place.
#include <gmock/gmock.h>

#include "tests/unit/graph/node_tests.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// 2 sequences with a cache of 4 rows of 2 elements; 2 rows are new.
TestModel scatter(const std::string& mode, bool is_known, const Extents& first = {1, 3}) {
  TestModel m(24);
  m.input("cache", {2, 4, 2}).input("new", {2, 2, 2});
  if (is_known)
    m.numbers("first", {2}, first);
  else
    m.input("first", {2}, kInt64);
  m.node("TensorScatter", {"cache", "new", "first"}, {"y"});
  if (!mode.empty()) m.text("mode", mode);
  return m.output("y");
}
TensorData cache() { return tensor({2, 4, 2}, Floats(16, 0)); }
TensorData rows() { return tensor({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}); }

TEST(TensorScatter, WritesEachSequenceAtItsPlace) {
  const ModelFolder f;
  for (const bool is_known : {false, true}) {
    std::vector<TensorData> inputs{cache(), rows()};
    if (!is_known) inputs.push_back(TensorData::of_numbers({1, 3}));
    EXPECT_THAT(outputs_of(f.import(scatter("circular", is_known)), inputs),
                ElementsAre(0, 0, 1, 2, 3, 4, 0, 0, 7, 8, 0, 0, 0, 0, 5, 6))
        << is_known;
    if (!is_known) inputs.back() = TensorData::of_numbers({2, 0});
    EXPECT_THAT(outputs_of(f.import(scatter("", is_known, {2, 0})), inputs),
                ElementsAre(0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0))
        << is_known;
  }
}

// Without places it writes at the beginning; the heads of a cache are apart, or the last axis is that of the rows.
TEST(TensorScatter, BeginsAtTheFirstRowWithoutPlaces) {
  const ModelFolder f;
  TestModel m(24);
  m.input("cache", {1, 2, 3, 1}).input("new", {1, 2, 1, 1}).node("TensorScatter", {"cache", "new"}, {"y"}).output("y");
  EXPECT_THAT(outputs_of(f.import(m), {tensor({1, 2, 3, 1}, {1, 2, 3, 4, 5, 6}), tensor({1, 2, 1, 1}, {8, 9})}),
              ElementsAre(8, 2, 3, 9, 5, 6));
  TestModel columns(24);
  columns.input("cache", {1, 2, 3}).input("new", {1, 2, 2}).node("TensorScatter", {"cache", "new"}, {"y"});
  columns.number("axis", 2).output("y");
  EXPECT_THAT(outputs_of(f.import(columns), {tensor({1, 2, 3}, {1, 2, 3, 4, 5, 6}), tensor({1, 2, 2}, {7, 8, 9, 0})}),
              ElementsAre(7, 8, 3, 9, 0, 6));
}

TEST(TensorScatter, SaysWhatIsNotSupported) {
  const ModelFolder f;
  EXPECT_THAT(f.refusal(scatter("square", false)), HasSubstr("mode=square is not supported; linear and circular are"));
  TestModel first(24);
  first.input("cache", {2, 4, 2}).input("new", {2, 2, 2}).node("TensorScatter", {"cache", "new"}, {"y"});
  first.number("axis", 0).output("y");
  EXPECT_THAT(f.refusal(first), HasSubstr("axis 0 is that of the sequences"));
  TestModel wide(24);
  wide.input("cache", {2, 4, 2}).input("new", {2, 5, 2}).node("TensorScatter", {"cache", "new"}, {"y"}).output("y");
  EXPECT_THAT(f.refusal(wide), HasSubstr("f32[2, 5, 2] into f32[2, 4, 2]"));
  TestModel one(24);
  one.input("cache", {2, 4, 2}).input("new", {2, 1, 2}).input("first", {1}, kInt64);
  one.node("TensorScatter", {"cache", "new", "first"}, {"y"}).output("y");
  EXPECT_THAT(f.refusal(one), HasSubstr("write_indices s64[1] of 2 sequences"));
}

}  // namespace
}  // namespace hone
