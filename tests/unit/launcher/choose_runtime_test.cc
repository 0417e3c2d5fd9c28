// Whose libc and libstdc++ the bundle's launcher takes, on made-up hosts: folders with libraries that define chosen
// versions of their symbols.
#include "deploy/launcher/choose_runtime.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "deploy/launcher/elf_versions.h"
#include "tests/fakes/temporary_folder.h"

namespace hone::launcher {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

constexpr Machine kX86{EM_X86_64, "/lib64/ld-linux-x86-64.so.2", "x86_64-linux-gnu"};
constexpr Machine kArm{EM_AARCH64, "/lib/ld-linux-aarch64.so.1", "aarch64-linux-gnu"};
// Memory lies elsewhere than in the file, as in a linker's output.
constexpr uint64_t kAddress = 0x10000;

template <typename T>
void append(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// A shared library with nothing but version definitions.
std::string library(const Names& versions, uint16_t machine = EM_X86_64) {
  std::string strings(1, '\0'), definitions;
  for (size_t i = 0; i < versions.size(); ++i) {
    const bool last = i + 1 == versions.size();
    Elf64_Verdef definition{};
    definition.vd_version = 1;
    definition.vd_ndx = static_cast<uint16_t>(i + 1);
    definition.vd_cnt = 1;
    definition.vd_aux = sizeof(Elf64_Verdef);
    definition.vd_next = last ? 0 : sizeof(Elf64_Verdef) + sizeof(Elf64_Verdaux);
    append(definitions, definition);
    append(definitions, Elf64_Verdaux{static_cast<uint32_t>(strings.size()), 0});
    strings += versions[i] + '\0';
  }
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
  header.e_machine = machine;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  const uint64_t dynamic_at = sizeof header + 2 * sizeof(Elf64_Phdr), strings_at = dynamic_at + 4 * sizeof(Elf64_Dyn),
                 definitions_at = strings_at + strings.size();
  std::string out;
  append(out, header);
  Elf64_Phdr load{}, dynamic{};
  load.p_type = PT_LOAD;
  load.p_vaddr = kAddress;
  load.p_filesz = load.p_memsz = definitions_at + definitions.size();
  dynamic.p_type = PT_DYNAMIC;
  dynamic.p_offset = dynamic_at;
  dynamic.p_vaddr = kAddress + dynamic_at;
  dynamic.p_filesz = dynamic.p_memsz = 4 * sizeof(Elf64_Dyn);
  append(out, load);
  append(out, dynamic);
  for (const auto& [tag, value] : {std::pair<int64_t, uint64_t>{DT_STRTAB, kAddress + strings_at},
                                   {DT_VERDEF, kAddress + definitions_at},
                                   {DT_VERDEFNUM, versions.size()},
                                   {DT_NULL, 0}}) {
    Elf64_Dyn entry{};
    entry.d_tag = tag;
    entry.d_un.d_val = value;
    append(out, entry);
  }
  return out + strings + definitions;
}

void write(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

class ElfVersions : public testing::Test {
 protected:
  std::optional<Version> of(const std::string& text, const char* prefix = "GLIBC_") {
    write(path_, text);
    return newest_version(path_, EM_X86_64, prefix);
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/lib.so";
};

TEST_F(ElfVersions, AreComparedAsNumbers) {
  EXPECT_EQ(of(library({"libc.so.6", "GLIBC_2.2.5", "GLIBC_2.36", "GLIBC_2.4"})), (Version{2, 36, 0}));
  EXPECT_EQ(of(library({"GLIBC_2.2.5", "GLIBC_2.2"})), (Version{2, 2, 5}));
  EXPECT_EQ(of(library({"GLIBCXX_3.4", "GLIBCXX_3.4.9", "GLIBCXX_3.4.30", "CXXABI_5.1"}), "GLIBCXX_"),
            (Version{3, 4, 30}));
}

TEST_F(ElfVersions, AreNotWhatOnlyBeginsAlike) {
  EXPECT_EQ(of(library({"GLIBC_2.31", "GLIBC_PRIVATE", "GLIBC_ABI_DT_RELR", "GLIBC_3", "GLIBC_2.99.1.2", "GLIBC_2.x",
                        "GLIBC_2.", "GLIBCXX_3.4"})),
            (Version{2, 31, 0}));
  EXPECT_EQ(of(library({"GLIBC_PRIVATE"})), std::nullopt);
  EXPECT_EQ(of(library({})), std::nullopt);
}

TEST_F(ElfVersions, OfThisProcessesLibraries) {
  std::string libc;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line) && libc.empty();)
    if (line.ends_with("/libc.so.6")) libc = line.substr(line.find('/'));
  ASSERT_NE(libc, "");
  const auto version = newest_version(libc, this_machine().elf, "GLIBC_");
  ASSERT_TRUE(version);
  EXPECT_GE(*version, (Version{2, 36, 0})) << "what Hone is built with";
}

TEST_F(ElfVersions, NeedAFileForThisMachine) {
  EXPECT_EQ(newest_version(folder_.path() + "/none", EM_X86_64, "GLIBC_"), std::nullopt);
  EXPECT_EQ(newest_version(folder_.path(), EM_X86_64, "GLIBC_"), std::nullopt) << "a folder";
  EXPECT_EQ(of(""), std::nullopt);
  EXPECT_EQ(of("/* GNU ld script */ GROUP ( /lib/x86_64-linux-gnu/libc.so.6 )"), std::nullopt);
  EXPECT_EQ(of(library({"GLIBC_2.36"}, EM_AARCH64)), std::nullopt);
  std::string small = library({"GLIBC_2.36"});
  small[EI_CLASS] = ELFCLASS32;
  EXPECT_EQ(of(small), std::nullopt);
}

TEST_F(ElfVersions, OfABrokenFileAreNoneOrFewer) {
  const std::string whole = library({"GLIBC_2.17", "GLIBC_2.36"});
  // Cut off anywhere: nothing is read beyond the end. (Sanitizers and a page's end watch.)
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_EQ(of(whole.substr(0, size)), std::nullopt) << size;
  // A byte of every place turned over.
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string broken = whole;
    broken[at] = static_cast<char>(~broken[at]);
    const auto version = of(broken);
    EXPECT_TRUE(!version || *version == (Version{2, 17, 0}) || *version == (Version{2, 36, 0})) << at;
  }
}

class ChooseRuntime : public testing::Test {
 protected:
  ChooseRuntime() {
    write(own_libc_, library({"GLIBC_2.2.5", "GLIBC_2.36", "GLIBC_PRIVATE"}));
    write(own_libstdcxx_, library({"GLIBCXX_3.4", "GLIBCXX_3.4.30"}));
  }

