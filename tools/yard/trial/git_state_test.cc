#include "tools/yard/trial/git_state.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "tools/yard/follow/program_output.h"

namespace yard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr absl::Duration kDeadline = absl::Seconds(20);

class GitStateTest : public testing::Test {
 protected:
  GitStateTest() {
    char name[] = "/tmp/gs-XXXXXX";
    directory_ = mkdtemp(name);
    environment_ = {"PATH=/usr/bin:/bin", "HOME=" + directory_, "GIT_CONFIG_NOSYSTEM=1"};
    Write(".gitconfig",
          "[user]\n name = n\n email = e@example.com\n[protocol \"file\"]\n allow = always\n"
          "[init]\n defaultBranch = main\n");
  }
  ~GitStateTest() override { std::filesystem::remove_all(directory_); }

  void Write(const std::string& path, const std::string& text, mode_t mode = 0644) {
    const std::string whole = directory_ + "/" + path;
    std::filesystem::create_directories(std::filesystem::path(whole).parent_path());
    ASSERT_TRUE(runtime::WriteFileAtomically(whole, text, mode).ok());
  }
  std::string Read(const std::string& path) {
    return runtime::ReadFile(directory_ + "/" + path, 1 << 20).value_or("");
  }
  // Installs a fake `git`.
  void UseGit(const std::string& script) {
    std::filesystem::create_directories(directory_ + "/work/.git");
    Write("bin/git", "#!/bin/sh\n" + script, 0755);
    environment_[0] = absl::StrCat("PATH=", directory_, "/bin:/usr/bin:/bin");
  }
  // Runs a script in the work tree.
  bool Shell(const std::string& script) {
    return ReadProgram({"/bin/sh", "-ec", script}, directory_ + "/work", environment_, 1 << 20,
                       kDeadline)
        .ok;
  }
  void MakeRepository() {
    Write("work/train.py", "print(1)\n");
    ASSERT_TRUE(Shell("git init -q . && git add -A && git commit -q -m first")) << "git is needed";
  }
  GitState Ask() { return ReadGit(directory_ + "/work", environment_, kDeadline); }
  // Applies the diff in a clone of the commit; returns how the result differs from the work tree.
  std::string DifferenceOfApplied(const std::string& diff) {
    Write("diff", diff);
    const auto compared = ReadProgram(
        {"/bin/sh", "-ec",
         "rm -rf ../clone && git -c core.autocrlf=false clone -q . ../clone && cd ../clone && "
         "git apply ../diff 2>&1 || echo refused; diff -r --exclude=.git . ../work || true"},
        directory_ + "/work", environment_, 1 << 20, kDeadline);
    return compared.ok ? compared.text : "no clone";
  }
  // A file that a program named by the repository would leave behind.
  std::string Mark() const { return directory_ + "/ran"; }
  bool HasRun() const { return std::filesystem::exists(Mark()); }
  std::string MarkingProgram() {
    Write("marks", absl::StrCat("#!/bin/sh\necho \"$0 $*\" >> ", Mark(), "\nexit 1\n"), 0755);
    return directory_ + "/marks";
  }

  std::string directory_;
  std::vector<std::string> environment_;
};

TEST_F(GitStateTest, ARealRepositoryIsDescribed) {
  Write("work/train.py", "print(1)\n");
  Write(".gitconfig",
        "[user]\n name = n\n email = e@example.com\n[diff]\n external = /bin/false\n"
        "[core]\n fsmonitor = /bin/false\n pager = /bin/false\n");
  ASSERT_TRUE(Shell("git init -q . && git add -A && git commit -q -m first")) << "git is needed";
  GitState git = Ask();
  EXPECT_TRUE(git.found);
  EXPECT_THAT(git.commit, SizeIs(40));
  EXPECT_EQ(git.dirty, false);
  EXPECT_EQ(git.diff, "");
  Write("work/train.py", "print(2)\n");
  Write("work/new dir/file", "");
  git = ReadGit(directory_ + "/work/new dir", environment_, kDeadline);
  EXPECT_EQ(git.dirty, true);
  EXPECT_THAT(git.diff, HasSubstr("-print(1)\n+print(2)\n"));
  EXPECT_THAT(git.untracked, ElementsAre("new dir/"));
  EXPECT_EQ(git.root, std::filesystem::canonical(directory_ + "/work"));
  EXPECT_NE(git.branch, "");
}

TEST_F(GitStateTest, OutsideOfARepositoryAndWithoutGitThereIsNone) {
  Write("work/x", "");
  EXPECT_FALSE(ReadGit(directory_ + "/work", environment_, kDeadline).found);
  environment_[0] = "PATH=" + directory_;
  EXPECT_FALSE(ReadGit(directory_ + "/work", environment_, kDeadline).found);
}

