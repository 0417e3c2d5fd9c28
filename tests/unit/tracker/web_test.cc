// The dashboard's files, as the program holds them. tests/web checks their behaviour in a browser.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "tracker/web/assets.h"
#include "tracker/web/pages.h"

namespace hone::tracker::web {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string source(std::string_view name) {
  std::ostringstream text;
  text << std::ifstream(HONE_SOURCE_DIR "/tracker/web/" + std::string(name), std::ios::binary).rdbuf();
  return text.str();
}

TEST(Dashboard, HoldsItsFilesByteForByte) {
  ASSERT_FALSE(assets().empty());
  for (const Asset& asset : assets()) EXPECT_TRUE(asset.bytes == source(asset.name)) << asset.name;
}

TEST(Dashboard, PagesHaveTheTypesThatBrowsersInsistOn) {
  const auto pages = asset_pages();
  EXPECT_EQ(pages.size(), assets().size());
  EXPECT_THAT(pages.at("/").answer({}).content_type, StartsWith("text/html"));
  EXPECT_THAT(pages.at("/main.js").answer({}).content_type, StartsWith("text/javascript"));
  EXPECT_THAT(pages.at("/style.css").answer({}).content_type, StartsWith("text/css"));
  EXPECT_THAT(pages.at("/icon.svg").answer({}).content_type, StartsWith("image/svg+xml"));
  EXPECT_THAT(pages.at("/").answer({}).body, StartsWith("<!doctype html>"));
}

// Every file that is asked for is embedded: the dashboard works without any other host, and a forgotten file is noticed
// without a browser.
TEST(Dashboard, EverythingReferredToIsThere) {
  const auto pages = asset_pages();
  const std::regex reference(R"re((?:src|href)="(/[a-z_]+\.[a-z]+)"|from '\.(/[a-z_]+\.js)')re");
  int found = 0;
  for (const Asset& asset : assets()) {
    const std::string text(asset.bytes);
    for (std::sregex_iterator it(text.begin(), text.end(), reference), end; it != end; ++it, ++found) {
      const std::string path = (*it)[1].matched ? (*it)[1] : (*it)[2];
      EXPECT_TRUE(pages.count(path)) << asset.name << " refers to " << path;
    }
  }
  EXPECT_GT(found, 20);
}

TEST(Dashboard, NothingOutsideAndNoTextBecomesMarkup) {
  for (const Asset& asset : assets()) {
    const std::string text =
        std::regex_replace(std::string(asset.bytes), std::regex("http://www\\.w3\\.org/2000/svg"), "");
    EXPECT_THAT(text, testing::Not(HasSubstr("://"))) << asset.name;
    for (const char* word : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(",
                             "DOMParser", "javascript:"})
      EXPECT_THAT(text, testing::Not(HasSubstr(word))) << asset.name;
    if (asset.name.ends_with(".html")) {
      EXPECT_FALSE(std::regex_search(text, std::regex(R"(<script>|<style|\sstyle=|\son[a-z]+=)")))
          << asset.name << " has script or style that the content policy forbids";
    }
  }
}

}  // namespace
}  // namespace hone::tracker::web
