#include "tools/yard/completion_words.h"

#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/yard/cli/verb.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

std::vector<std::string> Texts(const CompletionWords& found) {
  std::vector<std::string> texts;
  for (const auto& word : found.words) texts.push_back(word.text);
  return texts;
}

std::vector<std::string> After(std::vector<std::string> words) {
  return Texts(FindCompletions(words));
}

std::vector<std::string_view> KindsAfter(std::vector<std::string> words) {
  return FindCompletions(words).kinds;
}

TEST(CompletionWordsTest, VerbsComeFirst) {
  EXPECT_EQ(After({""}).size(), Verbs().size());
  EXPECT_EQ(After({}).size(), Verbs().size());
  EXPECT_THAT(After({"comp"}), ElementsAre("compare", "completion"));
  EXPECT_THAT(After({"--v"}), ElementsAre("--version"));
  EXPECT_THAT(After({"frob"}), IsEmpty());
  EXPECT_THAT(After({"frob", ""}), IsEmpty());
}

TEST(CompletionWordsTest, AVerbHasItsFlagsAndThoseOfEveryVerb) {
  EXPECT_THAT(After({"logs", "--"}), IsSupersetOf({"--follow", "--collapse", "--json", "--help"}));
  EXPECT_THAT(After({"logs", "-"}), Contains("-f"));
  EXPECT_THAT(After({"launch", "--gang"}), ElementsAre("--gang")) << "also what help only names";
  EXPECT_THAT(After({"status", "--gang"}), IsEmpty());
}

TEST(CompletionWordsTest, AFlagsValueIsOneOfItsSet) {
  EXPECT_THAT(After({"export", "--format", ""}), ElementsAre("csv", "jsonl"));
  EXPECT_THAT(After({"export", "first", "--format", "j"}), ElementsAre("jsonl"));
  EXPECT_THAT(After({"export", "--format=c"}), ElementsAre("--format=csv"));
  EXPECT_THAT(After({"ps", "--color", "a"}), ElementsAre("auto", "always"));
  EXPECT_THAT(After({"up", "--service", "log_f"}), ElementsAre("log_file_mb=", "log_files="));
  EXPECT_THAT(After({"up", "--service=log_level=w"}), ElementsAre("--service=log_level=warning"));
  EXPECT_THAT(After({"topic", ""}), ElementsAre("ls", "hz", "bw", "delay"));
}

TEST(CompletionWordsTest, NamesAreOfTheKindThatTheVerbTakes) {
  EXPECT_THAT(KindsAfter({"pause", ""}), ElementsAre("trial", "sweep"));
  EXPECT_THAT(KindsAfter({"pause", "first", ""}), ElementsAre("trial", "sweep"));
  EXPECT_THAT(KindsAfter({"stop", ""}), Contains("tool"));
  EXPECT_THAT(KindsAfter({"logs", ""}), ElementsAre("trial", "job", "task"));
  EXPECT_THAT(KindsAfter({"topic", "hz", ""}), ElementsAre("topic"));
  EXPECT_THAT(KindsAfter({"topic", "hz", "m/", ""}), IsEmpty()) << "it takes no more";
  EXPECT_THAT(KindsAfter({"call", ""}), ElementsAre("service"));
  EXPECT_THAT(KindsAfter({"call", "launcher", ""}), ElementsAre("method"));
  EXPECT_THAT(KindsAfter({"run", "--from", ""}), ElementsAre("trial"));
  EXPECT_THAT(KindsAfter({"set", ""}), ElementsAre("run", "trial"));
  EXPECT_THAT(KindsAfter({"set", "first", "--note", ""}), IsEmpty());
  EXPECT_THAT(After({"set", "first", "--la"}), ElementsAre("--label"));
  EXPECT_THAT(KindsAfter({"signal", "train", ""}), IsEmpty());
  EXPECT_THAT(After({"signal", "train", "SIGU"}), ElementsAre("SIGUSR1", "SIGUSR2"));
}

TEST(CompletionWordsTest, AFlagWithoutAValueIsNoNameAndItsValueNeither) {
  EXPECT_THAT(KindsAfter({"tell", "--json", ""}), ElementsAre("trial"));
  EXPECT_THAT(KindsAfter({"logs", "-n", "10", ""}), Contains("job"));
  EXPECT_THAT(KindsAfter({"signal", "--color", "never", ""}), Contains("job"));
}

TEST(CompletionWordsTest, TagsAreThoseOfTheRunThatIsTyped) {
  const CompletionWords apart = FindCompletions({"plot", "first", "-m", "lo"});
  EXPECT_THAT(apart.kinds, ElementsAre("tag"));
  EXPECT_EQ(apart.of, "first");
  EXPECT_EQ(apart.prefix, "lo");
  EXPECT_EQ(apart.before, "");
  const CompletionWords together = FindCompletions({"plot", "first", "--metric=lo"});
  EXPECT_EQ(together.prefix, "lo");
  EXPECT_EQ(together.before, "--metric=");
}

TEST(CompletionWordsTest, AProgramsWordsAreItsOwn) {
  EXPECT_TRUE(FindCompletions({"run", "--", "py"}).is_file);
  EXPECT_TRUE(FindCompletions({"run", "--", "x", "--fo"}).is_file);
  EXPECT_TRUE(FindCompletions({"tensorboard", "--log"}).is_file);
  EXPECT_THAT(After({"tensorboard", "--js", "--", "x"}), IsEmpty());
}

TEST(CompletionWordsTest, PathsAreTheShells) {
  EXPECT_TRUE(FindCompletions({"launch", "job"}).is_file);
  EXPECT_TRUE(FindCompletions({"up", "--logdir", ""}).is_file);
  EXPECT_TRUE(FindCompletions({"up", "--logdir=r"}).is_file);
  EXPECT_FALSE(FindCompletions({"stop", ""}).is_file);
}

// For every verb and any text, all candidates begin with the typed text.
TEST(CompletionWordsTest, EverythingBeginsAsTyped) {
  for (const VerbEntry& verb : Verbs()) {
    for (const std::string typed : {"", "-", "--", "--c", "a", "--color=n", "\xff", "--=", "=x"}) {
      const CompletionWords found = FindCompletions({verb.name, typed});
      for (const auto& word : found.words) {
        EXPECT_TRUE(word.text.starts_with(typed)) << verb.name << " " << typed << " " << word.text;
      }
      EXPECT_EQ(typed, found.kinds.empty() ? typed : found.before + found.prefix) << verb.name;
    }
  }
}

}  // namespace
}  // namespace yard
