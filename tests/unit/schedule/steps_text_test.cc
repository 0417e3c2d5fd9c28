#include "compiler/schedule/steps_text.h"

#include <gmock/gmock.h>

#include "base/check.h"
#include "compiler/ir/printer.h"
#include "compiler/lower/lower.h"
#include "compiler/schedule/schedule.h"

namespace hone {
namespace {

using testing::HasSubstr;

struct Product {
  Tensor a = placeholder("a", {20, 24}, f32), b = placeholder("b", {24, 48}, f32);
  Axis k = reduce_axis("k", 24);
  Tensor c = compute_reduce("c", {20, 48}, {"i", "j"}, {a, b},
                            [this](const std::vector<Expr>& i) { return sum(a(i[0], k) * b(k, i[1]), {k}); });

  std::unique_ptr<Schedule> schedule() const {
    return std::make_unique<Schedule>(
        std::vector<std::pair<Tensor, ParamRole>>{{a, ParamRole::kInput}, {b, ParamRole::kConstant}}, c);
  }
};

std::unique_ptr<Schedule> tiled(const Product& p) {
  auto s = p.schedule();
  const BlockRef copy = s->cache_write(s->block("c"), BufferScope::kStack);
  const auto loops = s->loops(copy);
  const auto tile = s->tile(loops[0], loops[1], 4, 16);
  s->vectorize(tile[3]);
  s->unroll(tile[2]);
  s->compute_at(s->block("c"), tile[1]);
  const auto inner = s->loops(s->block("c"));
  const auto [ko, ki] = s->split(inner[inner.size() - 1], 5);
  s->decompose_reduction(s->block("c"), ko);
  const BlockRef packed = s->cache_read("b", s->block("c"), BufferScope::kWorkspace);
  s->transform_layout(s->buffer_of(packed), Layout::parse("NM16n", "MN", {24, 48}));
  s->prepack(packed);
  s->parallel(tile[0]);
  s->annotate("vector_bits", 256);
  return s;
}

TEST(StepsText, ReplaysAsTheSameProgram) {
  const Product p;
  const auto s = tiled(p);
  const std::string text = steps_to_text(s->steps());
  const auto again = p.schedule();
  again->replay(steps_from_text(text));
  EXPECT_EQ(steps_to_text(again->steps()), text);
  EXPECT_EQ(to_string(lower(*again, {})), to_string(lower(*s, {})));
  EXPECT_NE(to_string(lower(*again, {})), to_string(lower(*p.schedule(), {})));
}

TEST(StepsText, NamesEveryPrimitiveOnce) {
  std::vector<Step> steps;
  for (int p = 0; p <= static_cast<int>(Primitive::kDoubleBuffer); ++p)
    steps.push_back({static_cast<Primitive>(p), {p, -p}, p % 2 ? "a \"name\"\n" : "", "a text"});
  const std::vector<Step> read = steps_from_text(steps_to_text(steps));
  ASSERT_EQ(read.size(), steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(read[i].primitive, steps[i].primitive) << i;
    EXPECT_EQ(read[i].args, steps[i].args) << i;
    EXPECT_EQ(read[i].name, steps[i].name) << i;
  }
}

TEST(StepsText, RefusesWhatIsNone) {
  for (const char* text : {"", "[", "7", "{}}", "[[]]", "[[\"split\"]]", "[[\"split\",7]]", "[[\"split\",[0],[1]]]",
                           "[[\"split\",[\"a\"]]]", "[[3,[0]]]"})
    EXPECT_THROW(steps_from_text(text), UserError) << text;
  try {
    steps_from_text("[[\"fly\",[]]]");
    FAIL();
  } catch (const UserError& e) {
    EXPECT_THAT(e.what(), HasSubstr("no primitive 'fly'"));
  }
  const Product p;
  EXPECT_THROW(p.schedule()->replay(steps_from_text("[[\"split\",[77,4]]]")), UserError);
}

}  // namespace
}  // namespace hone
