// The page's files as bytes of the program.
#pragma once

#include <span>
#include <string_view>

namespace hone::hub::web {

struct Asset {
  std::string_view name, bytes;
};
std::span<const Asset> assets();

}  // namespace hone::hub::web
