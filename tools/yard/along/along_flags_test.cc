// Tests accompanying files from real git work trees to the files that a node unpacks.

#include "tools/yard/along/along_flags.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/archive/tar_reader.h"
#include "runtime/file/file.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "runtime/text/sha256.h"
#include "tools/yard/cli/context.h"
#include "tools/yard/cli/option_set.h"
#include "tools/yard/follow/program_output.h"
#include "tools/yard/state/wanted.h"

namespace yard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class AlongFlagsTest : public testing::Test {
 protected:
  AlongFlagsTest() {
    char name[] = "/tmp/alfXXXXXX";
    folder_ = mkdtemp(name);
    for (const char* const directory : {"/state", "/work", "/unpacked", "/home"}) {
      std::filesystem::create_directory(folder_ + directory);
      std::filesystem::permissions(folder_ + directory, std::filesystem::perms::owner_all);
    }
    context_.err = &err_;
    context_.environment = {"PATH=/usr/bin:/bin", "HOME=" + folder_ + "/home",
                            "GIT_CONFIG_NOSYSTEM=1"};
    context_.working_directory = folder_ + "/work";
    context_.locations.state_directory = folder_ + "/state";
    context_.locations.runtime_directory = folder_ + "/runtime";
    context_.locations.registry_address = "ipc://" + folder_ + "/runtime/registry";
  }
  ~AlongFlagsTest() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& path, const std::string& text, mode_t mode = 0644) {
    const std::string whole = absl::StrCat(folder_, "/work/", path);
    std::filesystem::create_directories(std::filesystem::path(whole).parent_path());
    ASSERT_TRUE(runtime::WriteFileAtomically(whole, text, mode).ok());
  }
  void Sync(const std::string& directory) {
    CLI::App app;
    OptionSet options(&app);
    flags_.Declare(options);
    app.parse("--sync " + directory, false);
  }
  void Shell(const std::string& script) {
    ASSERT_TRUE(ReadProgram({"/bin/sh", "-ec", script}, folder_ + "/work", context_.environment,
                            1 << 20, absl::Seconds(20))
                    .ok)
        << script;
  }
  void Commit() {
    Shell(
        "git init -q . && git add -A && "
        "git -c user.name=n -c user.email=e@example.com commit -q -m first");
  }
  absl::StatusOr<std::unique_ptr<msg::WorkT>> Archive(const std::string& below = "") {
    return flags_.Archive(context_, folder_ + "/work" + below);
  }
  // Returns the files that a node would have.
  std::vector<std::string> Unpacked(const msg::WorkT& work) {
    const std::string path = absl::StrCat(folder_, "/state/work/", work.sha256);
    const std::string bytes = runtime::ReadFile(path, 1 << 24).value_or("");
    EXPECT_EQ(runtime::Sha256Hex(bytes), work.sha256);
    EXPECT_EQ(bytes.size(), work.bytes);
    const std::string into = folder_ + "/unpacked";
    std::filesystem::remove_all(into);
    std::filesystem::create_directory(into);
    const runtime::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(runtime::UnpackTar(fd.get(), into, {}), absl::OkStatus());
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(into)) {
      if (!entry.is_directory()) names.push_back(entry.path().lexically_relative(into));
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  std::string Content(const std::string& path) const {
    return runtime::ReadFile(absl::StrCat(folder_, "/unpacked/", path), 1 << 20).value_or("");
  }
  std::vector<std::string> InState() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ + "/state/work")) {
      names.push_back(entry.path().filename());
    }
    return names;
  }

  std::string folder_;
  std::ostringstream err_;
  Context context_;
  AlongFlags flags_;
};

TEST_F(AlongFlagsTest, TheWorkTreeComesAlongAsItIs) {
  Write("train.py", "print(1)\n");
  Write("tools/go", "#!/bin/sh\n", 0755);
  Write("gone.py", "x\n");
  Write("kept/data", "committed\n");
  Write(".gitignore", "*.log\n");
  Commit();
  Write("train.py", "print(2)\n");
  Write("new.py", "untracked\n");
  Write("big.log", "ignored\n");
  Write("staged.py", "staged\n");
  Shell("rm gone.py; git add staged.py; ln -s ../train.py tools/link");
  const auto work = Archive("/tools");
  ASSERT_TRUE(work.ok()) << work.status();
  ASSERT_NE(*work, nullptr);
  EXPECT_THAT(Unpacked(**work), ElementsAre(".gitignore", "kept/data", "new.py", "staged.py",
                                            "tools/go", "tools/link", "train.py"));
  EXPECT_EQ(Content("train.py"), "print(2)\n");
  EXPECT_EQ(Content("tools/link"), "print(2)\n");
  EXPECT_EQ(access((folder_ + "/unpacked/tools/go").c_str(), X_OK), 0);
  EXPECT_EQ((*work)->subdirectory, "tools");
  EXPECT_EQ(err_.str(), "");
}

