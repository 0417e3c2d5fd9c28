// The caches in a target's text: the same with /sys and without it.
#include "compiler/codegen/llvm/machine/host_caches.h"

#include <gmock/gmock.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "base/cpus.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {

void PrintTo(const CacheSizes& s, std::ostream* out) { *out << s.l1 << " " << s.l2 << " " << s.l3; }

namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr int64_t kKiB = 1 << 10, kMiB = 1 << 20;

// A folder /sys with the caches of CPU 3.
struct FakeSys {
  const TemporaryFolder folder;
  const std::string& path() const { return folder.path(); }
  void add(int index, const std::string& level, const std::string& type, const std::string& size) const {
    const std::string folder = path() + "/devices/system/cpu/cpu3/cache/index" + std::to_string(index);
    fs::create_directories(folder);
    std::ofstream(folder + "/level") << level << "\n";
    std::ofstream(folder + "/type") << type << "\n";
    std::ofstream(folder + "/size") << size << "\n";
  }
};

Cpuid leaves(std::map<std::pair<uint32_t, uint32_t>, CpuidWords> known) {
  return [known = std::move(known)](uint32_t leaf, uint32_t subleaf) {
    const auto it = known.find({leaf, subleaf});
    return it == known.end() ? CpuidWords{} : it->second;
  };
}

const CpuidWords kIntel{0x24, 0x756e6547, 0x6c65746e, 0x49656e69}, kAmd{0x10, 0x68747541, 0x444d4163, 0x69746e65};

TEST(CachesOfSysfs, AreThoseForDataOfTheCpu) {
  const FakeSys sys;
  sys.add(0, "1", "Instruction", "64K");
  sys.add(1, "1", "Data", "48K");
  sys.add(2, "2", "Unified", "1280K");
  sys.add(3, "3", "Unified", "30M");
  EXPECT_EQ(caches_of_sysfs(3, sys.path()), (CacheSizes{48 * kKiB, 1280 * kKiB, 30 * kMiB}));
  EXPECT_EQ(caches_of_sysfs(2, sys.path()), CacheSizes{}) << "another CPU";
}

TEST(CachesOfCpuid, AreReadAsLinuxReadsThem) {
  const Cpuid sapphire_rapids = leaves({{{0, 0}, kIntel},
                                        {{4, 0}, {0x04000121, 0x02c0003f, 0x3f, 0}},
                                        {{4, 1}, {0x04000122, 0x03c0003f, 0x3f, 0}},
                                        {{4, 2}, {0x04000143, 0x03c0003f, 0x7ff, 0}},
                                        {{4, 3}, {0x04004163, 0x03c0003f, 0x77fff, 0}}});
  EXPECT_EQ(caches_of_cpuid(sapphire_rapids), (CacheSizes{48 * kKiB, 2 * kMiB, 480 * kMiB}));
  const Cpuid zen3 = leaves({{{0, 0}, kAmd},
                             {{0x80000001, 0}, {0, 0, 1u << 22, 0}},
                             {{0x8000001d, 0}, {0x00004121, 0x01c0003f, 0x3f, 0}},
                             {{0x8000001d, 1}, {0x00004122, 0x01c0003f, 0x3f, 0}},
                             {{0x8000001d, 2}, {0x00004143, 0x01c0003f, 0x3ff, 0}},
                             {{0x8000001d, 3}, {0x0001c163, 0x03c0003f, 0x7fff, 0}}});
  EXPECT_EQ(caches_of_cpuid(zen3), (CacheSizes{32 * kKiB, 512 * kKiB, 32 * kMiB}));
  // Behind a hypervisor that hides leaf 0x8000001D.
  const Cpuid masked = leaves({{{0, 0}, kAmd},
                               {{0x80000005, 0}, {0, 0, 0x20080140, 0x20080140}},
                               {{0x80000006, 0}, {0, 0, 0x02006140, 0x01009140}}});
  EXPECT_EQ(caches_of_cpuid(masked), (CacheSizes{32 * kKiB, 512 * kKiB, 32 * kMiB}));
  EXPECT_EQ(caches_of_cpuid(leaves({})), CacheSizes{}) << "a processor that says nothing";
}

TEST(HostCaches, AreWhatSysSaysWhereItSaysSomething) {
  const FakeSys sys;
  sys.add(0, "2", "Unified", "3M");
  EXPECT_EQ(host_caches(3, sys.path()), (CacheSizes{0, 3 * kMiB, 0}));
}

struct ThisMachine : testing::Test {
  void SetUp() override {
#if !defined(__x86_64__)
    GTEST_SKIP() << "without /sys only x86 says what caches it has";
#endif
    if (caches_of_sysfs(cpu, "/sys") == CacheSizes{}) GTEST_SKIP() << "/sys says nothing of caches here";
  }
  const int cpu = usable_cpus().at(0);
  const TemporaryFolder empty;
};

TEST_F(ThisMachine, HasTheSameCachesWithoutSys) {
  for (int each : usable_cpus()) EXPECT_EQ(host_caches(each, empty.path()), caches_of_sysfs(each, "/sys")) << each;
}

TEST_F(ThisMachine, IsTheSameTargetWithoutSys) {
  EXPECT_EQ(to_string(host_target(2, empty.path())), to_string(host_target(2)));
  EXPECT_EQ(to_string(host_target(2, empty.path() + "/missing")), to_string(host_target(2)));
}

TEST_F(ThisMachine, IsAskedWithoutMovingTheThreadForGood) {
  const std::vector<int> before = usable_cpus();
  host_caches(before.back(), empty.path());
  EXPECT_EQ(usable_cpus(), before);
}

TEST(HostTarget, HasTheCachesOfAFakeSys) {
  const FakeSys sys;
  const int cpu = usable_cpus().at(0);
  sys.add(0, "3", "Unified", "77M");
  fs::rename(sys.path() + "/devices/system/cpu/cpu3", sys.path() + "/devices/system/cpu/cpu" + std::to_string(cpu));
  EXPECT_THAT(to_string(host_target(1, sys.path())), HasSubstr(" -l3=78848K"));
}

}  // namespace
}  // namespace hone
