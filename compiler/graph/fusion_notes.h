// Why nodes of a graph stand by themselves: what passes say of those that they could not join to others.
#pragma once

#include <map>
#include <string>

namespace hone {

class FusionNotes {
 public:
  /// `origin`: the node's. What is said last holds; nothing is kept of a node without an origin.
  void say(const std::string& origin, std::string why) {
    if (!origin.empty()) why_[origin] = std::move(why);
  }
  /// Empty where nothing was said.
  std::string of(const std::string& origin) const {
    const auto it = why_.find(origin);
    return it == why_.end() ? "" : it->second;
  }

 private:
  std::map<std::string, std::string> why_;
};

}  // namespace hone
