#include "tools/yard/provenance.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file.h"

namespace yard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class ProvenanceTest : public testing::Test {
 protected:
  ProvenanceTest() {
    char name[] = "/tmp/pv-XXXXXX";
    directory_ = mkdtemp(name);
    environment_ = {"PATH=/usr/bin:/bin", "HOME=" + directory_, "GIT_CONFIG_NOSYSTEM=1"};
  }
  ~ProvenanceTest() override { std::filesystem::remove_all(directory_); }

  void Write(const std::string& path, const std::string& text, mode_t mode = 0644) {
    const std::string whole = directory_ + "/" + path;
    std::filesystem::create_directories(std::filesystem::path(whole).parent_path());
    ASSERT_TRUE(runtime::WriteFileAtomically(whole, text, mode).ok());
  }
  // A `git` of the test's own.
  void UseGit(const std::string& script) {
    Write("bin/git", "#!/bin/sh\n" + script, 0755);
    environment_[0] = absl::StrCat("PATH=", directory_, "/bin:/usr/bin:/bin");
  }
  bool Shell(const std::string& script) {
    return ReadProgram({"/bin/sh", "-ec", script}, directory_ + "/work", environment_, 1 << 20,
                       absl::Seconds(20))
        .ok;
  }

  std::string directory_;
  std::vector<std::string> environment_;
};

TEST_F(ProvenanceTest, ARealRepositoryIsDescribed) {
  Write("work/train.py", "print(1)\n");
  Write(".gitconfig",
        "[user]\n name = n\n email = e@example.com\n[diff]\n external = /bin/false\n"
        "[core]\n fsmonitor = /bin/false\n pager = /bin/false\n");
  ASSERT_TRUE(Shell("git init -q . && git add -A && git commit -q -m first")) << "git is needed";
  GitState git = ReadGit(directory_ + "/work", environment_, absl::Seconds(20));
  EXPECT_TRUE(git.found);
  EXPECT_THAT(git.commit, SizeIs(40));
  EXPECT_EQ(git.dirty, false);
  EXPECT_EQ(git.diff, "");
  Write("work/train.py", "print(2)\n");
  Write("work/new dir/file", "");
  git = ReadGit(directory_ + "/work/new dir", environment_, absl::Seconds(20));
  EXPECT_EQ(git.dirty, true);
  EXPECT_THAT(git.diff, HasSubstr("-print(1)\n+print(2)\n"));
  EXPECT_THAT(git.untracked, ElementsAre("new dir/"));
  EXPECT_EQ(git.root, std::filesystem::canonical(directory_ + "/work"));
  EXPECT_NE(git.branch, "");
}

TEST_F(ProvenanceTest, OutsideOfARepositoryAndWithoutGitThereIsNone) {
  Write("work/x", "");
  EXPECT_FALSE(ReadGit(directory_ + "/work", environment_, absl::Seconds(20)).found);
  environment_[0] = "PATH=" + directory_;
  EXPECT_FALSE(ReadGit(directory_ + "/work", environment_, absl::Seconds(20)).found);
}

TEST_F(ProvenanceTest, ALargeDiffIsCut) {
  UseGit(R"(case "$*" in
    *show-toplevel*) echo / ;;
    *abbrev-ref*) echo abc; echo main ;;
    *status*) printf 'M  file\0?? new\0' ;;
    *diff*) head -c 2000000 /dev/zero | tr '\0' x ;;
  esac)");
  const GitState git = ReadGit("/", environment_, absl::Seconds(20));
  EXPECT_THAT(git.diff, SizeIs(kMaxDiff));
  EXPECT_TRUE(git.diff_is_cut);
  EXPECT_EQ(git.commit, "abc");
  EXPECT_EQ(git.branch, "main");
  EXPECT_THAT(git.untracked, ElementsAre("new"));
}

TEST_F(ProvenanceTest, AGitThatHangsCostsItsDeadline) {
  UseGit("sleep 1000 & sleep 1000");
  const absl::Time begin = absl::Now();
  EXPECT_FALSE(ReadGit("/", environment_, absl::Milliseconds(100)).found);
  EXPECT_LT(absl::Now() - begin, absl::Seconds(60));
}

TEST_F(ProvenanceTest, ACommitThatIsNotThereLeavesTheRest) {
  UseGit(R"(case "$*" in *show-toplevel*) echo / ;; *status*) printf '?? new\0' ;;
    *) exit 128 ;; esac)");
  const GitState git = ReadGit("/", environment_, absl::Seconds(20));
  EXPECT_TRUE(git.found);
  EXPECT_EQ(git.commit, "");
  EXPECT_EQ(git.dirty, true);
  EXPECT_EQ(git.diff, "");
}

TEST_F(ProvenanceTest, WhatGitDidNotAnswerIsNotTakenForNothing) {
  UseGit(R"(case "$*" in *show-toplevel*) echo / ;; *abbrev-ref*) echo abc; echo main ;;
    *) exit 128 ;; esac)");
  Provenance provenance;
  provenance.git = ReadGit("/", environment_, absl::Seconds(20));
  EXPECT_EQ(provenance.git.dirty, std::nullopt);
  const auto said = ToJson(provenance, {}, 0)["git"];
  EXPECT_TRUE(said["dirty"].is_null()) << said;
  EXPECT_EQ(said["diff_is_cut"], true);
  UseGit(R"(case "$*" in *show-toplevel*) echo / ;; *abbrev-ref*) echo abc; echo main ;;
    *diff*) echo +1 ;; *) exit 128 ;; esac)");
  const GitState git = ReadGit("/", environment_, absl::Seconds(20));
  EXPECT_EQ(git.dirty, true);
  EXPECT_EQ(git.diff, "+1\n");
}

TEST_F(ProvenanceTest, IsOneObject) {
  Provenance provenance;
  provenance.working_directory = "/work";
  provenance.yard = "yard 0";
  const std::vector<std::string> argv = {"prog", "a b", "it's", ""};
  auto json = ToJson(provenance, argv, 7);
  EXPECT_EQ(json["command"], R"(prog 'a b' 'it'\''s' '')");
  EXPECT_EQ(json["argv"], argv);
  EXPECT_EQ(json["seed"], 7);
  EXPECT_FALSE(json.contains("git"));
  provenance.git.found = true;
  provenance.git.commit = "abc";
  EXPECT_EQ(ToJson(provenance, argv, 7)["git"]["commit"], "abc");
}

TEST_F(ProvenanceTest, ThePythonThatRunsSaysItsVersion) {
  Write("bin/python9", "#!/bin/sh\n[ \"$1\" = --version ] && echo Python 9.1\n", 0755);
  environment_[0] = absl::StrCat("PATH=", directory_, "/bin:/usr/bin:/bin");
  EXPECT_EQ(ReadProvenance("python9", directory_, environment_).python, "Python 9.1");
  EXPECT_EQ(ReadProvenance("prog", directory_, environment_).python, "");
  EXPECT_NE(ReadProvenance("prog", directory_, environment_).hostname, "");
}

}  // namespace
}  // namespace yard
