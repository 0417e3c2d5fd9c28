// Rules that every picture must keep to.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <regex>
#include <string>
#include <vector>

namespace hone {

// Every element that is opened is closed, and no number is off the picture.
inline void expect_well_formed(const std::string& svg) {
  std::vector<std::string> open;
  const std::regex tag(R"(<(/?)([a-z]+)[^>]*?(/?)>)");
  for (std::sregex_iterator it(svg.begin(), svg.end(), tag), end; it != end; ++it) {
    if ((*it)[1] == "/") {
      ASSERT_FALSE(open.empty());
      EXPECT_EQ(open.back(), (*it)[2]);
      open.pop_back();
    } else if ((*it)[3] != "/") {
      open.push_back((*it)[2]);
    }
  }
  EXPECT_TRUE(open.empty());
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
  double width = 0, height = 0;
  ASSERT_EQ(std::sscanf(svg.substr(svg.find("viewBox=\"") + 9, 40).c_str(), "0 0 %lf %lf", &width, &height), 2);
  const std::regex place(R"lit( (c?[xy][12]?)="(-?[0-9.]+)")lit");
  for (std::sregex_iterator it(svg.begin(), svg.end(), place), end; it != end; ++it) {
    const double at = std::stod((*it)[2]);
    EXPECT_GE(at, 0) << it->str();
    EXPECT_LE(at, (*it)[1].str().find('x') != std::string::npos ? width : height) << it->str();
  }
}

}  // namespace hone
