// The direction of dependency between modules, checked on every source file; and the check itself, on made-up ones.
#include "tests/unit/layering/layering.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace hone::layering {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Layering, HoldsInEverySourceFile) {
  const std::filesystem::path root = HONE_SOURCE_DIR;
  size_t files = 0;
  for (const std::string& module : modules())
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / module)) {
      const std::string extension = entry.path().extension();
      if (!entry.is_regular_file() || (extension != ".h" && extension != ".cc" && extension != ".c")) continue;
      ++files;
      const std::string path = entry.path().lexically_relative(root).generic_string();
      for (const std::string& violation : violations(path, contents(entry.path()))) ADD_FAILURE() << violation;
    }
  EXPECT_GT(files, 100u) << "the sources were not found under " << root;
}

// A folder that can be read at a glance: a larger one is cut by the purpose of its files. The exempt ones are one idea
// each.
TEST(Layering, NoFolderIsCrowded) {
  const std::filesystem::path root = HONE_SOURCE_DIR;
  const std::set<std::string> whole = {"base", "compiler/ir", "db"};
  std::map<std::string, int> files;
  for (const std::string& module : modules())
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / module)) {
      const std::string extension = entry.path().extension();
      if (extension == ".h" || extension == ".cc" || extension == ".c")
        ++files[entry.path().parent_path().lexically_relative(root).generic_string()];
    }
  for (const auto& [folder, count] : files)
    EXPECT_TRUE(count <= 36 || whole.contains(folder)) << folder << ": " << count;
}

TEST(Layering, RefusesAnIncludeAgainstTheArrows) {
  EXPECT_THAT(
      violations("compiler/ir/expr.h", "#pragma once\n#include \"compiler/arith/linear.h\"\n"),
      ElementsAre(HasSubstr(
          "compiler/ir/expr.h:2: includes compiler/arith/linear.h, but compiler/ir may not include compiler/arith")));
  EXPECT_THAT(violations("compiler/runtime/buffer.h", "  #  include \"compiler/ir/dtype.h\""), testing::SizeIs(1));
  EXPECT_THAT(violations("db/store.cc", "#include \"compiler/build/build.h\""), testing::SizeIs(1));
  EXPECT_THAT(violations("tracker/core.cc", "#include \"compiler/ir/module.h\""), testing::SizeIs(1));
  EXPECT_THAT(violations("compiler/api/hone.c", "#include \"base/status.h\""), testing::SizeIs(1));
  EXPECT_THAT(violations("compiler/runtime/pool/pool.c", "#include \"compiler/runtime/thread_pool.h\""),
              testing::SizeIs(1));
  EXPECT_THAT(violations("compiler/codegen/llvm/kernel/emit.cc", "#include \"compiler/lower/lower.h\""),
              testing::SizeIs(1));
  EXPECT_THAT(violations("tuner/search/evolve.cc", "#include \"db/store.h\""), testing::SizeIs(1));
  EXPECT_THAT(violations("rpc/agent/run/runner.cc", "#include \"compiler/build/build.h\""), testing::SizeIs(1));
}

TEST(Layering, TakesIncludesAlongTheArrows) {
  EXPECT_THAT(
      violations(
          "compiler/lower/lower.cc",
          "#include <vector>\n#include <fmt/format.h>\n#include \"base/check.h\"\n#include \"compiler/ir/expr.h\"\n"),
      IsEmpty());
  EXPECT_THAT(violations("compiler/build/choose_config.cc", "#include \"db/lookup.h\""), IsEmpty());
  EXPECT_THAT(violations("base/status.h", "#include \"absl/status/status.h\""), IsEmpty());
}

TEST(Layering, LetsOneFileThroughNotItsRoom) {
  EXPECT_THAT(
      violations("compiler/codegen/llvm/kernel/emit.cc", "#include \"compiler/runtime/include/hone_runtime.h\""),
      IsEmpty());
  EXPECT_THAT(violations("compiler/codegen/llvm/kernel/emit.cc", "#include \"compiler/runtime/thread_pool.h\""),
              testing::SizeIs(1));
}

TEST(Layering, KeepsThirdPartyHeadersInTheirPlaces) {
  EXPECT_THAT(violations("compiler/build/build.cc", "#include <llvm/IR/Module.h>"),
              ElementsAre("compiler/build/build.cc:1: includes llvm/IR/Module.h, which only compiler/codegen/llvm/, "
                          "compiler/codegen/nvptx/ may"));
  EXPECT_THAT(violations("compiler/codegen/llvm/machine/host_target.cc", "#include <llvm/Support/TargetSelect.h>"),
              testing::SizeIs(1));
  EXPECT_THAT(violations("db/store.cc", "#include <sqlite3.h>"), testing::SizeIs(1));
  EXPECT_THAT(violations("tuner/search/evolve.cc", "#include <xgboost/c_api.h>"), testing::SizeIs(1));
  EXPECT_THAT(violations("tracker/core.cc", "#include \"tracker.grpc.pb.h\""), testing::SizeIs(1));
  EXPECT_THAT(violations("tracker/core.cc", "#include <boost/beast/core.hpp>"), testing::SizeIs(1));
  EXPECT_THAT(violations("db/sqlite.cc", "#include <sqlite3.h>"), IsEmpty());
  EXPECT_THAT(violations("tracker/service.cc", "#include \"tracker.grpc.pb.h\"\n#include <grpcpp/grpcpp.h>"),
              IsEmpty());
}

// Tests and benchmarks are in no room. They are held to this, since it is seconds of each file that includes it.
TEST(Layering, KeepsTheParserOfCommandLinesInBase) {
  EXPECT_THAT(violations("base/command_line.h", "#include <CLI/CLI.hpp>"), testing::SizeIs(1));
  EXPECT_THAT(violations("compiler/cli/model_flags.cc", "#include <CLI/CLI.hpp>"), testing::SizeIs(1));
  EXPECT_THAT(violations("base/command_line.cc", "#include <CLI/CLI.hpp>"), IsEmpty());
  size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(HONE_SOURCE_DIR "/tests")) {
    const std::string extension = entry.path().extension();
    if (extension != ".h" && extension != ".cc") continue;
    ++files;
    EXPECT_EQ(contents(entry.path()).find("\n#include <CLI/"), std::string::npos) << entry.path();
  }
  EXPECT_GT(files, 100u);
}

TEST(Layering, WantsIncludesFromTheRootAndFoldersItKnows) {
  EXPECT_THAT(violations("base/log.cc", "#include \"log.h\""),
              ElementsAre(HasSubstr("written from the repository root")));
  EXPECT_THAT(violations("compiler2/x.cc", ""), ElementsAre(HasSubstr("is in no room")));
}

TEST(Layering, FindsTheInnermostRoom) {
  EXPECT_EQ(room_of("compiler/build/build.h"), "compiler/build");
  EXPECT_EQ(room_of("compiler/ops/templates/common.h"), "compiler/ops/templates");
  EXPECT_EQ(room_of("tuner/measure/measurer.h"), "tuner/measure");
  EXPECT_EQ(room_of("compiler/brand_new/x.h"), "");
  EXPECT_EQ(room_of("vector"), "");
}

}  // namespace
}  // namespace hone::layering
