// Why nodes of a graph are as they are: the passes' notes on nodes that could not be fused, and on nodes that lie in
// another layout than usual.
#pragma once

#include <map>
#include <string>

namespace hone {

class FusionNotes {
 public:
  /// Notes why a node stands by itself. `origin`: the node's. The last note holds; a node without an origin has
  /// none.
  void say(const std::string& origin, std::string why) { keep(why_, origin, std::move(why)); }
  /// Adds a note beside an earlier one: there are several nodes that it could have been joined to.
  void say_too(const std::string& origin, const std::string& why) {
    const std::string before = of(origin);
    if (("; " + before + "; ").find("; " + why + "; ") == std::string::npos)
      say(origin, before.empty() ? why : before + "; " + why);
  }
  /// Empty where nothing was said.
  std::string of(const std::string& origin) const { return kept(why_, origin); }

  /// The same of a node's layout, where measurements chose it.
  void say_layout(const std::string& origin, std::string why) { keep(layouts_, origin, std::move(why)); }
  std::string layout_of(const std::string& origin) const { return kept(layouts_, origin); }

 private:
  using Notes = std::map<std::string, std::string>;  // by origin

  static void keep(Notes& notes, const std::string& origin, std::string why) {
    if (!origin.empty()) notes[origin] = std::move(why);
  }
  static std::string kept(const Notes& notes, const std::string& origin) {
    const auto it = notes.find(origin);
    return it == notes.end() ? "" : it->second;
  }

  Notes why_, layouts_;
};

}  // namespace hone