  /// As Debian 12 and Ubuntu have them: /lib64's loader is a link to the one beside libc.
  void make_host(const std::string& libc, const std::string& libstdcxx = "", const std::string& folder = "usr/lib") {
    const std::string libraries = host_ + "/" + folder + "/x86_64-linux-gnu/";
    write(libraries + "ld-linux-x86-64.so.2", library({"GLIBC_2.2.5", "GLIBC_2.3"}));
    write(libraries + "libc.so.6", library({"GLIBC_2.2.5", libc}));
    if (!libstdcxx.empty()) write(libraries + "libstdc++.so.6", library({"GLIBCXX_3.4", libstdcxx}));
    link(host_ + "/lib64/ld-linux-x86-64.so.2", "../" + folder + "/x86_64-linux-gnu/ld-linux-x86-64.so.2");
  }
  static void link(const std::string& path, const std::string& target) {
    fs::create_directories(fs::path(path).parent_path());
    fs::create_symlink(target, path);
  }
  /// `own` or `host` for libc, and the same for libstdc++.
  std::string chosen(const Machine& machine = kX86) const {
    const Runtime r = choose_runtime(host_, machine, own_libc_, own_libstdcxx_);
    EXPECT_EQ(r.own_libstdcxx, r.host_libstdcxx_folder.empty());
    return std::string(r.own_libc ? "own" : "host") + " " + (r.own_libstdcxx ? "own" : "host");
  }