TEST_F(GitStateTest, GitIsNotAskedWhereNoRepositoryIs) {
  UseGit("touch asked; echo /");
  std::filesystem::create_directories(directory_ + "/work/deep/er");
  std::filesystem::create_directories(directory_ + "/elsewhere");
  std::filesystem::create_directory_symlink(directory_ + "/work/deep", directory_ + "/link");
  for (const std::string in : {"/elsewhere", "/work/deep/er", "/link/er"}) {
    const bool is_in = in != "/elsewhere";
    EXPECT_EQ(ReadGit(directory_ + in, environment_, kDeadline).found, is_in) << in;
    EXPECT_EQ(std::filesystem::exists(directory_ + in + "/asked"), is_in) << in;
    std::filesystem::remove(directory_ + in + "/asked");
  }
}

TEST_F(GitStateTest, ALargeDiffIsCut) {
  UseGit(R"(case "$*" in
    *show-toplevel*) echo / ;;
    *abbrev-ref*) echo abc; echo main ;;
    *--list*) ;;
    *status*) printf 'M  file\0?? new\0' ;;
    *diff*) head -c 2000000 /dev/zero | tr '\0' x ;;
  esac)");
  const GitState git = ReadGit(directory_ + "/work", environment_, kDeadline);
  EXPECT_THAT(git.diff, SizeIs(kMaxDiff));
  EXPECT_TRUE(git.diff_is_cut);
  EXPECT_EQ(git.commit, "abc");
  EXPECT_EQ(git.branch, "main");
  EXPECT_THAT(git.untracked, ElementsAre("new"));
}

TEST_F(GitStateTest, AGitThatHangsCostsItsDeadline) {
  UseGit("sleep 1000 & sleep 1000");
  const absl::Time begin = absl::Now();
  EXPECT_FALSE(ReadGit(directory_ + "/work", environment_, absl::Milliseconds(100)).found);
  EXPECT_LT(absl::Now() - begin, absl::Seconds(60));
}

TEST_F(GitStateTest, ACommitThatIsNotThereLeavesTheRest) {
  UseGit(R"(case "$*" in *show-toplevel*) echo / ;; *status*) printf '?? new\0' ;;
    *--list*) ;; *) exit 128 ;; esac)");
  const GitState git = ReadGit(directory_ + "/work", environment_, kDeadline);
  EXPECT_TRUE(git.found);
  EXPECT_EQ(git.commit, "");
  EXPECT_EQ(git.dirty, true);
  EXPECT_EQ(git.diff, "");
}

TEST_F(GitStateTest, WhatGitDidNotAnswerIsNotTakenForNothing) {
  UseGit(R"(case "$*" in *show-toplevel*) echo / ;; *abbrev-ref*) echo abc; echo main ;;
    *--list*) ;; *ext-diff*) echo +1 ;; *) exit 128 ;; esac)");
  const GitState git = ReadGit(directory_ + "/work", environment_, kDeadline);
  EXPECT_EQ(git.dirty, true);
  EXPECT_EQ(git.diff, "+1\n");
  EXPECT_FALSE(git.diff_is_cut);
}

TEST_F(GitStateTest, WhereTheConfigurationIsNotKnownNothingIsAskedThatCouldRunIt) {
  UseGit(
      absl::StrCat(R"(case "$*" in *show-toplevel*) echo / ;; *abbrev-ref*) echo abc; echo main ;;
    *--list*) exit 1 ;; *) touch )",
                   Mark(), " ;; esac"));
  const GitState git = ReadGit(directory_ + "/work", environment_, kDeadline);
  EXPECT_EQ(git.commit, "abc");
  EXPECT_EQ(git.dirty, std::nullopt);
  EXPECT_TRUE(git.diff_is_cut);
  EXPECT_FALSE(HasRun());
}

TEST_F(GitStateTest, AGitInARelativePlaceOfThePathIsNotRun) {
  MakeRepository();
  Write("work/git", absl::StrCat("#!/bin/sh\ntouch ", Mark(), "\n"), 0755);
  for (const char* path : {":/usr/bin:/bin", ".:/usr/bin:/bin", "/usr/bin:/bin:", "."}) {
    environment_[0] = absl::StrCat("PATH=", path);
    EXPECT_TRUE(Ask().found) << path;
    EXPECT_FALSE(HasRun()) << path;
  }
}

// ---- The diff can be applied

