#include "rpc/agent/sandbox/file_rules.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gnu/libc-version.h>
#include <sys/prctl.h>

#include <cstdio>
#include <filesystem>

#include "base/sanitizer.h"
#include "rpc/agent/sandbox/sandbox_profile.h"
#include "tests/unit/agent/in_child.h"

namespace hone::agent {
namespace {

std::string libc_path() {
  Dl_info libc{};
  dladdr(reinterpret_cast<const void*>(&gnu_get_libc_version), &libc);
  return libc.dli_fname;
}

TEST(FileRules, LeaveTheFolderOfTheLibcThatIsLoaded) {
  if (kSanitizer || landlock_abi() == 0) GTEST_SKIP() << "no file rules here";
  for (const SandboxProfile& profile : sandbox_profiles())
    EXPECT_EQ(in_child([&] {
                prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
                return FileRules(profile, "").apply() && opens(libc_path()) && !opens("/etc/passwd") ? 0 : 1;
              }),
              0);
}

// As a bundle's programs run on older systems: the same by a loader and a libc that lie elsewhere.
TEST(FileRules, LeaveTheFolderOfALibcOfOnesOwn) {
  if (kSanitizer || landlock_abi() == 0) GTEST_SKIP() << "no file rules here";
  namespace fs = std::filesystem;
  const fs::path folder = ::testing::TempDir() + fmt::format("hone-libc-{}", getpid());
  fs::create_directory(folder);
  const fs::path from = fs::path(libc_path()).parent_path();
  std::string loader;
  for (const fs::directory_entry& file : fs::directory_iterator(from)) {
    const std::string name = file.path().filename().string();
    if (name.starts_with("ld-linux")) loader = (folder / name).string();
    if (name.starts_with("ld-linux") || name == "libc.so.6" || name == "libm.so.6")
      fs::copy_file(file.path(), folder / name);
  }
  ASSERT_NE(loader, "");
  const std::string command =
      fmt::format("{} --library-path {} {} --gtest_filter=FileRules.LeaveTheFolderOfTheLibcThatIsLoaded 2>&1", loader,
                  folder.string(), fs::read_symlink("/proc/self/exe").string());
  FILE* const pipe = popen(command.c_str(), "r");
  std::string output;
  char part[512];
  while (fgets(part, sizeof part, pipe)) output += part;
  EXPECT_EQ(pclose(pipe), 0) << output;
  EXPECT_NE(output.find("[  PASSED  ] 1 test"), std::string::npos) << output;
  fs::remove_all(folder);
}

}  // namespace
}  // namespace hone::agent
