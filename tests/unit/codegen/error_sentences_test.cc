#include "compiler/codegen/artifact/error_sentences.h"

#include <gmock/gmock.h>

#include "base/text.h"

namespace hone {
namespace {

using testing::Contains;
using testing::HasSubstr;

// A program that prints a sentence of NAME_error need not know whose names it contains.
TEST(ErrorSentences, HoldNothingThatATerminalObeys) {
  ArtifactDescription d{.name = "m", .target = "llvm"};
  ArtifactDescription::Variant v;
  ArtifactDescription::Parameter x, cache;
  x.name = "x\x1b]0;title\x07\n\xff";
  x.plain = {f32, {2, 3}};
  cache.name = "past\xc2\x9b";
  cache.plain = {f32, {1, 4, 8}};
  cache.cache = ArtifactDescription::Parameter::Cache{.axis = 1, .room = 4, .input = 1, .symbol = "n\x1b[31m"};
  v.params = {x, cache};
  d.variants = {v};
  const ErrorSentences all = error_sentences(d);
  EXPECT_THAT(all.wrongs, Contains(HasSubstr("m: input 'x ]0;title  ?'")));
  EXPECT_THAT(all.wrongs, Contains(HasSubstr("with n [31m from 0 to 3")));
  for (const std::vector<std::string>* texts : {&all.codes, &all.wrongs})
    for (const std::string& text : *texts) {
      EXPECT_FALSE(has_controls(text)) << text;
      EXPECT_EQ(valid_utf8(text), text);
    }
}

}  // namespace
}  // namespace hone
