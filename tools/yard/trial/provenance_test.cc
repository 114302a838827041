#include "tools/yard/trial/provenance.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"

namespace yard {
namespace {

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
  // Installs a fake `git`.
  void UseGit(const std::string& script) {
    std::filesystem::create_directories(directory_ + "/.git");
    Write("bin/git", "#!/bin/sh\n" + script, 0755);
    environment_[0] = absl::StrCat("PATH=", directory_, "/bin:/usr/bin:/bin");
  }
  std::string directory_;
  std::vector<std::string> environment_;
};

TEST_F(ProvenanceTest, WhatGitDidNotAnswerIsNotTakenForNothing) {
  UseGit(R"(case "$*" in *show-toplevel*) echo / ;; *abbrev-ref*) echo abc; echo main ;;
    *) exit 128 ;; esac)");
  const auto said = ToJson(ReadProvenance("", directory_, environment_), {}, 0)["git"];
  EXPECT_EQ(said["commit"], "abc");
  EXPECT_TRUE(said["dirty"].is_null()) << said;
  EXPECT_EQ(said["diff_is_cut"], true);
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
