#include "tests/unit/layering/floors.h"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "tests/unit/layering/layering.h"

namespace hone::layering {
namespace {

using Below = std::vector<std::set<size_t>>;

// All boxes that `box` includes, directly or through others.
std::set<size_t> reached(const Below& below, size_t box) {
  std::set<size_t> found;
  std::vector<size_t> todo(below[box].begin(), below[box].end());
  while (!todo.empty()) {
    const size_t next = todo.back();
    todo.pop_back();
    if (found.insert(next).second) todo.insert(todo.end(), below[next].begin(), below[next].end());
  }
  return found;
}

// Without the arrows to what another arrow leads to as well.
Below reduced(const Below& below) {
  Below kept(below.size());
  for (size_t box = 0; box < below.size(); ++box)
    for (const size_t to : below[box])
      if (std::none_of(below[box].begin(), below[box].end(),
                       [&](size_t other) { return other != to && reached(below, other).contains(to); }))
        kept[box].insert(to);
  return kept;
}

// As low as what a box includes allows. Then a box with more users than it includes goes up to right below them: lines
// are short.
void set_floors(std::vector<Box>& all) {
  for (size_t turn = 0; turn < all.size(); ++turn)
    for (Box& box : all)
      for (const size_t to : box.below) box.floor = std::max(box.floor, all[to].floor + 1);
  for (size_t turn = 0; turn < all.size(); ++turn)
    for (size_t i = 0; i < all.size(); ++i) {
      std::vector<int> users;
      for (const Box& other : all)
        if (std::find(other.below.begin(), other.below.end(), i) != other.below.end()) users.push_back(other.floor);
      if (users.size() > all[i].below.size()) all[i].floor = *std::min_element(users.begin(), users.end()) - 1;
    }
}

// The first `parts` names of a path.
std::string_view beginning(std::string_view path, int parts) {
  size_t end = 0;
  for (; parts > 0 && end != std::string_view::npos; --parts) end = path.find('/', end + (end > 0));
  return path.substr(0, end);
}

}  // namespace

std::vector<Box> boxes(const std::function<std::string_view(std::string_view)>& box_of) {
  std::vector<Box> all;
  std::map<std::string_view, size_t> index;
  for (const Room& room : rooms()) {
    const std::string_view folder = box_of(room.name);
    if (folder.empty()) continue;
    const auto [found, added] = index.emplace(folder, all.size());
    if (added) all.push_back({.folder = std::string(folder), .inside = {}, .below = {}});
    if (folder == room.name) continue;
    std::vector<std::string>& inside = all[found->second].inside;
    const std::string inner(beginning(room.name.substr(folder.size() + 1), 1));
    if (std::find(inside.begin(), inside.end(), inner) == inside.end()) inside.push_back(inner);
  }

  Below below(all.size());
  for (const Room& room : rooms())
    for (const std::string_view other : room.may_include) {
      const std::string_view from = box_of(room.name), to = box_of(other);
      if (!from.empty() && !to.empty() && from != to) below[index.at(from)].insert(index.at(to));
    }
  for (size_t i = 0; i < all.size(); ++i)
    if (reached(below, i).contains(i)) throw std::runtime_error(all[i].folder + " includes itself through others");
  below = reduced(below);
  for (size_t i = 0; i < all.size(); ++i) all[i].below.assign(below[i].begin(), below[i].end());
  set_floors(all);
  return all;
}

std::vector<Box> module_boxes() {
  std::vector<Box> all =
      boxes([](std::string_view room) { return beginning(room, beginning(room, 1) == "rpc" ? 2 : 1); });
  for (Box& box : all)
    if (box.folder == "compiler") box.inside.clear();
  return all;
}

std::vector<Box> compiler_boxes() {
  return boxes(
      [](std::string_view room) { return beginning(room, 1) == "compiler" ? beginning(room, 2) : std::string_view(); });
}

}  // namespace hone::layering
