// The page's files, which the build puts into the program.
#pragma once

#include <span>
#include <string_view>

namespace hone::report {

struct Asset {
  std::string_view name;   ///< as the file is called: style.css
  std::string_view bytes;  ///< lives as long as the program
};

std::span<const Asset> assets();

}  // namespace hone::report
