// The message with which a schedule refuses a misuse.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "compiler/schedule/schedule.h"

namespace hone {

/// The message of the UserError that `f` ends with, one line, which must leave `s` as it was; "accepted" when there is
/// none.
template <class F>
std::string refusal(const Schedule& s, const F& f) {
  const std::string before = s.text();
  try {
    f();
  } catch (const UserError& e) {
    EXPECT_EQ(s.text(), before);
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
    return e.what();
  }
  return "accepted";
}

}  // namespace hone
