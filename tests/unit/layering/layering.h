// Which module may include which, and where third-party headers may be included: the tables, and a check of one file's
// text against them.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace hone::layering {

struct Room {
  /// Its folder; its subfolders belong to it unless they are rooms themselves.
  std::string_view name;
  std::vector<std::string_view> may_include;  ///< and the rooms that these may include, and itself
};

/// The table: all rooms, below before above.
const std::vector<Room>& rooms();

/// The room that a file (its path from the repository root) belongs to: `compiler/ir`, `rpc/wire`, `db`, …; empty when
/// it is in none.
std::string room_of(std::string_view path);

/// One line for each #include in `text`, the contents of `path`, that the tables forbid.
std::vector<std::string> violations(std::string_view path, std::string_view text);

/// The text of a file; empty where it cannot be read.
inline std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The modules' folders, where sources are to be looked for.
const std::vector<std::string>& modules();

}  // namespace hone::layering
