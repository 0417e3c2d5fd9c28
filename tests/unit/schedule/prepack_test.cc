#include <gmock/gmock.h>

#include "compiler/arith/verify.h"
#include "compiler/ir/interp.h"
#include "compiler/ir/printer.h"
#include "compiler/lower/lower.h"
#include "tests/fakes/refusal.h"

namespace hone {
namespace {

using testing::HasSubstr;

// rows[i] = w[i] + w[i + 1], u[i] = rows[i] * 3, d[i] = a[i] * u[i]; 5 elements.
struct Program {
  Tensor a, w, rows, u, d;
  std::unique_ptr<Schedule> schedule;
  explicit Program(ParamRole role = ParamRole::kConstant) {
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
  Program p;
  Schedule& s = *p.schedule;
  p.put_rows_inside();
  s.transform_layout("u", Layout{{{0, 4, 2}, {0, 1, 4}}});  // padded to 8
  s.prepack(s.block("u"));
  const Module m = lower(s, {});
  verify(m);
  ASSERT_EQ(m.prepacks.size(), 1u);
  EXPECT_EQ(m.prepacks[0].param, 1);
  EXPECT_EQ(packed_shape(m, 1), (std::vector<int64_t>{8}));
  EXPECT_EQ(to_string(m.prepacks[0].function),
            "func prepack_w(w: s32[6], u: s32[8]) {\n  for i in 0..5 {\n    alloc rows: s32[1] stack {\n      rows[0] "
            "= w[i] + w[i + 1]\n      u[i] = rows[0] * s32(3)\n    }\n  }\n}\n");

  std::vector<int32_t> data{1, 2, 3, 4, 5}, weight{7, 8, 9, 10, 11, 12}, packed(8), out(5);
  interpret(m.prepacks[0].function, {{weight.data(), 6}, {packed.data(), 8}});
  interpret(m, {{data.data(), 5}, {packed.data(), 8}, {out.data(), 5}});
  EXPECT_EQ(out, (std::vector<int32_t>{45, 102, 171, 252, 345}));
}

TEST(Prepack, IsReplayed) {
  Program p, again;
  p.put_rows_inside();
  p.schedule->prepack(p.schedule->block("u"));
  again.schedule->replay(p.schedule->steps());
  EXPECT_EQ(again.schedule->text(), p.schedule->text());
  EXPECT_EQ(to_string(lower(*again.schedule, {})), to_string(lower(*p.schedule, {})));
}

TEST(Prepack, RefusesWhatCannotBeMadeAhead) {
  {
    Program p;
    EXPECT_THAT(
        refusal(*p.schedule, [&] { p.schedule->prepack(p.schedule->block("d")); }),
        HasSubstr("prepack: stage 'd': its result is a param buffer; only one in the workspace can be made ahead"));
    EXPECT_THAT(refusal(*p.schedule, [&] { p.schedule->prepack(p.schedule->block("u")); }),
                HasSubstr("prepack: stage 'u': it reads 'rows', which is no constant parameter"));
    const BlockRef rows = p.schedule->block("rows");
    p.schedule->prepack(rows);
    EXPECT_THAT(refusal(*p.schedule, [&] { p.schedule->prepack(rows); }), HasSubstr("gone: prepack(rows)"));
  }
  {
    Program p;
    p.schedule->compute_at(p.schedule->block("rows"), p.schedule->loops(p.schedule->block("u"))[0]);
    EXPECT_THAT(refusal(*p.schedule, [&] { p.schedule->prepack(p.schedule->block("u")); }),
                HasSubstr("stage 'rows' beside it needs a workspace"));
  }
  {
    Program p;
    p.put_rows_inside();
    p.schedule->parallel(p.schedule->loops(p.schedule->block("u"))[0]);
    EXPECT_THAT(refusal(*p.schedule, [&] { p.schedule->prepack(p.schedule->block("u")); }),
                HasSubstr("loop 'i' of stage 'u' is parallel; a prepack runs on one thread"));
  }
  {
    Program p;
    p.put_rows_inside();
    p.schedule->transform_layout("w", Layout{{{0, 2, 3}, {0, 1, 2}}});
    EXPECT_THAT(refusal(*p.schedule, [&] { p.schedule->prepack(p.schedule->block("u")); }),
                HasSubstr("the layout of 'w' was transformed"));
  }
  {
    Program p(ParamRole::kInput);
    p.put_rows_inside();
    EXPECT_THAT(refusal(*p.schedule, [&] { p.schedule->prepack(p.schedule->block("u")); }),
                HasSubstr("it reads 'w', which is no constant parameter"));
  }
}

}  // namespace
}  // namespace hone
