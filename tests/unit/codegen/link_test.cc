// Objects to shared objects: the libraries that they name, and files that cannot be written.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/check.h"
#include "compiler/codegen/llvm/compile.h"
#include "compiler/codegen/llvm/link/link.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/runtime/artifact.h"
#include "tests/unit/codegen/programs.h"

namespace hone {
namespace {

TEST(LinkShared, SaysThatItCannotWrite) {
  const std::string object = emit_object(module_of(tiled_matmul(4, 32, 8, 4, 32, 1)), host_target(1));
  for (const auto& [path, reason] : {std::pair("/nonexistent/folder/x.so", "No such file or directory"),
                                     std::pair("/dev/full", "the disk may be full")})
    try {
      link_shared({object}, path);
      ADD_FAILURE() << "no error";
    } catch (const UserError& e) {
      EXPECT_EQ(e.what(), std::string(path) + " cannot be written: " + reason);
    }
  EXPECT_THROW(link_shared({"not an object"}, "/tmp/hone-link-test.so"), InternalError);
  std::remove("/tmp/hone-link-test.so");
}

// exp of f64 values, which calls the mathematical library.
Module calls_exp() {
  const Buffer in = make_buffer("in", f64, std::vector<int64_t>{4}),
               out = make_buffer("out", f64, std::vector<int64_t>{4});
  const Var i("i");
  Function f;
  f.name = "exps";
  f.params = {in, out};
  f.body = make_for(i, make_int(0), make_int(4), LoopKind::kSerial,
                    make_store(out, {Expr(i)}, call(Intrinsic::kExp, {load(in, {Expr(i)})})));
  return module_of(f);
}

class LinkForAnother : public testing::Test {
 protected:
  LinkForAnother() { std::filesystem::create_directories(lib_); }
  ~LinkForAnother() override { std::filesystem::remove_all(folder_); }
  static bool holds(const std::string& path, const std::string& text) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {}).find(text) != std::string::npos;
  }
  std::string error_of(const Module& m, const std::string& sysroot) {
    try {
      link_shared({emit_object(m, other_)}, out_, {.sysroot = sysroot});
    } catch (const UserError& e) {
      return e.what();
    }
    return "";
  }

  // The architecture that this machine does not have.
  const bool on_arm_ = host_target(1).arch == "aarch64";
  const Target other_ = Target::parse(on_arm_ ? "llvm -mtriple=x86_64-linux -mcpu=x86-64"
                                              : "llvm -mtriple=aarch64-linux -mcpu=cortex-a72");
  const std::string triple_ = on_arm_ ? "x86_64-linux-gnu" : "aarch64-linux-gnu";
  const std::string folder_ = testing::TempDir() + "hone-sysroot-" + std::to_string(getpid()),
                    lib_ = folder_ + "/usr/lib/" + triple_;
  const std::string out_ = folder_ + "/out.so";
};

TEST_F(LinkForAnother, NeedsNoLibraryWhereTheCodeCallsNone) {
  EXPECT_EQ(error_of(module_of(tiled_matmul(4, 32, 8, 4, 32, 1)), folder_ + "/nothing"), "");
  EXPECT_TRUE(std::filesystem::exists(out_));
  EXPECT_FALSE(holds(out_, "libm"));
}

TEST_F(LinkForAnother, SaysWhatIsMissingInsteadOfTakingThisMachinesLibrary) {
  const std::string calls =
      "the code calls exp of libm.so.6 for " + triple_ + ", which is not in " + folder_ + " (lib/" + triple_;
  EXPECT_THAT(error_of(calls_exp(), folder_), testing::StartsWith(calls));
  EXPECT_FALSE(std::filesystem::exists(out_));
  // This machine's, where the other's would be.
  link_shared({emit_object(module_of(tiled_matmul(4, 32, 8, 4, 32, 1)), host_target(1))}, lib_ + "/libm.so.6");
  EXPECT_THAT(error_of(calls_exp(), folder_), testing::StartsWith(calls));
  std::ofstream(lib_ + "/libm.so.6", std::ios::trunc) << "/* GNU ld script */";
  EXPECT_THAT(error_of(calls_exp(), folder_), testing::StartsWith(calls));
}

TEST_F(LinkForAnother, LinksThatArchitecturesLibrary) {
  // A library for it that has exp: a kernel of that name.
  link_shared({emit_object(module_of(tiled_matmul(4, 32, 8, 4, 32, 1)), other_, {.name = "exp"})}, lib_ + "/libm.so.6");
  EXPECT_EQ(error_of(calls_exp(), folder_), "");
  EXPECT_TRUE(holds(out_, lib_ + "/libm.so.6")) << "this one has no name of its own, so it is named by its path";
}

TEST_F(LinkForAnother, WritesOverNoLibraryThatItLinks) {
  const std::string library = lib_ + "/libm.so.6", link = folder_ + "/link.so", hard = folder_ + "/hard.so";
  link_shared({emit_object(module_of(tiled_matmul(4, 32, 8, 4, 32, 1)), other_, {.name = "exp"})}, library);
  std::filesystem::create_symlink(library, link);
  std::filesystem::create_hard_link(library, hard);
  const auto size = std::filesystem::file_size(library);
  for (const std::string& out : {library, link, hard}) try {
      link_shared({emit_object(calls_exp(), other_)}, out, {.sysroot = folder_});
      ADD_FAILURE() << out;
    } catch (const UserError& e) {
      EXPECT_EQ(e.what(), out + ": the same file as the library " + library + ", which its code calls; name another");
    }
  EXPECT_TRUE(std::filesystem::equivalent(library, hard));
  EXPECT_EQ(std::filesystem::file_size(library), size);
}

TEST_F(LinkForAnother, NamesTheOneOfThisMachineForItsOwnCode) {
  link_shared({emit_object(calls_exp(), host_target(1))}, out_);
  EXPECT_TRUE(holds(out_, "libm.so.6"));
  const auto artifact = Artifact::load(out_, "kernel");
  EXPECT_TRUE(artifact.ok()) << message_of(artifact.status());
}

// A builder may be killed at any moment: its linked files must not lie in a shared folder meanwhile.
TEST(LinkShared, NeedsNoTemporaryFolder) {
  const std::string object = emit_object(module_of(tiled_matmul(4, 32, 8, 4, 32, 1)), host_target(1));
  const std::string path = testing::TempDir() + "hone-link-test-" + std::to_string(getpid()) + ".so";
  const char* before = getenv("TMPDIR");
  const std::string kept = before ? before : "";
  setenv("TMPDIR", "/nonexistent", 1);
  EXPECT_NO_THROW(link_shared(
      {object, emit_object(module_of(tiled_matmul(4, 32, 8, 4, 32, 1)), host_target(1), {.name = "other"})}, path));
  if (before)
    setenv("TMPDIR", kept.c_str(), 1);
  else
    unsetenv("TMPDIR");
  for (const char* entry : {"kernel", "other"}) {
    const auto artifact = Artifact::load(path, entry);
    EXPECT_TRUE(artifact.ok()) << message_of(artifact.status());
  }
  std::remove(path.c_str());
}

}  // namespace
}  // namespace hone
