#include "rpc/agent/supervise/cpu_clusters.h"

#include <gmock/gmock.h>
#include <sched.h>

#include <filesystem>
#include <fstream>

#include "base/cpus.h"
#include "tests/fakes/temporary_folder.h"

namespace hone::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(CpuList, IsWhatPeopleWrite) {
  EXPECT_THAT(*parse_cpu_list("4-7"), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(*parse_cpu_list("6,0-2,1"), ElementsAre(0, 1, 2, 6));
  for (const char* text : {"", "a", "1-", "-1", "3-1", "1,", ",1", "1 2", "99999", "1-99999999999", "0x4", "1-2-3"}) {
    const auto parsed = parse_cpu_list(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_THAT(std::string(parsed.status().message()), HasSubstr(std::string("--cpus ") + text + ": "));
  }
  EXPECT_EQ(cpu_list_text({0, 1, 2, 6}), "0-2,6");
  EXPECT_EQ(cpu_list_text({3}), "3");
}

TEST(CpuClusters, AreThoseThatTheKernelRates) {
  const TemporaryFolder folder;
  const auto rate = [&](int cpu, int capacity) {
    const std::string path = folder.path() + "/devices/system/cpu/cpu" + std::to_string(cpu);
    std::filesystem::create_directories(path);
    std::ofstream(path + "/cpu_capacity") << capacity << "\n";
  };
  // An RK3588: four A55, then four A76.
  for (int cpu = 0; cpu < 8; ++cpu) rate(cpu, cpu < 4 ? 530 : 1024);
  const auto clusters = cpu_clusters({0, 1, 2, 3, 4, 5, 6, 7}, folder.path());
  ASSERT_EQ(clusters.size(), 2u);
  EXPECT_EQ(clusters[0].capacity, 1024);
  EXPECT_THAT(clusters[0].cpus, ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(clusters[1].cpus, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(cpu_clusters({4, 5}, folder.path()).size(), 1u);
  EXPECT_TRUE(cpu_clusters({0, 1}, folder.path() + "/nothing").empty());
}

TEST(KeepToCpus, IsOfCpusThatThereAre) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const std::vector<int> usable = usable_cpus();
  ASSERT_FALSE(usable.empty());
  ASSERT_TRUE(keep_to_cpus({usable[0]}).ok());
  EXPECT_THAT(usable_cpus(), ElementsAre(usable[0]));
  const Status beyond = keep_to_cpus({usable[0], 1000});
  EXPECT_THAT(std::string(beyond.message()), HasSubstr("this process may not use CPU 1000"));
  EXPECT_THAT(usable_cpus(), ElementsAre(usable[0]));
  sched_setaffinity(0, sizeof before, &before);
}

}  // namespace
}  // namespace hone::agent