TEST_F(GitStateTest, TheDifferencesCanBeAppliedWhateverIsConfigured) {
  const std::string some(300, '\x01'), other(300, '\x02');
  Write("work/weights", std::string("\0", 1) + some);
  Write("work/\xc3\xa4 b", "1\n");
  Write("work/moved", "a\nb\nc\nd\ne\nf\n");
  MakeRepository();
  for (const char* settings :
       {"true", "git config diff.noprefix true", "git config diff.mnemonicPrefix true",
        "git config diff.context 0 && git config diff.interHunkContext 9",
        "git config diff.srcPrefix x/ && git config diff.dstPrefix y/",
        "git config diff.orderFile /no/such/file", "git config diff.renames copies",
        "git config diff.wsErrorHighlight all && git config color.ui always",
        "git config diff.algorithm patience && git config core.quotePath true",
        "git config diff.submodule log && git config diff.relative true"}) {
    ASSERT_TRUE(Shell(absl::StrCat("git reset -q --hard; ", settings))) << settings;
    Write("work/train.py", "print(2)\n");
    Write("work/weights", std::string("\0", 1) + other);
    Write("work/\xc3\xa4 b", "2");
    ASSERT_TRUE(Shell("git mv moved elsewhere; echo g >> elsewhere"));
    const GitState git = Ask();
    EXPECT_FALSE(git.diff_is_cut) << settings;
    EXPECT_EQ(DifferenceOfApplied(git.diff), "") << settings << "\n" << git.diff;
  }
}

TEST_F(GitStateTest, ADiffThatIsCutEndsWithAWholeFile) {
  Write("work/a", "1\n");
  Write("work/b", "1\n");
  MakeRepository();
  Write("work/a", "2\n");
  Write("work/b", std::string(kMaxDiff, 'x'));
  const GitState git = Ask();
  EXPECT_TRUE(git.diff_is_cut);
  EXPECT_THAT(git.diff, StartsWith("diff --git a/a b/a"));
  EXPECT_THAT(git.diff, Not(HasSubstr("b/b")));
  EXPECT_THAT(DifferenceOfApplied(git.diff), Not(HasSubstr("refused")));
  std::string one_file = "diff --git a/a b/a\n+1";
  EndAtAWholeFile(&one_file);
  EXPECT_EQ(one_file, "diff --git a/a b/a\n+1");
}

// ---- Files whose filter would have to run

TEST_F(GitStateTest, AFileThatOnlyAFilterCouldTellAboutIsNamedAndNotCompared) {
  Write("work/.gitattributes", "*.bin filter=x\nplain.bin -filter\n");
  Write("work/large.bin", "pointer\n");
  Write("work/plain.bin", "1\n");
  MakeRepository();
  ASSERT_TRUE(Shell("git config filter.x.clean false; git config filter.x.required true"));
  EXPECT_EQ(Ask().dirty, false);
  Write("work/large.bin", "content\n");
  GitState git = Ask();
  EXPECT_EQ(git.dirty, std::nullopt);
  EXPECT_THAT(git.filtered, ElementsAre("large.bin"));
  EXPECT_EQ(git.diff, "");
  Write("work/plain.bin", "2\n");
  Write("work/new.bin", "");
  git = Ask();
  EXPECT_EQ(git.dirty, true);
  EXPECT_THAT(git.filtered, ElementsAre("large.bin"));
  EXPECT_THAT(git.untracked, ElementsAre("new.bin"));
  EXPECT_THAT(git.diff, HasSubstr("+2\n"));
  EXPECT_THAT(git.diff, Not(HasSubstr("content")));
}

// ---- No program of the repository runs

// Keys of git-config(1) whose value is a command, or a place of commands. `runs` is a command that
// would run the program without ReadGit()'s precautions; empty if none of those it uses would.
struct CommandKey {
  const char* key;
  const char* runs = "";
};
std::ostream& operator<<(std::ostream& out, const CommandKey& key) { return out << key.key; }

