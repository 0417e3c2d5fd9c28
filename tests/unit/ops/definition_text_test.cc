#include "compiler/ops/definition_text.h"

#include <gmock/gmock.h>

#include "base/check.h"
#include "base/json.h"
#include "compiler/ir/structural_hash.h"
#include "compiler/lower/lower.h"
#include "compiler/schedule/schedule.h"
#include "tests/fakes/cpu_workloads.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using testing::HasSubstr;

Hash128 naive_program(const Definition& d) { return content_hash(lower(Schedule(d.inputs, d.outputs), {})); }

TEST(DefinitionText, IsReadAsTheSameComputation) {
  size_t read = 0;
  for (const char* text : kCpuWorkloads) {
    const Definition d = define(parse_workload(text));
    const auto is_reshaped = [](const Tensor& t) { return !t->caller_shape.empty(); };
    if (std::any_of(d.outputs.begin(), d.outputs.end(), is_reshaped) ||
        std::any_of(d.inputs.begin(), d.inputs.end(), [&](const auto& in) { return is_reshaped(in.first); }))
      continue;
    const std::string written = definition_to_text(d);
    const Definition again = definition_from_text(written);
    EXPECT_EQ(definition_to_text(again), written) << text;
    EXPECT_EQ(naive_program(again), naive_program(d)) << text;
    ++read;
  }
  EXPECT_GT(read, 50u);
}

std::string small() {
  const Tensor a = placeholder("a", {4}, f32);
  const Tensor b = compute("b", {4}, {"i"}, {a}, [&](const auto& i) {
    return select(lt(i[0], int64_t{2}), a(i[0]) * make_float(-0.0), make_float(-INFINITY));
  });
  return definition_to_text({{{a, ParamRole::kInput}}, {b}});
}

TEST(DefinitionText, IsWhatItSays) {
  EXPECT_EQ(small(),
            R"({"inputs":[["a","f32",[4],"input"]],"outputs":[1],"stages":[{"axes":[["i",4]],"name":"b","reads":[0],)"
            R"("value":["where",["<","i0",["s64",2]],["*",["[]",0,"i0"],["f32",-0.0]],["f32","-inf"]]}]})");
  EXPECT_EQ(definition_to_text(definition_from_text(small())), small());
}

// A scan, and a stage that looks for its largest.
std::string scanned() {
  const Tensor a = placeholder("a", {4}, f32);
  const Tensor b = scan(
      "b", {4}, {"t"}, 0, {a}, [](const auto&) { return make_float(1.0); },
      [&](const Expr& previous, const auto& i) { return previous * a(i[0]) + previous; });
  const Axis r = reduce_axis("r", 4);
  const Tensor c = comparing_bits(compute_reduce("c", {1}, {"i"}, {b}, [&](const auto&) {
    return min_over(select(le(make_float(3.0), b(Expr(r))), cast(i32, r.var), make_int(4, i32)), {r});
  }));
  return definition_to_text({{{a, ParamRole::kInput}}, {c}});
}

TEST(DefinitionText, HasScansAndComparisonsOfBits) {
  EXPECT_THAT(scanned(), HasSubstr(R"("first":["f32",1.0],"name":"b","reads":[0],"scan":0,"value":["+",["*",)"
                                   R"(["previous"],["[]",0,"i0"]],["previous"]])"));
  EXPECT_THAT(scanned(), HasSubstr(R"("compares_bits":true)"));
  const Definition again = definition_from_text(scanned());
  EXPECT_EQ(definition_to_text(again), scanned());
  EXPECT_TRUE(again.output()->compares_bits);
  EXPECT_EQ(again.output()->inputs[0]->scan_axis, 0U);
  const auto changed = [](const char* from, const char* to) {
    std::string text = scanned();
    return text.replace(text.find(from), std::string(from).size(), to);
  };
  for (const std::string& text :
       {changed("\"scan\":0", "\"scan\":1"), changed("\"scan\":0,", ""), changed("[\"f32\",1.0]", "[\"s32\",1]"),
        changed("[\"f32\",1.0]", "[\"previous\"]"), changed("[\"f32\",1.0]", "[\"[]\",1,\"i0\"]"),
        changed("[\"previous\"],[\"[]\"", "[\"previous\",1],[\"[]\"")})
    EXPECT_THROW(definition_from_text(text), UserError) << text;
}

TEST(DefinitionText, RefusesWhatIsNoDefinition) {
  const auto changed = [](const char* from, const char* to) {
    std::string text = small();
    const size_t at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    return text.replace(at, std::string(from).size(), to);
  };
  for (const std::string& text : {std::string(),
                                  std::string("{}"),
                                  std::string("[]"),
                                  changed("f32", "f33"),
                                  changed("[4]", "[0]"),
                                  changed("[4]", "[]"),
                                  changed("\"input\"", "\"output\""),
                                  changed("\"outputs\":[1]", "\"outputs\":[2]"),
                                  changed("\"outputs\":[1]", "\"outputs\":[0]"),
                                  changed("\"outputs\":[1]", "\"outputs\":[]"),
                                  changed("\"reads\":[0]", "\"reads\":[1]"),
                                  changed("[\"[]\",0", "[\"[]\",1"),
                                  changed("\"i0\"", "\"i1\""),
                                  changed("\"i0\"", "\"k0\""),
                                  changed("\"i0\"", "\"\""),
                                  changed("\"<\"", "\"<<\""),
                                  changed("s64", "s32"),
                                  changed("\"*\"", "\"&&\""),
                                  changed("\"*\"", "\"floordiv\""),
                                  changed("\"where\"", "\"exp\""),
                                  changed("[\"i\",4]", "[\"i\",0]"),
                                  changed("[\"i\",4]", "[\"i\",4],[\"i\",9223372036854775807]"),
                                  changed("-inf", "infinite"),
                                  changed("\"name\"", "\"reduce\":\"mul\",\"name\"")})
    EXPECT_THROW(definition_from_text(text), UserError) << text;
}

TEST(DefinitionText, ReducesAndIsNamedByItsNames) {
  const Definition d = define(parse_workload("dense(m=4,n=8,k=16)"));
  std::string text = definition_to_text(d);
  EXPECT_THAT(text, HasSubstr("\"reduce\":\"sum\""));
  Json j = Json::parse(text);
  j["inputs"][0][0] = "another";
  EXPECT_NE(definition_to_text(definition_from_text(j.dump())), text);
}

TEST(OperationsOf, CountsAsOperatorsDo) {
  for (const char* text :
       {"dense(m=4,n=8,k=16)", "conv2d(ci=4,h=6,w=6,co=8,pad=0,layout=NCHW)", "batch_matmul(b=2,m=3,n=4,k=5)"}) {
    const Workload w = parse_workload(text);
    EXPECT_EQ(operations_of(define(w)), flops(w)) << text;
  }
  EXPECT_EQ(operations_of(define(parse_workload("transpose(shape=4x6,perm=1:0)"))), 24);
}

}  // namespace
}  // namespace hone
