#include "tuner/driver/tasks_file.h"

#include <gmock/gmock.h>

#include "base/exit_code.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using testing::HasSubstr;

TEST(TasksFile, ReadsWorkloadsInEitherForm) {
  const auto tasks = parse_tasks(test_operators(),
                                 "# the layers of a network\n"
                                 "\n"
                                 "conv2d(n=1,ci=64,h=56,w=56,co=64)   2   # twice\n"
                                 "dense m=128,n=768,k=768\n"
                                 "  dense\tm=1,n=10,k=20  0.5\r\n"
                                 "max_pool2d\n"
                                 "batch_matmul( b=2, m=8 ) 1e2",
                                 "t.txt");
  ASSERT_TRUE(tasks.ok()) << tasks.status();
  ASSERT_EQ(tasks->size(), 5u);
  EXPECT_EQ((*tasks)[0].workload, parse_workload("conv2d(n=1,ci=64,h=56,w=56,co=64)"));
  EXPECT_EQ((*tasks)[0].weight, 2);
  EXPECT_EQ((*tasks)[1].workload, Workload::parse(test_operators(), "dense", "m=128,n=768,k=768"));
  EXPECT_EQ((*tasks)[1].weight, 1);
  EXPECT_EQ((*tasks)[2].weight, 0.5);
  EXPECT_EQ((*tasks)[3].workload.operator_name(), "max_pool2d");
  EXPECT_EQ((*tasks)[4].workload, parse_workload("batch_matmul(b=2,m=8)"));
  EXPECT_EQ((*tasks)[4].weight, 100);
}

TEST(TasksFile, ExtremesAreNoPartOfWhatIsTuned) {
  for (const char* text : {"dense m=1,n=10,k=20,extremes=1", "dense(m=1,n=10,k=20,extremes=1)"}) {
    const auto tasks = parse_tasks(test_operators(), text, "t.txt");
    ASSERT_TRUE(tasks.ok()) << tasks.status();
    EXPECT_EQ((*tasks)[0].workload, parse_workload("dense(m=1,n=10,k=20)"));
  }
}

TEST(TasksFile, WhatIsWrittenIsRead) {
  const std::vector<WeightedWorkload> tasks{
      {parse_workload("conv2d(n=1,ci=64,h=56,w=56,co=64,epilogue=bias+relu)"), 2},
      {parse_workload("elementwise(op=mul+clip[0;6],shape=2x3,operands=1x3)"), 17},
      {parse_workload("dense(m=1,n=10,k=20)"), 0.5}};
  const auto read = parse_tasks(test_operators(), tasks_text(tasks), "t.txt");
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), tasks.size());
  for (size_t i = 0; i < tasks.size(); ++i) {
    EXPECT_EQ((*read)[i].workload, tasks[i].workload);
    EXPECT_EQ((*read)[i].weight, tasks[i].weight);
  }
}

TEST(TasksFile, ErrorsNameFileAndLine) {
  const auto refused = [](const std::string& text, const std::string& start, const std::string& part) {
    const Status s = parse_tasks(test_operators(), text, "t.txt").status();
    EXPECT_EQ(exit_code_of(s), kExitUsage) << text;
    EXPECT_THAT(message_of(s), testing::StartsWith(start)) << text;
    EXPECT_THAT(message_of(s), HasSubstr(part)) << text;
    EXPECT_EQ(message_of(s).find('\n'), std::string::npos) << text;
  };
  refused("dense\nconv9d\n", "t.txt:2: ", "conv9d");
  refused("\n\ndense m=0", "t.txt:3: ", "m");
  refused("dense m=1 2 3", "t.txt:1: ", "'2'");
  refused("dense fast", "t.txt:1: ", "'fast' is neither k=v,... nor a weight");
  refused("dense(m=1) fast", "t.txt:1: ", "'fast'");
  refused("dense 0", "t.txt:1: ", "weight 0");
  refused("dense -1", "t.txt:1: ", "weight -1");
  refused("dense nan", "t.txt:1: ", "weight nan");
  refused("dense(m=1", "t.txt:1: ", "");
  refused("dense m=128\nbatch_matmul\ndense(m=128)", "t.txt:3: ", "the same workload as in line 1");
  refused("", "t.txt: ", "no workload");
  refused("# only this\n\n", "t.txt: ", "no workload");
}

TEST(TasksFile, AFileThatCannotBeReadIsOneLine) {
  EXPECT_THAT(message_of(read_tasks(test_operators(), "/nowhere/tasks.txt").status()),
              HasSubstr("--tasks /nowhere/tasks.txt: No such file"));
  EXPECT_THAT(message_of(read_tasks(test_operators(), "/tmp").status()), HasSubstr("--tasks /tmp: it is a folder"));
  EXPECT_THAT(message_of(read_tasks(test_operators(), "/dev/zero").status()),
              HasSubstr("--tasks /dev/zero: it is a device"));
}

TEST(ShortText, NamesWhatDiffersFromTheDefaults) {
  EXPECT_EQ(short_text(Workload::parse(test_operators(), "dense", "")), "dense");
  EXPECT_EQ(short_text(Workload::parse(test_operators(), "conv2d", "ci=128,h=28,w=28")), "conv2d ci=128,h=28,w=28");
}

}  // namespace
}  // namespace hone
