// is_same_definition() says what the comparison of two texts says.
#include "compiler/ops/same_definition.h"

#include <gmock/gmock.h>

#include "base/check.h"
#include "base/json.h"
#include "compiler/ops/definition_text.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

// With a scan, a reduction, a function, constants, and bits that are compared.
std::string of_many_kinds() {
  return R"({"inputs":[["a","f32",[4],"input"],["w","f32",[4],"constant"]],"outputs":[4,3],"stages":[)"
         R"({"axes":[["t",4]],"name":"b","reads":[0],"scan":0,"first":["f32",1.0],)"
         R"("value":["+",["*",["previous"],["[]",0,"i0"]],["f32",0.5]]},)"
         R"({"axes":[["i",1]],"name":"c","over":[["r",4]],"reads":[2,1],"reduce":"min","compares_bits":true,)"
         R"("value":["where",["<=",["[]",1,"k0"],["[]",2,"k0"]],["cast","s32","k0"],["s32",4]]},)"
         R"({"axes":[["i",4]],"name":"d","reads":[2],"value":["exp",["[]",2,["-",["s64",3],"i0"]]]}]})";
}

// Every leaf of `j`, changed one at a time.
void changed(Json& root, Json& at, std::vector<std::string>* out) {
  if (at.is_structured()) {
    for (Json& child : at) changed(root, child, out);
    return;
  }
  const Json was = at;
  const auto with = [&](const Json& value) {
    at = value;
    out->push_back(json_line(root));
  };
  if (at.is_number_integer()) {
    with(was.get<int64_t>() + 1);
    with(std::max<int64_t>(0, was.get<int64_t>() - 1));
  } else if (at.is_number()) {
    with(was.get<double>() + 0.25);
  } else if (at.is_boolean()) {
    with(!was.get<bool>());
  } else {
    for (const char* word :
         {"f32", "s32", "s64", "input", "constant", "sum", "max", "i0", "k0", "<", "<=", "+", "*", "log", "x"})
      with(word);
  }
  at = was;
}

size_t check_against_texts(const std::string& text) {
  const Definition d = definition_from_text(text);
  EXPECT_TRUE(is_same_definition(d, definition_from_text(text))) << text;
  Json root = Json::parse(text);
  std::vector<std::string> texts;
  changed(root, root, &texts);
  size_t others = 0;
  for (const std::string& changed_text : texts) {
    std::optional<Definition> other;
    bool is_same = false;
    try {
      other = definition_from_text(changed_text);
      is_same = definition_to_text(*other) == definition_to_text(d);
    } catch (const UserError&) {
      continue;  // no definition
    }
    others += !is_same;
    EXPECT_EQ(is_same_definition(d, *other), is_same) << changed_text;
    EXPECT_EQ(is_same_definition(*other, d), is_same) << changed_text;
  }
  return others;
}

TEST(SameDefinition, IsSaidAsTextsSayIt) {
  EXPECT_GT(check_against_texts(of_many_kinds()), 20u);
  for (const char* workload : {"dense(m=4,n=5,k=6,epilogue=bias+relu)", "conv2d(n=1,ci=2,h=5,w=5,co=3,kh=3,kw=3,pad=1)",
                               "batch_matmul(b=2,m=3,n=4,k=5)"})
    EXPECT_GT(check_against_texts(definition_to_text(define(parse_workload(workload)))), 10u) << workload;
}

}  // namespace
}  // namespace hone
