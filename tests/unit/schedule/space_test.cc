#include "compiler/schedule/space.h"

#include <gmock/gmock.h>

#include <set>

#include "base/check.h"
#include "compiler/schedule/config_name.h"

namespace hone {
namespace {

using testing::HasSubstr;

// Two splits and a choice with one constraint between them.
void declare(Knobs& k) {
  const Split x = k.split("tile_x", 12, 2);
  const Split y = k.split("tile_y", 7, 3, {.max_inner = {7, 4}, .prefer = {1, 4}});
  const int64_t u = k.choice("unroll", {1, 2, 4}, 2);
  k.require("tiles are small", x[1] * y[2] * u <= 16);
}

TEST(Space, PrintsParsesAndIndexesBothWays) {
  const Space s("t", 1, declare);
  ASSERT_TRUE(s.size() > 0);
  for (ConfigIndex i = 0; i < s.size(); ++i) {
    const Config c = s.config_at(i);
    ASSERT_EQ(s.index_of(c), i);
    ASSERT_EQ(s.parse(s.print(c)), c);
  }
}

TEST(Space, OfKnownKnobsIsTheSameAsOneThatDeclaresThem) {
  const Space declared("t", 1, declare);
  int asked = 0;
  const auto settle = [&asked](const Space& space, const Config& c) {
    ++asked;
    return Space::settled_by(declare, space, c);
  };
  const Space known("t", 1, "", Space::declared(declare), settle);
  EXPECT_EQ(known.fingerprint(), declared.fingerprint());
  EXPECT_EQ(known.default_config(), declared.default_config());
  for (ConfigIndex i = 0; i < declared.size(); ++i)
    ASSERT_EQ(known.broken_constraint(known.config_at(i)), declared.broken_constraint(declared.config_at(i)));
  EXPECT_GT(asked, 0);
  const Space moved = known;  // a copy asks as the one it was made of
  EXPECT_EQ(moved.count_valid(), declared.count_valid());

  const Space other("t", 1, "another program", Space::declared(declare), settle);
  EXPECT_NE(other.fingerprint(), declared.fingerprint());
  EXPECT_THROW(Space("t", 1, "", Space::declared(declare),
                     [](const Space&, const Config&) -> Settled { throw UserError("no answer"); }),
               UserError);
}

TEST(ConfigName, IsTheSameWordOrTwoWhereverAConfigIsNamed) {
  const Space s("t", 1, [](Knobs& k) {
    k.choice("algorithm", {0, 4}, 0, {{0, "direct"}, {4, "winograd4"}});
    k.choice("tile", {1, 2}, 2);
    k.choice("order", {0, 1}, 0, {{0, "k_first"}, {1, "k_last"}});
    k.thread_choice("partition", {0, 1}, 0, {{0, "static"}, {1, "dynamic"}});
  });
  const auto name = [&](const char* text) { return config_name(s, s.parse(text)); };
  EXPECT_EQ(name("algorithm=direct,tile=2,order=k_first,partition=static"), "default");
  EXPECT_EQ(name("algorithm=0,tile=1,order=0,partition=0"), "direct");
  EXPECT_EQ(name("algorithm=4,tile=2,order=0,partition=0"), "winograd4");
  EXPECT_EQ(name("algorithm=4,tile=2,order=1,partition=1"), "winograd4 dynamic");
  const Space plain("t", 1, [](Knobs& k) {
    k.choice("tile", {1, 2}, 2);
    k.thread_choice("partition", {0, 1}, 0, {{0, "static"}, {1, "dynamic"}});
  });
  EXPECT_EQ(config_name(plain, plain.parse("tile=1,partition=0")), "tuned");
  EXPECT_EQ(config_name(plain, plain.parse("tile=2,partition=1")), "dynamic");
}

TEST(Space, ChoicesHaveWordsForPeopleAndNumbersForDatabases) {
  const auto plain = [](Knobs& k) {
    k.choice("algorithm", {0, 4}, 0);
    k.choice("tile", {1, 2}, 2);
  };
  const auto named = [](Knobs& k) {
    k.choice("algorithm", {0, 4}, 0, {{0, "direct"}, {4, "winograd4"}, {6, "winograd6"}});
    k.choice("tile", {1, 2}, 2);
  };
  const Space a("t", 1, plain), b("t", 1, named);
  EXPECT_EQ(a.fingerprint(), b.fingerprint());
  const Config c = b.parse("algorithm=winograd4,tile=1");
  EXPECT_EQ(b.print(c), "algorithm=4,tile=1");
  EXPECT_EQ(b.describe(c), "algorithm=winograd4,tile=1");
  EXPECT_EQ(a.describe(a.parse(b.print(c))), "algorithm=4,tile=1");
  EXPECT_EQ(b.parse(b.print(c)), c);
  try {
    b.parse("algorithm=gemm,tile=1");
    FAIL() << "it has no such choice";
  } catch (const UserError& e) {
    EXPECT_THAT(e.what(), HasSubstr("has no choice 'gemm'; the first of its 2 are direct, winograd4"));
  }
  const Space narrow("t", 1, named, {{"algorithm", {"winograd4"}}});
  EXPECT_EQ(narrow.describe(narrow.default_config()), "algorithm=winograd4,tile=2");
}

TEST(Space, SplitsCoverTheExtent) {
  const Space s("t", 1, declare);
  int splits = 0;
  for (const Knob& k : s.knobs()) {
    if (k.kind != KnobKind::kSplit) continue;
    ++splits;
    const int64_t extent = k.name == "tile_x" ? 12 : 7;
    std::set<std::vector<int64_t>> distinct;
    for (const auto& c : k.choices) {
      int64_t inner = 1;
      for (size_t i = 1; i < c.size(); ++i) inner *= c[i];
      EXPECT_EQ(c[0], (extent + inner - 1) / inner);
      EXPECT_TRUE(distinct.insert(c).second) << "twice";
    }
    EXPECT_GT(distinct.size(), 1u) << k.name;
  }
  EXPECT_EQ(splits, 2);
}

TEST(Space, CountsEnumeratesAndSamplesTheSameConfigs) {
  const Space s("t", 1, declare);
  std::set<std::string> enumerated, sampled;
  ConfigIndex from = 0;
  while (const auto c = s.next_valid(&from)) enumerated.insert(s.print(*c));
  EXPECT_EQ(s.count_valid(), enumerated.size());
  EXPECT_LT(enumerated.size(), static_cast<size_t>(s.size()));
  std::mt19937_64 rng(1);
  for (int i = 0; i < 20000; ++i) sampled.insert(s.print(*s.sample(rng)));
  EXPECT_EQ(sampled, enumerated);
  EXPECT_EQ(s.count_valid(10), std::nullopt);
}

TEST(Space, DefaultIsValidAndNearThePreferredChoices) {
  const Space s("t", 1, declare);
  EXPECT_TRUE(s.valid(s.default_config()));
  EXPECT_THAT(s.print(s.default_config()), HasSubstr("unroll=2"));
}

TEST(Space, HugeSpacesAreNeverMaterialised) {
  const Space s("big", 1, [](Knobs& k) {
    for (int i = 0; i < 17; ++i) k.split("s" + std::to_string(i), 1024, 3);
  });
  EXPECT_GT(s.size(), ConfigIndex{1} << 64);
  std::mt19937_64 rng(1);
  const Config c = *s.sample(rng);
  EXPECT_EQ(s.config_at(s.index_of(c)), c);
  EXPECT_THROW(Space("too big", 1,
                     [](Knobs& k) {
                       for (int i = 0; i < 60; ++i) k.split("s" + std::to_string(i), 1024, 3);
                     }),
               UserError);
}

TEST(Space, FingerprintTellsTemplatesApart) {
  const auto with = [](std::string name, int revision, std::vector<int64_t> choices) {
    return Space(name, revision, [choices](Knobs& k) { k.choice("a", choices); }).fingerprint();
  };
  const Hash128 base = with("t", 1, {1, 2});
  EXPECT_EQ(with("t", 1, {1, 2}), base);
  EXPECT_NE(with("u", 1, {1, 2}), base);
  EXPECT_NE(with("t", 2, {1, 2}), base);
  EXPECT_NE(with("t", 1, {1, 2, 4}), base);
}

TEST(Space, ChoicesThatBreakAConstraintAreNotTriedWithEveryRest) {
  int runs = 0;
  const auto declare = [&runs](Knobs& k) {
    ++runs;
    const std::vector<int64_t> ten{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    const int64_t a = k.choice("a", ten, 0), b = k.choice("b", ten, 0);
    k.require("a and b agree", a == b);
    const int64_t c = k.choice("c", ten, 0);
    k.choice("d", ten, 0);
    k.require("c is even", c % 2 == 0);
  };
  const Space space("t", 1, declare);
  std::vector<ConfigIndex> found;
  ConfigIndex at = 0;
  runs = 0;
  while (const auto c = space.next_valid(&at)) found.push_back(space.index_of(*c));
  // 90 pairs once each, 10 pairs with 5 x 10 valid rests and 5 x 10 broken ones, all of them looked at: `c is even`
  // comes after d.
  EXPECT_EQ(runs, 90 + 10 * 100);
  std::vector<ConfigIndex> valid;
  for (ConfigIndex i = 0; i < space.size(); ++i)
    if (space.valid(space.config_at(i))) valid.push_back(i);
  EXPECT_EQ(found, valid);
}

TEST(Space, NarrowedKnobsKeepTheChoicesNamed) {
  const auto declare = [](Knobs& k) {
    const int64_t unroll = k.choice("unroll", {1, 2, 4, 8}, 4);
    const Split tile = k.split("tile", 12, 2);
    k.require("small", unroll * tile[1] <= 16);
  };
  const Space whole("t", 1, declare), some("t", 1, declare, {{"unroll", {"1", "8"}}, {"tile", {"6x2", "3x4"}}});
  std::vector<std::string> all;
  ConfigIndex at = 0;
  while (const auto c = some.next_valid(&at)) {
    EXPECT_TRUE(whole.valid(whole.parse(some.print(*c))));
    all.push_back(some.print(*c));
  }
  EXPECT_EQ(all, (std::vector<std::string>{"unroll=1,tile=6x2", "unroll=1,tile=3x4", "unroll=8,tile=6x2"}));
  EXPECT_TRUE(some.valid(some.default_config()));
  EXPECT_NE(some.fingerprint(), whole.fingerprint());
  EXPECT_EQ(some.reader(some.parse("unroll=8,tile=6x2")).choice("unroll", {1, 2, 4, 8}), 8)
      << "the template asks with all choices";
  EXPECT_THROW(Space("t", 1, declare, {{"unrol", {"1"}}}), UserError);
  EXPECT_THROW(Space("t", 1, declare, {{"unroll", {"3"}}}), UserError);
}

TEST(Space, ParseNamesWhatIsWrong) {
  const Space s("t", 1, declare);
  const auto refusal = [&](const char* text) -> std::string {
    try {
      s.parse(text);
    } catch (const UserError& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal("tile_z=1"), HasSubstr("unknown knob 'tile_z'; template t has tile_x, tile_y, unroll"));
  EXPECT_THAT(refusal("unroll=3"), HasSubstr("knob 'unroll' has no choice '3'; the first of its 3 are 1, 2, 4"));
  EXPECT_THAT(refusal("unroll=1,unroll=2"), HasSubstr("knob 'unroll' is given twice"));
  EXPECT_THAT(refusal("unroll=1"), HasSubstr("knob 'tile_x' is missing"));
  EXPECT_THAT(refusal("garbage"), HasSubstr("unknown knob 'garbage'"));
  for (const std::string config : {"text(0123456789abcdef0123456789abcdef)", "vendor(cublas,12.4.5)"})
    EXPECT_EQ(refusal(config.c_str()),
              "config: " + config + ": texts of kernels and kernels of vendors are not supported by this version");
}

TEST(Space, WithoutAValidConfigIsAnError) {
  EXPECT_THROW(Space("none", 1,
                     [](Knobs& k) {
                       k.choice("a", {1, 2});
                       k.require("never", false);
                     }),
               UserError);
}

TEST(Space, AdaptsTheConfigOfAnotherSpace) {
  const auto space = [](int64_t extent) {
    return Space("t", 1, [extent](Knobs& k) {
      k.split("tile", extent, 2);
      k.choice("u", {1, 2, 4, 8});
    });
  };
  const Space from = space(32), to = space(28);
  const auto c = to.adapt(from.print(from.parse("tile=2x16,u=4")));
  ASSERT_TRUE(c);
  EXPECT_EQ(to.print(*c), "tile=2x16,u=4");    // a tail of 4 wastes little
  EXPECT_TRUE(to.adapt("what=7,u=3,tile=x"));  // foreign text gives the nearest that can be made of it
  EXPECT_FALSE(to.adapt("text(0123456789abcdef0123456789abcdef,u=4)"));
  EXPECT_FALSE(to.adapt("vendor(cublas,12.4.5)"));
}

// Two algorithms, each with a knob of its own.
void declare_algorithms(Knobs& k) {
  const int64_t algorithm = k.choice("algorithm", {0, 1});
  k.when(algorithm == 0);
  const int64_t a = k.choice("a", {1, 2, 3}, 2);
  k.require("a is small", a < 3);
  k.when(algorithm == 1);
  k.split("b", 6, 2);
  k.when(true);
  k.choice("c", {5, 6});
}

TEST(Space, KnobsThatDoNotMatterStayAtTheirDefault) {
  const Space s("t", 1, declare_algorithms);
  std::set<std::string> enumerated, sampled,
      expected{"algorithm=0,a=1,c=5", "algorithm=0,a=1,c=6", "algorithm=0,a=2,c=5", "algorithm=0,a=2,c=6"};
  for (const char* b : {"6x1", "3x2", "2x3", "1x6", "2x4"})
    for (const char* c : {"5", "6"}) expected.insert(std::string("algorithm=1,b=") + b + ",c=" + c);
  ConfigIndex from = 0;
  while (const auto c = s.next_valid(&from)) EXPECT_TRUE(enumerated.insert(s.print(*c)).second) << s.print(*c);
  EXPECT_EQ(enumerated, expected);
  EXPECT_EQ(s.count_valid(), expected.size());
  std::mt19937_64 rng(1);
  for (int i = 0; i < 2000; ++i) {
    const Config c = *s.sample(rng);
    EXPECT_TRUE(s.valid(c));
    EXPECT_EQ(s.parse(s.print(c)), c);
    sampled.insert(s.print(c));
  }
  EXPECT_EQ(sampled, expected);
}

TEST(Space, SaysWhichKnobDoesNotMatter) {
  const Space s("t", 1, declare_algorithms);
  EXPECT_THROW(s.parse("algorithm=1,b=6x1,a=1,c=5"), UserError);
  EXPECT_THROW(s.parse("algorithm=1,c=5"), UserError);
  Config c = s.parse("algorithm=1,b=6x1,c=5");
  c.choices[1] = 0;
  EXPECT_EQ(s.broken_constraint(c), "knob 'a' does not matter there and stays at 2");
  EXPECT_EQ(s.print(s.canonical(c)), "algorithm=1,b=6x1,c=5");
  EXPECT_EQ(s.knobs_at_work(c), (std::vector<size_t>{0, 2, 3}));
}

}  // namespace
}  // namespace hone
