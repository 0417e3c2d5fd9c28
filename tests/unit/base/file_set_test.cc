#include "base/file_set.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/exit_code.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

using testing::HasSubstr;

class FileSetTest : public testing::Test {
 protected:
  static std::string text_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  static bool is_there(const std::string& path) { return std::filesystem::exists(path); }
  long files() const { return std::distance(std::filesystem::directory_iterator(folder_.path()), {}); }

  // An object and its header, both holding `text`.
  Status build(FileSet& files, const std::string& text) const {
    HONE_RETURN_IF_ERROR(files.add(object_, text));
    HONE_RETURN_IF_ERROR(files.add(header_, text));
    return files.commit();
  }
  Status build(const std::string& text) const {
    FileSet files;
    return build(files, text);
  }
  // Runs `work` in a process that is expected to be killed, or not.
  template <class F>
  static bool is_killed(const F& work) {
    const pid_t child = fork();
    if (child == 0) {
      work();
      _exit(0);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  }

  const TemporaryFolder folder_;
  const std::string object_ = folder_.path() + "/m.so", header_ = folder_.path() + "/m.h";
};

TEST_F(FileSetTest, TakesItsPlacesAtOnce) {
  ASSERT_TRUE(build("old").ok());
  FileSet files;
  ASSERT_TRUE(files.add(object_, "new").ok());
  ASSERT_TRUE(files.add(header_, {"n", "ew"}).ok());
  EXPECT_EQ(text_of(object_), "old") << "nothing is committed yet";
  ASSERT_TRUE(files.commit().ok());
  EXPECT_EQ(text_of(object_) + " " + text_of(header_), "new new");
  EXPECT_EQ(this->files(), 2);
}

TEST_F(FileSetTest, WhatCannotBeWrittenLeavesAllAsItWas) {
  ASSERT_TRUE(build("old").ok());
  std::filesystem::create_directory(folder_.path() + "/folder");
  for (const std::string& header : {folder_.path() + "/none/m.h", folder_.path() + "/folder"}) {
    FileSet files;
    ASSERT_TRUE(files.add(object_, "new").ok());
    const Status failed = files.add(header, "new");
    EXPECT_EQ(exit_code_of(failed), kExitUsage);
    EXPECT_THAT(message_of(failed), HasSubstr(header + " cannot be written"));
  }
  EXPECT_EQ(text_of(object_) + " " + text_of(header_), "old old");
  EXPECT_EQ(files(), 3) << "no temporary file is left";
}

TEST_F(FileSetTest, KilledAtAnyStepItsHeaderFitsOrIsMissing) {
  for (int step = 0;; ++step) {
    ASSERT_TRUE(build("old").ok());
    const bool killed = is_killed([&] {
      int steps = 0;
      FileSet files([&] {
        if (steps++ == step) raise(SIGKILL);
      });
      build(files, "new").IgnoreError();
    });
    EXPECT_TRUE(!is_there(header_) || text_of(header_) == text_of(object_)) << "killed before step " << step;
    if (!killed) {
      EXPECT_EQ(text_of(header_), "new");
      EXPECT_EQ(step, 3) << "the old header goes, two files come";
      break;
    }
    ASSERT_TRUE(build("newer").ok());
    EXPECT_EQ(text_of(object_) + " " + text_of(header_), "newer newer");
    EXPECT_EQ(files(), 2) << "what was left before step " << step << " is removed";
  }
}

TEST_F(FileSetTest, RemovesWhatAKilledWriterLeftAndNothingElse) {
  const std::vector<std::string> others = {object_ + ".part", object_ + ".mine.part", object_ + "x.12.part",
                                           folder_.path() + "/n.so.12.part", object_ + ".12.parts"};
  for (const std::string& other : others) std::ofstream(other) << "theirs";
  EXPECT_TRUE(is_killed([&] {
    FileSet files;
    files
        .add(object_,
             [](std::ostream& out) {
               out << "half" << std::flush;
               raise(SIGKILL);
               return absl::OkStatus();
             })
        .IgnoreError();
  }));
  EXPECT_EQ(files(), static_cast<long>(others.size()) + 1);
  ASSERT_TRUE(build("new").ok());
  EXPECT_EQ(files(), static_cast<long>(others.size()) + 2);
  for (const std::string& other : others) EXPECT_EQ(text_of(other), "theirs") << other;
}

TEST_F(FileSetTest, LeavesAloneWhatHasAWriter) {
  FileSet slow;
  ASSERT_TRUE(slow.add(object_,
                       [&](std::ostream& out) {
                         out << "first";
                         // In the same process, too: its number alone says nothing.
                         EXPECT_TRUE(build("second").ok());
                         EXPECT_EQ(text_of(object_), "second");
                         return absl::OkStatus();
                       })
                  .ok());
  ASSERT_TRUE(build("third").ok());
  ASSERT_TRUE(slow.commit().ok());
  EXPECT_EQ(text_of(object_), "first");
  EXPECT_EQ(files(), 2);
}

TEST_F(FileSetTest, AHeaderOfOneBuildBesideTheObjectOfAnotherIsRemoved) {
  int steps = 0;
  FileSet first([&] {
    if (steps++ != 2) return;  // its object is in place, its header is not
    EXPECT_TRUE(build("second").ok());
  });
  const Status mixed = build(first, "first");
  EXPECT_EQ(exit_code_of(mixed), kExitUsage);
  EXPECT_THAT(message_of(mixed), HasSubstr("m.so was written by another build at the same time"));
  EXPECT_EQ(text_of(object_), "second");
  EXPECT_FALSE(is_there(header_));
}

}  // namespace
}  // namespace hone
