// How many of its random cases a test draws.
#pragma once

#include <cstdlib>
#include <string_view>

namespace hone {

/// Whether this run draws all random cases: HONE_DRAWS=all, as the tests slow.AllDraws.* have it
/// (cmake/HoneTools.cmake).
inline bool draws_all() {
  const char* text = std::getenv("HONE_DRAWS");
  return text && std::string_view(text) == "all";
}

/// `few` random cases, or `all` where all are drawn. Tests draw one sequence, of which the few are the first.
template <class T>
T draws(T few, T all) {
  return draws_all() ? all : few;
}

}  // namespace hone
