#include "base/log_fields.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <memory>
#include <sstream>

#include "base/json.h"

namespace hone {
namespace {

/// The process's logger writes here for the length of a test.
class LogFields : public testing::Test {
 protected:
  LogFields() : before_(spdlog::default_logger()) {
    auto logger = std::make_shared<spdlog::logger>("tracker", std::make_shared<spdlog::sinks::ostream_sink_mt>(out_));
    logger->set_pattern("%l %n: %v");
    spdlog::set_default_logger(logger);
  }
  ~LogFields() override { spdlog::set_default_logger(before_); }

  std::ostringstream out_;
  std::shared_ptr<spdlog::logger> before_;
};

TEST_F(LogFields, FollowTheMessageAndAreQuotedWhereTheyMust) {
  log::event(spdlog::level::info, "job lost",
             {{"device", "a/cpu"}, {"job", 7}, {"why", "it said \"no\"\nand left"}, {"none", ""}});
  EXPECT_EQ(out_.str(), "info tracker: job lost device=a/cpu job=7 why=\"it said \\\"no\\\" and left\" none=\"\"\n");
}

TEST_F(LogFields, AreKeysOfOneObjectALine) {
  log::use_json();
  log::event(spdlog::level::warn, "job lost", {{"device", "a/cpu"}, {"why", "caf\xc3\xa9 \xff \x1e key"}});
  log::warn("plain \"text\"");
  log::warn(
      "a line from outside\x1elevel\x1f"
      "all is well");
  std::istringstream lines(out_.str());
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  const Json first = Json::parse(line);
  EXPECT_EQ(first["message"], "job lost");
  EXPECT_EQ(first["level"], "warning");
  EXPECT_EQ(first["program"], "tracker");
  EXPECT_EQ(first["device"], "a/cpu");
  EXPECT_EQ(first["why"], "caf\xc3\xa9 \xef\xbf\xbd   key");
  EXPECT_EQ(first["time"].get<std::string>().size(), 24u);
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(Json::parse(line)["message"], "plain \"text\"");
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(Json::parse(line)["level"], "warning") << "only events have fields";
}

}  // namespace
}  // namespace hone