const CommandKey kCommandKeys[] = {
    {"alias.config"},
    {"alias.diff"},
    {"alias.rev-parse"},
    {"alias.status"},
    {"browser.x.cmd"},
    {"browser.x.path"},
    {"core.alternateRefsCommand"},
    {"core.askPass"},
    {"core.editor"},
    {"core.fsmonitor", "git status"},
    {"core.gitProxy"},
    {"core.hooksPath"},
    {"core.pager"},
    {"core.sshCommand"},
    {"credential.helper"},
    {"credential.https://host.helper"},
    {"diff.external", "git diff HEAD"},
    {"diff.x.command", "git diff HEAD"},
    {"diff.x.textconv", "git diff HEAD"},
    {"difftool.x.cmd"},
    {"difftool.x.path"},
    {"filter..clean"},
    {"filter.X.clean"},
    {"filter.x.clean", "git status"},
    {"filter.x.process", "git status"},
    {"filter.x.smudge"},
    {"gc.recentObjectsHook"},
    {"gpg.openpgp.program"},
    {"gpg.program"},
    {"gpg.ssh.defaultKeyCommand"},
    {"gpg.ssh.program"},
    {"gpg.x509.program"},
    {"guitool.x.cmd"},
    {"hook.x.command"},
    {"imap.tunnel"},
    {"instaweb.httpd"},
    {"interactive.diffFilter"},
    {"man.x.cmd"},
    {"man.x.path"},
    {"merge.x.driver"},
    {"mergetool.x.cmd"},
    {"mergetool.x.path"},
    {"pager.config"},
    {"pager.diff"},
    {"pager.rev-parse"},
    {"pager.status"},
    {"remote.origin.receivepack"},
    {"remote.origin.uploadpack"},
    {"remote.origin.vcs"},
    {"sendemail.ccCmd"},
    {"sendemail.headerCmd"},
    {"sendemail.sendmailCmd"},
    {"sendemail.smtpServer"},
    {"sendemail.toCmd"},
    {"sequence.editor"},
    {"submodule.x.update"},
    {"tar.x.command"},
    {"trailer.x.cmd"},
    {"trailer.x.command"},
    {"uploadpack.packObjectsHook"},
    {"web.browser"},
};

class EveryCommandKeyTest : public GitStateTest {
 protected:
  // Makes a changed and a touched file with all attributes that can name programs; each of `keys`
  // names its own program.
  void Prepare(const std::vector<std::string>& keys) {
    Write("work/touched", "same\n");
    MakeRepository();
    const std::string program = MarkingProgram();
    const std::string attributes = "* filter=x diff=x merge=x\ntrain.py filter=a=b\n";
    Write("work/.git/info/attributes", attributes);
    Write("work/.gitattributes", attributes);
    std::string config = absl::StrCat(Read("work/.git/config"),
                                      "[hook \"x\"]\n event = post-index-change\n[log]\n "
                                      "showSignature = true\n[status]\n submoduleSummary = true\n");
    for (const std::string& key : keys) {
      const std::string link = absl::StrReplaceAll(key, {{"/", "_"}});
      std::filesystem::create_symlink(program, directory_ + "/" + link);
      absl::StrAppend(&config, Setting(key, directory_ + "/" + link));
    }
    Write("work/.git/config", config);
    ASSERT_TRUE(
        Shell("for hook in post-index-change fsmonitor-watchman pre-commit post-checkout "
              "reference-transaction; do cp ../marks .git/hooks/$hook; done; "
              "touch -d 2020-01-01 touched; echo 'print(2)' > train.py; rm -f ../ran"));
  }
  // Written to the file directly, because `git config` refuses some of them.
  static std::string Setting(const std::string& key, const std::string& program) {
    const std::size_t section = key.find('.'), name = key.rfind('.');
    std::string head = key.substr(0, section);
    if (name != section) {
      absl::StrAppend(&head, " \"", key.substr(section + 1, name - section - 1), "\"");
    }
    const bool is_line_of_shell = key.starts_with("alias") || key.starts_with("submodule");
    return absl::StrCat("[", head, "]\n\t", key.substr(name + 1), " = ",
                        is_line_of_shell ? "!" : "", program, "\n");
  }
};

class CommandKeyTest : public EveryCommandKeyTest,
                       public testing::WithParamInterface<CommandKey> {};

TEST_P(CommandKeyTest, ItsProgramDoesNotRunThoughItWould) {
  Prepare({GetParam().key});
  const GitState git = Ask();
  EXPECT_THAT(git.commit, SizeIs(40));
  EXPECT_FALSE(HasRun()) << Read("ran");
  if (*GetParam().runs == '\0') return;
  Shell(absl::StrCat(GetParam().runs, " >/dev/null 2>&1 || true"));
  EXPECT_TRUE(HasRun()) << "the test can see it";
}

std::vector<CommandKey> KeysThatGitWouldRun() {
  std::vector<CommandKey> keys;
  for (const CommandKey& key : kCommandKeys) {
    if (*key.runs != '\0') keys.push_back(key);
  }
  keys.push_back({"filter.a=b.clean"});  // git-config refuses such names on its command line.
  return keys;
}

INSTANTIATE_TEST_SUITE_P(Each, CommandKeyTest, testing::ValuesIn(KeysThatGitWouldRun()),
                         [](const auto& info) {
                           return absl::StrReplaceAll(info.param.key, {{".", "_"}, {"=", "_"}});
                         });

