#include "base/json_options.h"

#include <gmock/gmock.h>

#include "base/check.h"
#include "base/cli.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct JsonOptions : testing::Test {
  CommandLine line;
  int count = 0;
  double share = 0;
  bool is_fast = false, is_small = false;
  std::vector<std::string> keep;
  std::string file;

  JsonOptions() {
    line.add_option("--count", count).check(number_from(1, 9));
    line.add_option("--share", share);
    line.add_flag("--is-fast", is_fast);
    line.add_flag("--is-small", is_small);
    line.add_option("--keep", keep).one_value_each();
    line.add_option("-o", file);
  }
  // The text that a command with these words ends with.
  std::string run(std::vector<std::string> words) {
    try {
      for (const Json& object : take_json(words)) set_options(line, object);
    } catch (const UserError& e) {
      return e.what();
    }
    return run_command(line, words, [] { return absl::OkStatus(); }).text;
  }
};

TEST_F(JsonOptions, AreThoseOfTheFlags) {
  EXPECT_EQ(run({R"({"count": 3, "share": 0.1, "is_fast": true, "is_small": false, "keep": ["a", "b"], "o": "x.so"})",
                 "--keep=c"}),
            "");
  EXPECT_EQ(count, 3);
  EXPECT_EQ(share, 0.1);
  EXPECT_TRUE(is_fast);
  EXPECT_FALSE(is_small);
  EXPECT_THAT(keep, ElementsAre("a", "b", "c"));
  EXPECT_EQ(file, "x.so");
}

TEST_F(JsonOptions, AreCheckedAsFlagsAre) {
  EXPECT_THAT(run({R"({"count": 30})"}), HasSubstr("--count: '30' is not a whole number from 1 to 9"));
}

TEST_F(JsonOptions, ThatAFlagContradictsAreRefused) {
  EXPECT_EQ(run({R"({"count": 3})", "--count=4"}), "--count was given twice with different values (3 and 4)");
}

TEST_F(JsonOptions, ThatAreWrongAreNamed) {
  EXPECT_EQ(run({R"({"cont": 3})"}), "there is no option cont; did you mean count?");
  EXPECT_EQ(run({R"({"count": {"a": 1}})"}), "count: {\"a\":1} is not a value of it");
  EXPECT_EQ(run({R"({"count": true})"}), "count: true is not a value of it");
  EXPECT_EQ(run({R"({"keep": [["a"]]})"}), "keep: a list of lists is not a value of it");
  EXPECT_THAT(run({R"({"count": 3)"}), HasSubstr("not a JSON object"));
  EXPECT_THAT(run({"{\"count\": " + std::string(1 << 20, '[')}), HasSubstr("nested deeper than 16"));
  EXPECT_THAT(run({R"({"o": "a\u0000b"})"}), HasSubstr("there is a NUL behind 'a'"));
  EXPECT_THAT(run({R"({"a\u0000b": 1})"}), HasSubstr("there is a NUL behind 'a'"));
}

}  // namespace
}  // namespace hone
