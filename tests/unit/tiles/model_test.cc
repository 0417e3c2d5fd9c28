// Models with layers on tiles, with their instructions: where the kernel refuses, as on most processors, in vectors.
#include "compiler/model/build_model.h"

#include <gmock/gmock.h>

#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/graph/text.h"
#include "compiler/model/run_model.h"
#include "tests/fakes/workloads.h"
#include "tests/unit/tiles/tile_model.h"

namespace hone {
namespace {

constexpr const char* kOnTiles = R"(graph g
input "x" %x u8[64, 128]
%w = constant s8[48, 128] fill 1
%y = dense(m=64,n=48,k=128,dtype=u8:s8:s32:s32) %x %w
output "y" %y s32[64, 48]
)";
constexpr const char* kInVectors = R"(graph g
input "x" %x f32[64, 128]
%w = constant f32[48, 128] fill 1
%y = dense(m=64,n=48,k=128) %x %w
output "y" %y f32[64, 48]
)";

BuiltModel built(const Graph& g, const Target& target) {
  return build_model(g, {"m", target, [](const Workload&, const Target&, const Space& space) {
                           return ChosenConfig{space.default_config(), "default", ""};
                         }});
}

// Whether an object asks the kernel for tiles, as the entry does that configures them.
bool asks_for_tiles(const BuiltModel& m) {
  for (const auto& object : m.objects)
    for (const std::string& part : object.parts)
      if (part.find("hone.ask_for_tiles") != std::string::npos) return true;
  return false;
}

TEST(ModelsOnTiles, GiveTheSumsOfOthersOnOneThreadAndTwo) {
  const Graph g = parse_graph(test_operators(), kOnTiles);
  for (const int threads : {1, 2}) {
    const TensorData x{g.inputs[0].type, std::string(64 * 128, '\3')};
    const auto sums = [&](const Target& target) {
      return LoadedModel(built(g, target), "m", threads).run({x})[0].values();
    };
    const std::vector<double> here = sums(target_with_tiles(threads));
    EXPECT_EQ(here, sums(host_target(threads)));
    EXPECT_THAT(here, testing::Contains(testing::Ne(0)));
  }
}

TEST(ModelsOnTiles, ConfigureThemInTheirEntries) {
  EXPECT_TRUE(asks_for_tiles(built(parse_graph(test_operators(), kOnTiles), target_with_tiles(1))));
  EXPECT_FALSE(asks_for_tiles(built(parse_graph(test_operators(), kInVectors), target_with_tiles(1))));
}

}  // namespace
}  // namespace hone
