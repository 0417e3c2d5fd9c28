// docs/architecture.md shows the table of rooms as it is. Pictures that are stale are written anew by
//     HONE_PICTURES_WRITE=docs build/bin/layering_test
#include "tests/unit/layering/picture.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/fakes/well_formed_svg.h"
#include "tests/unit/layering/arrange.h"
#include "tests/unit/layering/layering.h"

namespace hone::layering {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

// Each file of docs/ that shows the table, as it should be.
std::vector<std::pair<std::string, std::string>> made() {
  return {{"modules.svg", picture(module_boxes(), "")},
          {"compiler.svg", picture(compiler_boxes(), "compiler/")},
          {"architecture.md",
           page_with_pictures(contents(std::filesystem::path(HONE_SOURCE_DIR) / "docs" / "architecture.md"))}};
}

TEST(Picture, ShowsTheTableAsItIs) {
  if (const char* folder = std::getenv("HONE_PICTURES_WRITE")) {
    for (const auto& [name, text] : made()) {
      std::ofstream out(std::filesystem::path(folder) / name);
      ASSERT_TRUE(out << text << std::flush) << "cannot write " << folder << "/" << name;
    }
    GTEST_SKIP() << "written";
  }
  for (const auto& [name, text] : made())
    EXPECT_TRUE(contents(std::filesystem::path(HONE_SOURCE_DIR) / "docs" / name) == text)
        << "docs/" << name << " is not what the table of rooms says: HONE_PICTURES_WRITE=docs build/bin/layering_test";
}

TEST(Picture, HasEveryRoomOfTheTable) {
  std::set<std::string> shown;
  for (const auto& all : {module_boxes(), compiler_boxes()})
    for (const Box& box : all) {
      shown.insert(box.folder);
      for (const std::string& inner : box.inside) shown.insert(box.folder + "/" + inner);
    }
  for (const Room& room : rooms()) {
    std::string_view folder = room.name;
    while (!shown.contains(std::string(folder)) && folder.find('/') != std::string_view::npos)
      folder = folder.substr(0, folder.rfind('/'));
    EXPECT_TRUE(shown.contains(std::string(folder))) << room.name;
    EXPECT_TRUE(std::filesystem::is_directory(std::filesystem::path(HONE_SOURCE_DIR) / room.name))
        << room.name << " has a row of the table, and is no folder";
  }
}

const Box& find_box(const std::vector<Box>& all, std::string_view folder) {
  for (const Box& box : all)
    if (box.folder == folder) return box;
  throw std::runtime_error(std::string(folder) + " is not shown");
}

std::vector<std::string> below(const std::vector<Box>& all, std::string_view folder) {
  std::vector<std::string> names;
  for (const size_t i : find_box(all, folder).below) names.push_back(all[i].folder);
  return names;
}

TEST(Picture, LeavesOutWhatOtherArrowsSay) {
  const std::vector<Box> all = module_boxes();
  // The tuner may include all of them.
  EXPECT_THAT(below(all, "tuner"), UnorderedElementsAre("rpc/hub", "rpc/ir"));
  EXPECT_THAT(below(all, "compiler"), UnorderedElementsAre("db"));
  EXPECT_THAT(below(all, "tracker"), UnorderedElementsAre("rpc/http"));
  EXPECT_THAT(find_box(compiler_boxes(), "compiler/frontend").inside,
              testing::ElementsAre("lowering", "onnx", "tflite"));
}

TEST(Picture, HasEachBoxAboveWhatItIncludes) {
  for (const auto& all : {module_boxes(), compiler_boxes()})
    for (const Box& box : all)
      for (const size_t to : box.below) EXPECT_GT(box.floor, all[to].floor) << box.folder << ", " << all[to].folder;
}

TEST(Picture, RefusesACircle) {
  // As two boxes, operators include what is below them in the compiler, and are included by what is above.
  const auto box_of = [](std::string_view room) { return room.substr(0, room.starts_with("compiler/ops") ? 12 : 2); };
  EXPECT_THAT([&] { boxes(box_of); },
              testing::ThrowsMessage<std::runtime_error>(HasSubstr("includes itself through others")));
}

TEST(Picture, IsWellFormed) {
  expect_well_formed(picture(module_boxes(), ""));
  expect_well_formed(picture(compiler_boxes(), "compiler/"));
}

TEST(Picture, IsOneOfAPageWithMarkers) {
  EXPECT_THAT([] { page_with_pictures("# Architecture\n"); },
              testing::ThrowsMessage<std::runtime_error>(HasSubstr("needs these two lines")));
}

TEST(Arrange, UncrossesLinesAndKeepsBoxesApart) {
  // Above, a and b; below, c and d; a line each, which cross in this order.
  const std::vector<Box> all = {{.folder = "c", .inside = {}, .below = {}},
                                {.folder = "d", .inside = {}, .below = {}},
                                {.folder = "a", .inside = {}, .below = {1}, .floor = 1},
                                {.folder = "b", .inside = {}, .below = {0}, .floor = 1}};
  const Arrangement a = arrange(all, {50, 50, 80, 20}, 10);
  EXPECT_EQ(crossings(a), 0);
  for (const auto& floor : a.floors)
    for (size_t i = 0; i + 1 < floor.size(); ++i) {
      const Stop &left = a.stops[floor[i]], &right = a.stops[floor[i + 1]];
      EXPECT_GE(right.x - left.x, (left.width + right.width) / 2 + 10 - 1e-9);
    }
}

TEST(Arrange, LeadsALineAroundTheFloorsBetween) {
  const std::vector<Box> all = {{.folder = "low", .inside = {}, .below = {}},
                                {.folder = "middle", .inside = {}, .below = {0}, .floor = 1},
                                {.folder = "high", .inside = {}, .below = {0}, .floor = 2}};
  const Arrangement a = arrange(all, {50, 50, 50}, 10);
  ASSERT_EQ(a.floors[1].size(), 2u) << "the box and the line that passes it";
  EXPECT_GT(std::abs(a.stops[a.floors[1][0]].x - a.stops[a.floors[1][1]].x), 25);
}

}  // namespace
}  // namespace hone::layering