  const TemporaryFolder folder_;
  const std::string host_ = folder_.path() + "/host";
  const std::string own_libc_ = folder_.path() + "/bundle/libc.so.6",
                    own_libstdcxx_ = folder_.path() + "/bundle/libstdc++.so.6";
};

TEST_F(ChooseRuntime, AnEmptyHostHasNothing) {
  EXPECT_EQ(chosen(), "own own");
  fs::create_directories(host_);
  EXPECT_EQ(chosen(), "own own");
}

TEST_F(ChooseRuntime, AnOlderHostLacksWhatProgramsCall) {
  make_host("GLIBC_2.31", "GLIBCXX_3.4.28");
  EXPECT_EQ(chosen(), "own own");
}

TEST_F(ChooseRuntime, ANewerHostsDriversNeedTheirs) {
  make_host("GLIBC_2.39", "GLIBCXX_3.4.33");
  EXPECT_EQ(chosen(), "host host");
}

TEST_F(ChooseRuntime, AnEqualHostsIsTaken) {
  make_host("GLIBC_2.36", "GLIBCXX_3.4.30");
  EXPECT_EQ(chosen(), "host host");
}

TEST_F(ChooseRuntime, LibcAndLibstdcxxAreChosenByThemselves) {
  make_host("GLIBC_2.41");
  EXPECT_EQ(chosen(), "host own") << "no libstdc++ there";
  write(host_ + "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", library({"GLIBCXX_3.4.29"}));
  EXPECT_EQ(chosen(), "host own");
  write(host_ + "/usr/lib/x86_64-linux-gnu/libc.so.6", library({"GLIBC_2.35"}));
  write(host_ + "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", library({"GLIBCXX_3.4.32"}));
  EXPECT_EQ(chosen(), "own host") << "a newer compiler on an older system";
}

TEST_F(ChooseRuntime, LibrariesLieWhereDistributionsPutThem) {
  // Ubuntu 18.04 and Debian 11: libc below /lib, libstdc++ below /usr/lib.
  make_host("GLIBC_2.40", "", "lib");
  write(host_ + "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", library({"GLIBCXX_3.4.33"}));
  EXPECT_EQ(chosen(), "host host");
  EXPECT_EQ(choose_runtime(host_, kX86, own_libc_, own_libstdcxx_).host_libstdcxx_folder,
            fs::canonical(host_).string() + "/usr/lib/x86_64-linux-gnu/");
  // Fedora: the loader is a file in /usr/lib64, where /lib64 leads.
  fs::remove_all(host_);
  for (const auto& [name, versions] : {std::pair<const char*, Names>{"ld-linux-x86-64.so.2", {"GLIBC_2.3"}},
                                       {"libc.so.6", {"GLIBC_2.40"}},
                                       {"libstdc++.so.6", {"GLIBCXX_3.4.33"}}})
    write(host_ + "/usr/lib64/" + name, library(versions));
  link(host_ + "/lib64", "usr/lib64");
  EXPECT_EQ(chosen(), "host host");
  // A loader that is a file of /lib itself, and its libraries in Debian's folder.
  write(own_libc_, library({"GLIBC_2.36"}, EM_AARCH64));
  write(host_ + "/lib/ld-linux-aarch64.so.1", library({"GLIBC_2.17"}, EM_AARCH64));
  write(host_ + "/lib/aarch64-linux-gnu/libc.so.6", library({"GLIBC_2.38"}, EM_AARCH64));
  EXPECT_EQ(chosen(kArm), "host own");
}

TEST_F(ChooseRuntime, ALoaderThatLeadsNowhereIsNone) {
  make_host("GLIBC_2.41", "GLIBCXX_3.4.33");
  fs::remove(host_ + "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2");
  EXPECT_EQ(chosen(), "own own") << "a link without its file";
}

TEST_F(ChooseRuntime, AHostOfMuslHasNoGlibc) {
  write(host_ + "/lib/ld-musl-x86_64.so.1", library({}));
  EXPECT_EQ(chosen(), "own own");
  // gcompat's stand-in for glibc's loader.
  link(host_ + "/lib64/ld-linux-x86-64.so.2", "../lib/ld-musl-x86_64.so.1");
  EXPECT_EQ(chosen(), "own own");
}

TEST_F(ChooseRuntime, AStandInWithoutLibcBesideItIsNone) {
  // NixOS has such a stand-in, which only says that it cannot load.
  write(host_ + "/lib64/ld-linux-x86-64.so.2", library({"GLIBC_2.3"}));
  EXPECT_EQ(chosen(), "own own");
}

TEST_F(ChooseRuntime, BrokenLibrariesAreOlderThanAll) {
  make_host("GLIBC_2.41", "GLIBCXX_3.4.33");
  const std::string libraries = host_ + "/usr/lib/x86_64-linux-gnu/";
  write(libraries + "libstdc++.so.6", library({"GLIBCXX_3.4.33"}).substr(0, 200));
  EXPECT_EQ(chosen(), "host own");
  write(libraries + "libc.so.6", std::string("\x7f") + "ELF");
  EXPECT_EQ(chosen(), "own own");
  write(libraries + "libc.so.6", "");
  EXPECT_EQ(chosen(), "own own");
}

TEST_F(ChooseRuntime, LibrariesOfAnotherMachineAreNone) {
  make_host("GLIBC_2.41", "GLIBCXX_3.4.33");
  const std::string libraries = host_ + "/usr/lib/x86_64-linux-gnu/";
  write(libraries + "libstdc++.so.6", library({"GLIBCXX_3.4.33"}, EM_AARCH64));
  EXPECT_EQ(chosen(), "host own");
  std::string small = library({"GLIBC_2.41"});
  small[EI_CLASS] = ELFCLASS32;
  write(libraries + "libc.so.6", small);
  EXPECT_EQ(chosen(), "own own") << "a 32-bit system";
}

TEST_F(ChooseRuntime, WithoutOwnLibrariesTheHostsAreTaken) {
  make_host("GLIBC_2.31", "GLIBCXX_3.4.28");
  fs::remove(own_libc_);
  fs::remove(own_libstdcxx_);
  EXPECT_EQ(chosen(), "host host");
}

}  // namespace
}  // namespace hone::launcher
