#include "bus/call/name_list.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bus {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

msg::NamesRequestT Request(std::string kind, std::string prefix, std::uint32_t limit = 0) {
  msg::NamesRequestT request;
  request.kind = std::move(kind);
  request.prefix = std::move(prefix);
  request.limit = limit;
  return request;
}

std::vector<std::string> Names(const msg::NamesReplyT& reply) {
  std::vector<std::string> names;
  for (const auto& name : reply.names) names.push_back(name->kind + ":" + name->name);
  return names;
}

TEST(NameListTest, HasWhatBeginsSo) {
  NameList list(Request("", "fi"));
  EXPECT_TRUE(list.Add("trial", "first", "Running"));
  EXPECT_TRUE(list.Add("trial", "second"));
  EXPECT_TRUE(list.Add("run", "first"));
  const auto reply = list.Take();
  EXPECT_THAT(Names(reply), ElementsAre("trial:first", "run:first"));
  EXPECT_EQ(reply.names[0]->note, "Running");
  EXPECT_FALSE(reply.more);
}

TEST(NameListTest, HasOnlyTheKindThatIsAskedFor) {
  NameList list(Request("run", ""));
  EXPECT_FALSE(list.Wants("trial"));
  list.Add("trial", "first");
  list.Add("run", "second");
  EXPECT_THAT(Names(list.Take()), ElementsAre("run:second"));
}

TEST(NameListTest, HasEachOnceAndNothingWithoutAName) {
  NameList list(Request("", ""));
  list.Add("job", "train", "Running");
  list.Add("job", "train", "Exited");
  list.Add("job", "");
  const auto reply = list.Take();
  EXPECT_THAT(Names(reply), ElementsAre("job:train"));
  EXPECT_EQ(reply.names[0]->note, "Running");
}

TEST(NameListTest, EndsAtItsLimitAndSaysSo) {
  NameList list(Request("", "", 2));
  EXPECT_TRUE(list.Add("job", "a"));
  EXPECT_TRUE(list.Add("job", "b"));
  EXPECT_TRUE(list.Add("job", "b")) << "it is there already";
  EXPECT_FALSE(list.Add("job", "c"));
  EXPECT_FALSE(list.Add("job", "b")) << "it is still full";
  const auto reply = list.Take();
  EXPECT_THAT(Names(reply), ElementsAre("job:a", "job:b"));
  EXPECT_TRUE(reply.more);
}

TEST(NameListTest, GivesNobodyMoreThanItWants) {
  EXPECT_EQ(NameList(Request("", "")).limit(), NameList::kDefaultLimit);
  EXPECT_EQ(NameList(Request("", "", 4'000'000'000U)).limit(), NameList::kMostNames);
  EXPECT_THAT(Names(NameList(Request("", "x")).Take()), IsEmpty());
}

}  // namespace
}  // namespace bus
