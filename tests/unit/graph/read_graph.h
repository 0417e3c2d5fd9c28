// Graphs in tests: written as text, compared as text.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/check.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/graph/text.h"
#include "tests/fakes/workloads.h"

namespace hone {

inline PassContext test_context() { return {test_operators(), test_functions()}; }

inline Graph read_graph(std::string_view text) { return parse_graph(test_operators(), text); }

/// The one line that `f` is refused with; "accepted" where it is not.
template <class F>
std::string refusal_of(const F& f) {
  try {
    f();
  } catch (const UserError& e) {
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
    return e.what();
  }
  return "accepted";
}

}  // namespace hone
