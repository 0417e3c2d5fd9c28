// The table of primitives against the code: kinds of steps, limits of schedule.h, and a call of each.
#include "compiler/schedule/primitive_table.h"

#include <gmock/gmock.h>

#include <set>
#include <string>

#include "tests/fakes/programs.h"

namespace hone {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// The method that records steps of the kind. Without a default: a new kind does not compile until it stands here.
std::string recorder_of(Primitive kind) {
  switch (kind) {
    case Primitive::kSplit: return "split";
    case Primitive::kFuse: return "fuse";
    case Primitive::kReorder: return "reorder";
    case Primitive::kVectorize: return "vectorize";
    case Primitive::kUnroll: return "unroll";
    case Primitive::kParallel: return "parallel";
    case Primitive::kComputeAt: return "compute_at";
    case Primitive::kComputeInline: return "compute_inline";
    case Primitive::kCacheRead: return "cache_read";
    case Primitive::kCacheWrite: return "cache_write";
    case Primitive::kDecomposeReduction: return "decompose_reduction";
    case Primitive::kTransformLayout: return "transform_layout";
    case Primitive::kSetScope: return "set_scope";
    case Primitive::kAnnotate: return "annotate";
    case Primitive::kSplitParts: return "split_parts";
    case Primitive::kReverseComputeAt: return "reverse_compute_at";
    case Primitive::kReverseComputeInline: return "reverse_compute_inline";
    case Primitive::kRfactor: return "rfactor";
    case Primitive::kPrepack: return "prepack";
    case Primitive::kPad: return "pad";
    case Primitive::kAnnotateLoop: return "annotate";
    case Primitive::kTensorize: return "tensorize";
    case Primitive::kBind: return "bind";
    case Primitive::kStorageAlign: return "storage_align";
    case Primitive::kDoubleBuffer: return "double_buffer";
  }
  return "";
}

TEST(PrimitiveTable, HasOneRowForEachKindOfStepAndNoOther) {
  std::multiset<std::string> expected, rows;
  for (int kind = 0; kind <= 255; ++kind) {
    const std::string recorder = recorder_of(static_cast<Primitive>(kind));
    if (!recorder.empty()) expected.insert(recorder + " " + std::to_string(kind));
  }
  for (const PrimitiveRow& row : primitive_table())
    for (const Primitive kind : row.steps) rows.insert(row.name + (" " + std::to_string(static_cast<int>(kind))));
  EXPECT_EQ(rows, expected);
}

TEST(PrimitiveTable, IsReadByName) {
  std::set<std::string> names;
  for (const PrimitiveRow& row : primitive_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " has two rows";
    EXPECT_EQ(&primitive_row(row.name), &row);
    // Other primitives record the steps of these: splits and reorders.
    EXPECT_EQ(row.steps.size() == 0, std::string(row.name) == "tile") << row.name;
  }
  EXPECT_THROW(primitive_row("vthread"), InternalError);
}

TEST(PrimitiveTable, RowsAreWhole) {
  for (const PrimitiveRow& row : primitive_table()) {
    EXPECT_THAT(std::string(row.rewrite), HasSubstr("  ->  ")) << row.name;
    for (const std::string_view text : {row.text, row.limits}) {
      ASSERT_FALSE(text.empty()) << row.name;
      EXPECT_EQ(text.back(), '.') << row.name << ": " << text;
      EXPECT_NE(text.front(), '\n') << row.name;
    }
    EXPECT_TRUE((std::set<std::string_view>{"", "loop", "loops", "block", "blocks"}.contains(row.returns))) << row.name;
    EXPECT_GT(row.parameters.size(), 0u) << row.name;
    const PrimitiveParameter* const last = row.parameters.end() - 1;
    for (const PrimitiveParameter& p : row.parameters) {
      EXPECT_TRUE(p.otherwise == std::nullopt || &p == last) << row.name << ": only the last may be left out";
      EXPECT_TRUE(p.name[0] != '*' || row.parameters.size() == 1) << row.name;
    }
  }
}

// Numbers in the rows' texts are the limits of the primitives.
TEST(PrimitiveTable, NamesTheLimitsThatHold) {
  EXPECT_THAT(std::string(primitive_row("vectorize").text), HasSubstr(std::to_string(Schedule::kMostLanes)));
  ASSERT_EQ(Schedule::kMostCopies, 1024);
  EXPECT_THAT(std::string(primitive_row("unroll").text), HasSubstr("1,024"));
  const auto& parts = *(primitive_row("double_buffer").parameters.end() - 1);
  EXPECT_EQ(parts.otherwise, 2);
}

// A step's text begins as its row does.
TEST(PrimitiveTable, StepsAreCalledAsTheirRows) {
  const Program p = float_program(4, 8, 6);
  const auto s = p.schedule();
  const BlockRef c = s->block("c");
  const auto loops = s->loops(c);
  s->split_parts(loops[2], 2);
  const auto [outer, inner] = s->split(loops[0], 2);
  s->unroll(inner);
  s->annotate("partition", 1);
  s->annotate(loops[1], "prefetch", 2);
  s->parallel(outer);
  ASSERT_EQ(s->steps().size(), 6u);
  for (const Step& step : s->steps()) EXPECT_THAT(step.text, StartsWith(recorder_of(step.primitive) + "("));
}

}  // namespace
}  // namespace hone
