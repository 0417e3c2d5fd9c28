// Rooms that are drawn as one, the arrows that remain between these, and the floors that they stand on.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace hone::layering {

/// One box of a picture: a folder with all rooms in it.
struct Box {
  std::string folder;
  std::vector<std::string> inside;  ///< the folders right below it that have rooms, in the table's order
  std::vector<size_t> below;        ///< boxes that it includes, but for those that another one of these reaches
  int floor = 0;                    ///< higher than those of `below`; 0 is the lowest
};

/// The boxes of a picture, in the table's order. `box_of` says which folder stands for a room, itself or one above it;
/// "": it is not shown. Throws std::runtime_error if boxes include each other in a circle.
std::vector<Box> boxes(const std::function<std::string_view(std::string_view room)>& box_of);

/// The modules, rpc/ in its three parts: who may see the wire is not who may see the compiler. Its folders are
/// left to compiler_boxes().
std::vector<Box> module_boxes();

/// The folders right below compiler/.
std::vector<Box> compiler_boxes();

}  // namespace hone::layering
