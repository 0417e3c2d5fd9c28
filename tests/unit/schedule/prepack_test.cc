#include <gmock/gmock.h>

#include "compiler/arith/verify.h"
#include "compiler/ir/interp.h"
#include "compiler/ir/printer.h"
#include "compiler/lower/layout_functions.h"
#include "compiler/lower/lower.h"
#include "tests/fakes/packed_module.h"
#include "tests/fakes/refusal.h"

namespace hone {
namespace {

using testing::HasSubstr;

// rows[i] = w[i] + w[i + 1], u[i] = rows[i] * 3, d[i] = a[i] * u[i]; 5 elements.
struct PrepackProgram {
  Tensor a, w, rows, u, d;
  std::unique_ptr<Schedule> schedule;
  explicit PrepackProgram(ParamRole role = ParamRole::kConstant) {
    a = placeholder("a", {5}, i32);
    w = placeholder("w", {6}, i32);
    rows = compute("rows", {5}, {"i"}, {w}, [&](const auto& i) { return w(i[0]) + w(i[0] + 1); });
    u = compute("u", {5}, {"i"}, {rows}, [&](const auto& i) { return rows(i[0]) * make_int(3, i32); });
    d = compute("d", {5}, {"i"}, {a, u}, [&](const auto& i) { return a(i[0]) * u(i[0]); });
    schedule =
        std::make_unique<Schedule>(std::vector<std::pair<Tensor, ParamRole>>{{a, ParamRole::kInput}, {w, role}}, d);
  }
  // The stage `rows` inside of u's loop, on the stack.
  void put_rows_inside() {
    Schedule& s = *schedule;
    s.set_scope(s.block("rows"), BufferScope::kStack);
    s.compute_at(s.block("rows"), s.loops(s.block("u"))[0]);
  }
};

TEST(Prepack, MakesTheStageAheadAndGivesItsResultToTheKernel) {
  PrepackProgram p;
  Schedule& s = *p.schedule;
  p.put_rows_inside();
  s.transform_layout("u", Layout{{{0, 4, 2}, {0, 1, 4}}});  // padded to 8
  s.prepack(s.block("u"));
  const Module m = lower(s, {});
  verify(m);
  ASSERT_EQ(m.prepacks.size(), 1u);
  EXPECT_EQ(m.prepacks[0].param, 1);
  EXPECT_EQ(kernel_arguments(m)[1].shape, (std::vector<int64_t>{8}));
  EXPECT_EQ(to_string(m.prepacks[0].function),
            "func prepack_w(w: s32[6], u: s32[8]) {\n  for i in 0..5 {\n    alloc rows: s32[1] stack {\n      rows[0] "
            "= w[i] + w[i + 1]\n      u[i] = rows[0] * s32(3)\n    }\n  }\n}\n");

  std::vector<int32_t> data{1, 2, 3, 4, 5}, weight{7, 8, 9, 10, 11, 12}, packed(8), out(5);
  interpret(m.prepacks[0].function, {{weight.data(), 6}, {packed.data(), 8}});
  interpret(m, {{data.data(), 5}, {packed.data(), 8}, {out.data(), 5}});
  EXPECT_EQ(out, (std::vector<int32_t>{45, 102, 171, 252, 345}));
}

TEST(Prepack, MakesSeveralTensorsOfOneConstantAndOfOtherTypes) {
  const Module m = packed_module(4);
  verify(m);
  ASSERT_EQ(m.prepacks.size(), 1u);
  EXPECT_EQ(to_string(m.prepacks[0].function),
            "func prepack_w(w: s32[4], narrow: s8[4], sums: s32[2]) {\n  for i in 0..4 {\n    narrow[i] = s8(w[i])\n  "
            "}\n  for j in 0..2 {\n    sums[j] = w[j * 2] + w[j * 2 + 1]\n  }\n}\n");
  ASSERT_EQ(m.params.size(), 3u);
  EXPECT_EQ(m.params[1].dtype, i32);
  const std::vector<KernelArgument> arguments = kernel_arguments(m);
  ASSERT_EQ(arguments.size(), 4u);
  EXPECT_EQ(arguments[1].param, 1u);
  EXPECT_EQ(arguments[1].dtype, i8);
  EXPECT_EQ(arguments[2].param, 1u);
  EXPECT_EQ(arguments[2].shape, (std::vector<int64_t>{2}));
  EXPECT_EQ(arguments[2].bytes(), 8);
  EXPECT_EQ(arguments[3].param, 2u);

  std::vector<int32_t> a{1, 2, 3, 4}, w{5, 6, 300, 8}, sums(2), out(4);
  std::vector<int8_t> narrow(4);
  interpret(m.prepacks[0].function, {{w.data(), 4}, {narrow.data(), 4}, {sums.data(), 2}});
  interpret(m, {{a.data(), 4}, {narrow.data(), 4}, {sums.data(), 2}, {out.data(), 4}});
  EXPECT_EQ(out, (std::vector<int32_t>{16, 23, 440, 340}));
  std::fill(out.begin(), out.end(), 0);
  Module plain = plain_module(m);
  verify(plain);
  EXPECT_GE(plain.workspace_bytes, 12);
  interpret(plain, {{a.data(), 4}, {w.data(), 4}, {out.data(), 4}});
  EXPECT_EQ(out, (std::vector<int32_t>{16, 23, 440, 340}));
}

// One packed tensor may be made of another.
TEST(Prepack, ReadsWhatItMakes) {
  const Tensor a = placeholder("a", {4}, i32), w = placeholder("w", {4}, i32);
  const Tensor twice = compute("twice", {4}, {"i"}, {w}, [&](const auto& i) { return w(i[0]) * make_int(2, i32); });
  const Tensor next = compute("next", {3}, {"i"}, {twice}, [&](const auto& i) { return twice(i[0] + 1); });
  const Tensor d =
      compute("d", {3}, {"i"}, {a, twice, next}, [&](const auto& i) { return a(i[0]) * twice(i[0]) + next(i[0]); });
  Schedule s({{a, ParamRole::kInput}, {w, ParamRole::kConstant}}, d);
  s.prepack({s.block("next"), s.block("twice")});
  const Module m = lower(s, {});
  verify(m);
  std::vector<int32_t> data{1, 1, 1, 1}, weight{1, 2, 3, 4}, made(4), later(3), out(3);
  interpret(m.prepacks[0].function, {{weight.data(), 4}, {later.data(), 3}, {made.data(), 4}});
  interpret(m, {{data.data(), 4}, {later.data(), 3}, {made.data(), 4}, {out.data(), 3}});
  EXPECT_EQ(out, (std::vector<int32_t>{6, 10, 14}));
}

TEST(Prepack, OfSeveralIsReplayedAndRefused) {
  PackedProgram p, again, refused;
  p.prepack();
  EXPECT_THAT(p.schedule->text(), HasSubstr("prepack(narrow, sums)"));
  again.schedule->replay(p.schedule->steps());
  EXPECT_EQ(again.schedule->text(), p.schedule->text());
  EXPECT_EQ(to_string(lower(*again.schedule, {})), to_string(lower(*p.schedule, {})));
  EXPECT_THAT(refusal(*p.schedule,
                      [&] {
                        p.schedule->transform_layout("w", Layout{{{0, 4, 2}, {0, 1, 4}}});
                      }),
              HasSubstr("transform_layout: 'w' is packed ahead; the kernel does not take it"));
  Schedule& s = *refused.schedule;
  const BlockRef narrow = s.block("narrow"), sums = s.block("sums");
  EXPECT_THAT(refusal(s, [&] { s.prepack({narrow, narrow}); }), HasSubstr("prepack: stage 'narrow' is given twice"));
  EXPECT_THAT(refusal(s, [&] { s.prepack({narrow}); }),
              HasSubstr("prepack: stage 'narrow': stage 'sums' reads 'w' as well"));
  EXPECT_THAT(refusal(s, [&] { s.prepack({narrow, sums, s.block("d")}); }), HasSubstr("its result is a param buffer"));
  EXPECT_THAT(refusal(s, [&] { s.prepack(std::vector<BlockRef>{}); }), HasSubstr("no stage is given"));
}

TEST(Prepack, IsReplayed) {
  PrepackProgram p, again;
  p.put_rows_inside();
  p.schedule->prepack(p.schedule->block("u"));
  again.schedule->replay(p.schedule->steps());
  EXPECT_EQ(again.schedule->text(), p.schedule->text());
  EXPECT_EQ(to_string(lower(*again.schedule, {})), to_string(lower(*p.schedule, {})));
}

TEST(Prepack, RefusesWhatCannotBeMadeAhead) {
  {
    PrepackProgram p;
    EXPECT_THAT(
        refusal(*p.schedule, [&] { p.schedule->prepack(p.schedule->block("d")); }),
        HasSubstr("prepack: stage 'd': its result is a param buffer; only one in the workspace can be made ahead"));
    EXPECT_THAT(refusal(*p.schedule, [&] { p.schedule->prepack(p.schedule->block("u")); }),
                HasSubstr("prepack: stage 'u': it reads 'rows', which is not a constant parameter"));
    const BlockRef rows = p.schedule->block("rows");
    p.schedule->prepack(rows);
    EXPECT_THAT(refusal(*p.schedule, [&] { p.schedule->prepack(rows); }), HasSubstr("gone: prepack(rows)"));
  }
  {
    PrepackProgram p;
    p.schedule->compute_at(p.schedule->block("rows"), p.schedule->loops(p.schedule->block("u"))[0]);
    EXPECT_THAT(refusal(*p.schedule, [&] { p.schedule->prepack(p.schedule->block("u")); }),
                HasSubstr("stage 'rows' beside it needs a workspace"));
  }
  {
    PrepackProgram p;
    p.put_rows_inside();
    p.schedule->parallel(p.schedule->loops(p.schedule->block("u"))[0]);
    EXPECT_THAT(refusal(*p.schedule, [&] { p.schedule->prepack(p.schedule->block("u")); }),
                HasSubstr("loop 'i' of stage 'u' is parallel; a prepack runs on one thread"));
  }
  {
    PrepackProgram p;
    p.put_rows_inside();
    p.schedule->transform_layout("w", Layout{{{0, 2, 3}, {0, 1, 2}}});
    EXPECT_THAT(refusal(*p.schedule, [&] { p.schedule->prepack(p.schedule->block("u")); }),
                HasSubstr("the layout of 'w' was transformed"));
  }
  {
    PrepackProgram p(ParamRole::kInput);
    p.put_rows_inside();
    EXPECT_THAT(refusal(*p.schedule, [&] { p.schedule->prepack(p.schedule->block("u")); }),
                HasSubstr("it reads 'w', which is not a constant parameter"));
  }
}

}  // namespace
}  // namespace hone
