// The dashboard's files, which the build puts into the program: it needs no folder beside it.
#pragma once

#include <span>
#include <string_view>

namespace hone::tracker::web {

struct Asset {
  std::string_view name;   ///< as the file is called: style.css
  std::string_view bytes;  ///< lives as long as the program
};

std::span<const Asset> assets();

}  // namespace hone::tracker::web