TEST_F(AlongFlagsTest, TheSameTreeHasTheSameHashAndAnotherOneHasNot) {
  Write("train.py", "print(1)\n");
  Commit();
  const auto first = Archive();
  ASSERT_TRUE(first.ok()) << first.status();
  Shell("touch -d '2001-01-01' train.py; chmod 0664 train.py");
  const auto again = Archive();
  ASSERT_TRUE(again.ok());
  EXPECT_EQ((*again)->sha256, (*first)->sha256);
  EXPECT_THAT(InState(), ElementsAre((*first)->sha256));
  struct stat about = {};
  ASSERT_EQ(stat(absl::StrCat(folder_, "/state/work/", (*first)->sha256).c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0600u);
  Write("train.py", "print(2)\n");
  const auto changed = Archive();
  ASSERT_TRUE(changed.ok());
  EXPECT_NE((*changed)->sha256, (*first)->sha256);
}

TEST_F(AlongFlagsTest, SubmodulesComeAlongWithTheirOwnChanges) {
  Write("train.py", "1\n");
  Write("library/code.py", "1\n");
  Shell(
      "cd library && git init -q . && git add -A && "
      "git -c user.name=n -c user.email=e@example.com commit -q -m first");
  Shell(
      "git init -q . && git add train.py && git -c protocol.file.allow=always submodule --quiet "
      "add ./library library && "
      "git -c user.name=n -c user.email=e@example.com commit -q -m all");
  Write("library/code.py", "2\n");
  Write("library/new.py", "3\n");
  const auto work = Archive();
  ASSERT_TRUE(work.ok()) << work.status();
  EXPECT_THAT(Unpacked(**work),
              ElementsAre(".gitmodules", "library/code.py", "library/new.py", "train.py"));
  EXPECT_EQ(Content("library/code.py"), "2\n");
}

TEST_F(AlongFlagsTest, NothingThatTheRepositoryNamesRuns) {
  Write("train.py", "1\n");
  Write(".gitattributes", "*.py filter=evil diff=evil\n");
  Commit();
  const std::string mark = folder_ + "/ran";
  Shell(absl::StrCat("git config core.fsmonitor 'touch ", mark,
                     "'; git config filter.evil.clean 'touch ", mark,
                     "'; git config core.pager 'touch ", mark,
                     "'; git config alias.ls-files '!touch ", mark, "'"));
  Write("train.py", "2\n");
  ASSERT_TRUE(Archive().ok());
  EXPECT_FALSE(std::filesystem::exists(mark));
}

TEST_F(AlongFlagsTest, LinksThatLeadOutStayAndAreNamed) {
  Write("train.py", "1\n");
  Shell("ln -s /etc/passwd absolute; ln -s ../../x up; mkdir d; ln -s ../train.py d/inside");
  Commit();
  const auto work = Archive();
  ASSERT_TRUE(work.ok()) << work.status();
  EXPECT_THAT(Unpacked(**work), ElementsAre("d/inside", "train.py"));
  EXPECT_EQ(err_.str(), "links that lead out of the directory do not come along: absolute, up\n");
}

TEST_F(AlongFlagsTest, OutsideOfARepositoryNothingComesAlong) {
  Write("train.py", "1\n");
  const auto work = Archive();
  ASSERT_TRUE(work.ok()) << work.status();
  EXPECT_EQ(*work, nullptr);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/state/work"));
}

TEST_F(AlongFlagsTest, SyncTakesADirectoryWhateverGitSays) {
  Write("code/train.py", "1\n");
  Write("code/data.log", "2\n");
  Write("code/sub/a", "3\n");
  Write("other", "4\n");
  Write(".gitignore", "*.log\n");
  Commit();
  Sync("code");
  const auto work = Archive("/code/sub");
  ASSERT_TRUE(work.ok()) << work.status();
  EXPECT_THAT(Unpacked(**work), ElementsAre("data.log", "sub/a", "train.py"));
  EXPECT_EQ((*work)->subdirectory, "sub");
  const auto elsewhere = Archive();
  ASSERT_TRUE(elsewhere.ok());
  EXPECT_EQ((*elsewhere)->subdirectory, "");
}

TEST_F(AlongFlagsTest, SyncOfWhatIsNoDirectoryAndSyncWithoutAPoolAreErrors) {
  Sync("missing");
  EXPECT_EQ(Archive().status().message(),
            absl::StrCat("--sync: ", folder_, "/work/missing is no directory"));
  EXPECT_EQ(flags_.Check("gpus"), absl::OkStatus());
  EXPECT_THAT(std::string(flags_.Check("").message()), HasSubstr("next: say which with --at POOL"));
}

TEST_F(AlongFlagsTest, RunsAndStateOfTheYardStayHere) {
  Write("train.py", "1\n");
  Commit();
  Write("runs/a/events", "grows\n");
  ASSERT_TRUE(WriteWanted(context_.locations, {.logdir = folder_ + "/work/runs"}).ok());
  const auto work = Archive();
  ASSERT_TRUE(work.ok()) << work.status();
  EXPECT_THAT(Unpacked(**work), ElementsAre("train.py"));
  Sync(".");
  const auto synced = Archive();
  ASSERT_TRUE(synced.ok()) << synced.status();
  EXPECT_THAT(Unpacked(**synced), ElementsAre("train.py"));
}

TEST_F(AlongFlagsTest, TooMuchIsAnErrorThatNamesTheLargestFiles) {
  Write("train.py", "1\n");
  Commit();
  Shell("truncate -s 200M a.bin; truncate -s 100M b.bin");
  const auto untracked = Archive();
  EXPECT_EQ(untracked.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(untracked.status().message()),
              HasSubstr("the largest: a.bin (200.0 MiB), b.bin (100.0 MiB)"));
  EXPECT_THAT(std::string(untracked.status().message()), HasSubstr(".gitignore"));
  Shell("rm b.bin; truncate -s 1100M a.bin; echo '*.bin' > .gitignore");
  ASSERT_TRUE(Archive().ok());
  Sync(".");
  const auto synced = Archive();
  EXPECT_THAT(std::string(synced.status().message()), HasSubstr("the largest: a.bin (1100.0 MiB)"));
}

TEST_F(AlongFlagsTest, ThroughAGateNothingComesAlong) {
  context_.locations.registry_address = "gate:/key";
  EXPECT_THAT(std::string(Archive().status().message()), HasSubstr("through a gate"));
}

}  // namespace
}  // namespace yard
