#include "compiler/ops/user_operator.h"

#include <gmock/gmock.h>

#include "base/key.h"
#include "compiler/build/choose_config.h"
#include "compiler/ir/structural_hash.h"
#include "compiler/lower/lower.h"
#include "compiler/ops/definition_text.h"
#include "tests/fakes/known_trial.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Definition doubled(int64_t n) {
  const Tensor a = placeholder("a", {n}, f32);
  const Tensor b = compute("b", {n}, {"i"}, {a}, [&](const auto& i) { return a(i[0]) * make_float(2); });
  return {{{a, ParamRole::kInput}}, {b}};
}

void ask(Knobs& k) {
  const int64_t lanes = k.choice("lanes", {4, 8, 16});
  const int64_t copies = k.choice("copies", {1, 2});
  k.require("it is small", lanes * copies <= 16);
}

// A template that runs here, as one does that runs elsewhere.
std::shared_ptr<const UserTemplate> lanes_template(const Definition& d, std::string program = "a program") {
  auto own = std::make_shared<UserTemplate>();
  own->name = "doubled";
  own->program = std::move(program);
  own->knobs = Space::declared(ask);
  own->settle = [](const Space& space, const Config& c) { return Space::settled_by(ask, space, c); };
  own->apply = [d](const Space& space, const Config& c) {
    Knobs knobs = space.reader(c);
    auto s = std::make_unique<Schedule>(d.inputs, d.outputs);
    s->vectorize(s->split(s->loops(s->block("b"))[0], knobs.choice("lanes", {4, 8, 16})).second);
    return s;
  };
  return own;
}

Workload workload(int64_t n, std::string program = "a program") {
  const Definition d = doubled(n);
  return user_workload("doubled", d, {{"n", std::to_string(n)}, {"dtype", "f32"}},
                       lanes_template(d, std::move(program)));
}

const Target kTarget = Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver4 -threads=2");

TEST(UserOperator, IsAWorkloadUnderTheHashOfItsDefinition) {
  const Workload w = workload(64);
  EXPECT_EQ(to_string(w), "op(name=doubled,def=" + key_hash(definition_to_text(doubled(64))) + ",n=64,dtype=f32)");
  EXPECT_EQ(key_hash(user_definition(w)), w.attributes.text("def"));
  EXPECT_EQ(user_label(w), "doubled n=64,dtype=f32");
  EXPECT_EQ(flops(w), 64);
  EXPECT_NE(w.attributes.text("def"), workload(65).attributes.text("def"));
  EXPECT_EQ(user_template(parse_workload("dense(m=1,n=1,k=1)")), nullptr);
  // Only the program that has the template can read it.
  EXPECT_EQ(Workload::parse_of(w.op, to_string(w)), w);
  EXPECT_THROW(parse_workload(to_string(w)), UserError);
}

TEST(UserOperator, RefusesNamesThatKeysOrHoneHave) {
  const auto error = [](const char* name, std::vector<std::pair<std::string, std::string>> attributes) -> std::string {
    try {
      user_workload(name, doubled(8), attributes, nullptr);
      return "";
    } catch (const UserError& e) {
      return e.what();
    }
  };
  EXPECT_EQ(error("my_op", {{"n", "8"}, {"x", "1x2"}, {"y", "-0.75"}, {"z", "relu"}}), "");
  EXPECT_THAT(error("dense", {}), HasSubstr("'dense' is an operator of Hone's"));
  EXPECT_THAT(error("op", {}), HasSubstr("operator of Hone's"));
  for (const char* name : {"", "<lambda>", "2d", "a b", "größe"}) EXPECT_THAT(error(name, {}), HasSubstr("is no name"));
  EXPECT_NE(error("my_op", {{"n", "a,b"}}), "");
  EXPECT_NE(error("my_op", {{"n", "("}}), "");
  EXPECT_NE(error("my_op", {{"n", "1"}, {"n", "2"}}), "");
  EXPECT_NE(error("my_op", {{"name", "1"}}), "");
  EXPECT_NE(error("my_op", {{"n", "3..3"}}), "") << "it would be another key";
  EXPECT_NE(error("my_op", {{"n", ""}}), "");
}

TEST(UserOperator, IsLoweredByItsOwnTemplate) {
  const Workload w = workload(64);
  const Space space = make_space(w, kTarget);
  EXPECT_EQ(space.print(space.default_config()), "lanes=4,copies=1");
  EXPECT_EQ(space.broken_constraint(space.parse("lanes=16,copies=2")), "it is small");
  const auto program = [&](const char* config) {
    return content_hash(lower_config(w, kTarget, space, space.parse(config)));
  };
  EXPECT_NE(program("lanes=4,copies=1"), program("lanes=8,copies=1"));
  EXPECT_EQ(program("lanes=8,copies=2"), program("lanes=8,copies=1"));
  EXPECT_THROW(program("lanes=16,copies=2"), UserError);
  EXPECT_NE(make_space(workload(64, "another"), kTarget).fingerprint(), space.fingerprint())
      << "what is measured of another program does not count";
}

TEST(UserOperator, TakesTheNearestArgumentsConfig) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/hub.db";
  const auto choose = [&](const Workload& w) {
    db::HubOptions options;
    options.db_file = path;
    const auto hub = db::TopHub::open(options);
    EXPECT_TRUE(hub.ok());
    const Space space = make_space(w, kTarget);
    const StatusOr<ChosenConfig> c = choose_config(w, kTarget, space, **hub);
    EXPECT_TRUE(c.ok()) << c.status();
    return std::pair(space.print(c->config), c->source);
  };
  const Workload known = workload(64);
  add_known_trial(path, known, kTarget, make_space(known, kTarget), "lanes=16,copies=1", 1e-3, 1, "", 0);
  EXPECT_EQ(choose(known).first, "lanes=16,copies=1");
  EXPECT_THAT(choose(known).second, StartsWith("best (exact workload"));
  EXPECT_EQ(choose(workload(96)).first, "lanes=16,copies=1");
  EXPECT_THAT(choose(workload(96)).second, StartsWith("nearest (op(name=doubled"));
  EXPECT_EQ(choose(workload(4096)).second, "default") << "too far away";
  const Definition d = doubled(64);
  EXPECT_EQ(choose(user_workload("other", d, {{"n", "64"}, {"dtype", "f32"}}, lanes_template(d))).second, "default");
}

}  // namespace
}  // namespace hone