TEST_F(EveryCommandKeyTest, NoProgramOfAnyOfThemRuns) {
  std::vector<std::string> keys;
  for (const CommandKey& key : kCommandKeys) keys.emplace_back(key.key);
  Prepare(keys);
  const GitState git = Ask();
  EXPECT_THAT(git.commit, SizeIs(40)) << "the configuration is one";
  EXPECT_NE(git.dirty, false);
  EXPECT_FALSE(HasRun()) << Read("ran");
}

// A commit with a missing file that git would fetch from a promisor remote.
class PromisorTest : public GitStateTest, public testing::WithParamInterface<const char*> {};

TEST_P(PromisorTest, NothingIsFetched) {
  MakeRepository();
  MarkingProgram();
  ASSERT_TRUE(Shell(absl::StrReplaceAll(
      "blob=$(git rev-parse HEAD:train.py); git clone -q . ../origin; "
      "git config core.repositoryFormatVersion 1; git config extensions.partialClone origin; "
      "git config remote.origin.promisor true; git config remote.origin.url $PWD/../origin; "
      "SETTING; rm -f .git/objects/$(echo $blob | cut -c1-2)/$(echo $blob | cut -c3-); "
      "echo 'print(2)' > train.py; rm -f ../ran",
      {{"SETTING", GetParam()}})));
  const GitState git = Ask();
  EXPECT_TRUE(git.found);
  EXPECT_FALSE(HasRun()) << Read("ran");
  Shell("git diff HEAD >/dev/null 2>&1 || true");
  EXPECT_TRUE(HasRun()) << "the test can see it";
}

INSTANTIATE_TEST_SUITE_P(Each, PromisorTest,
                         testing::Values("git config remote.origin.uploadpack $PWD/../marks",
                                         "git config remote.origin.url ssh://host/x; "
                                         "git config core.sshCommand $PWD/../marks",
                                         "git config remote.origin.url git://host/x; "
                                         "git config core.gitProxy $PWD/../marks",
                                         "git config remote.origin.url \"ext::$PWD/../marks\"; "
                                         "git config protocol.ext.allow always"));

class SubmoduleTest : public GitStateTest {
 protected:
  void MakeRepositories() {
    Write("inner/f", "1\n");
    MakeRepository();
    ASSERT_TRUE(
        Shell("(cd ../inner; git init -q .; git add -A; git commit -q -m first); "
              "git submodule add -q ../inner sub 2>/dev/null; git commit -q -m second"))
        << "git is needed";
  }
};

TEST_F(SubmoduleTest, ADirtyOneMakesTheWholeDirty) {
  MakeRepositories();
  EXPECT_EQ(Ask().dirty, false);
  Write("work/sub/f", "2\n");
  EXPECT_EQ(Ask().dirty, true);
  ASSERT_TRUE(Shell("cd sub; git commit -q -a -m third"));
  const GitState git = Ask();
  EXPECT_EQ(git.dirty, true);
  EXPECT_THAT(git.diff, HasSubstr("+Subproject commit "));
  EXPECT_THAT(git.diff, Not(HasSubstr("-dirty")));
}

TEST_F(SubmoduleTest, NoProgramThatOneNamesRuns) {
  MakeRepositories();
  const std::string program = MarkingProgram();
  ASSERT_TRUE(Shell(absl::StrReplaceAll(
      "git config status.submoduleSummary true; git config diff.submodule diff; "
      "git config diff.ignoreSubmodules none; git config submodule.sub.ignore none; "
      "git config submodule.recurse true; cd sub; git config core.fsmonitor PROGRAM; "
      "git config filter.x.clean PROGRAM; git config filter.x.process PROGRAM; "
      "git config diff.external PROGRAM; echo '* filter=x' > .gitattributes; echo 2 > f; "
      "rm -f ../../ran",
      {{"PROGRAM", program}})));
  const GitState git = Ask();
  EXPECT_FALSE(HasRun()) << Read("ran");
  EXPECT_NE(git.dirty, false);
  Shell("git status >/dev/null 2>&1 || true");
  EXPECT_TRUE(HasRun()) << "the test can see it";
}

TEST_F(SubmoduleTest, APathThatLeadsElsewhereIsNotAsked) {
  MakeRepository();
  Write("other/f", "");
  Write("work/.gitmodules", "[submodule \"a\"]\n path = ../other\n[submodule \"b\"]\n path = /\n");
  ASSERT_TRUE(Shell("git add -A; git commit -q -m second; cd ../other; git init -q ."));
  EXPECT_EQ(Ask().dirty, false);
}

}  // namespace
}  // namespace yard
