// The table of CPU features, and the places that cannot use it or name features one by one.
#include "compiler/target/cpu_features.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace hone {
namespace {

std::string source(const std::string& path) {
  std::ifstream file(std::string(HONE_SOURCE_DIR) + "/" + path);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

// All matches in `text` of the expression's first group.
std::set<std::string> found(const std::string& text, const std::string& expression) {
  const std::regex pattern(expression);
  std::set<std::string> out;
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) out.insert((*it)[1]);
  return out;
}

std::set<std::string> needed(const std::string& arch) {
  std::set<std::string> out;
  for (const std::string_view name : features_needed(arch)) out.emplace(name);
  return out;
}

TEST(CpuFeatures, AreThereOnceEach) {
  std::set<std::string> names, places;
  for (const CpuFeature& f : cpu_features()) {
    const std::string arch = std::string(f.arch) + " ";
    EXPECT_EQ(f.kernel.empty(), f.shown.empty()) << f.name;
    EXPECT_TRUE(names.insert(arch + std::string(f.name)).second) << f.name;
    EXPECT_TRUE(f.needed == 0 || places.insert(arch + std::to_string(f.needed)).second) << f.name;
  }
}

TEST(CpuFeatures, ThatArtifactsNeedAreLookedForByTheLibraryThatOpensThem) {
  const std::string text = source("compiler/api/cpu_features.c");
  const size_t arm = text.find("defined(__aarch64__)");
  ASSERT_NE(arm, std::string::npos);
  EXPECT_EQ(found(text.substr(0, arm), "\\{\"([a-z0-9]+)\", [0-9]"), needed("x86_64"));
  EXPECT_EQ(found(text.substr(arm), "\\{\"([a-z0-9]+)\", AT_HWCAP"), needed("aarch64"));
}

TEST(CpuFeatures, ThatInstructionsAreChosenByAreKnown) {
  std::set<std::string> known;
  for (const CpuFeature& f : cpu_features()) known.emplace(f.name);
  for (const std::string path : {"compiler/codegen/llvm/machine/dot_units.cc", "compiler/target/features.cc"}) {
    const std::string text = source(path);
    for (const std::string& name : found(text, "\"((?:avx|amx|dotprod|i8mm|bf16|fullfp16)[a-z0-9-]*)\""))
      EXPECT_TRUE(known.contains(name)) << path << ": " << name;
  }
}

}  // namespace
}  // namespace hone
