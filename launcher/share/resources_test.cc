#include "launcher/share/resources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using TaskWishes = Resources::TaskWishes;

Resources There(const std::vector<std::string>& texts) {
  auto parsed = ParseResources(texts);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return Resources(parsed.ok() ? *parsed : std::vector<Resource>{});
}

// Returns each grant as "j-a/worker-0: gpu=0,1 slots=1".
std::vector<std::string> Next(Resources& resources) {
  std::vector<std::string> texts;
  for (const auto& grant : resources.GrantNext()) {
    std::string text = absl::StrCat(grant.job, "/", grant.task, ":");
    for (const auto& given : grant.given) absl::StrAppend(&text, " ", given.ToString());
    texts.push_back(text);
  }
  return texts;
}

std::vector<TaskWishes> Workers(int count, const std::vector<Resources::Wish>& wishes) {
  std::vector<TaskWishes> tasks;
  for (int i = 0; i < count; ++i) tasks.push_back({absl::StrCat("worker-", i), wishes});
  return tasks;
}

TEST(LocalResourcesTest, TheDeviceFilesOfGpusAreASet) {
  char name[] = "/tmp/devXXXXXX";
  const std::string devices = mkdtemp(name);
  EXPECT_THAT(LocalResources(devices), IsEmpty());
  for (const char* file : {"/nvidia10", "/nvidia2", "/nvidiactl", "/nvidia-uvm", "/sda1"}) {
    std::ofstream(devices + file) << "x";
  }
  EXPECT_THAT(LocalResources(devices), ElementsAre("gpu=2,10"));
  for (const auto& [visible, gpus] : std::vector<std::pair<std::string, std::string>>{
           {"10", "gpu=10"},
           {"3,2", "gpu=3,2"},
           {"GPU-1a2b,MIG-GPU-3/1/0", "gpu=GPU-1a2b,MIG-GPU-3/1/0"},
           {"1,-1,2", "gpu=1"},
           {"1,1,2", "gpu=1"}}) {
    EXPECT_THAT(LocalResources(devices, visible), ElementsAre(gpus)) << visible;
  }
  for (const char* none : {"", "-1", "NoDevFiles"}) {
    EXPECT_THAT(LocalResources(devices, none), IsEmpty()) << none;
  }
  std::filesystem::remove_all(devices);
  EXPECT_THAT(LocalResources(devices), IsEmpty());
  EXPECT_THAT(LocalResources(devices, "0"), IsEmpty()) << "there are none at all";
}

TEST(ResourcesTest, IsHeldFromTheGrantToTheRelease) {
  Resources resources = There({"slots=1"});
  resources.Request("j-a", Workers(1, {{"slots", 1}}), false);
  EXPECT_EQ(resources.Held("j-a", "worker-0"), nullptr);
  EXPECT_THAT(Next(resources), ElementsAre("j-a/worker-0: slots=1"));
  ASSERT_NE(resources.Held("j-a", "worker-0"), nullptr);
  EXPECT_EQ(resources.Held("j-a", "worker-0")->at(0).ToString(), "slots=1");
  EXPECT_EQ(resources.Held("j-a", "worker-1"), nullptr);
  resources.Release("j-a", "worker-0");
  EXPECT_EQ(resources.Held("j-a", "worker-0"), nullptr);
}

TEST(ParseResourceTest, ANumberIsAnAmountAndWordsAreASet) {
  const auto slots = ParseResource("slots=4");
  ASSERT_TRUE(slots.ok()) << slots.status();
  EXPECT_FALSE(slots->is_set());
  EXPECT_EQ(slots->amount, 4u);
  const auto disks = ParseResource("disk=sda,nvme0n1");
  ASSERT_TRUE(disks.ok()) << disks.status();
  EXPECT_THAT(disks->members, ElementsAre("sda", "nvme0n1"));
  EXPECT_EQ(disks->amount, 2u);
  EXPECT_THAT(ParseResource("disk=4,")->members, ElementsAre("4"));
  EXPECT_THAT(ParseResource("gpu=GPU-5e3c-1,MIG-7/1/0")->members,
              ElementsAre("GPU-5e3c-1", "MIG-7/1/0"));
}

TEST(ParseResourceTest, TheOneDeviceOfAMachineIsASet) {
  EXPECT_THAT(ParseResource("gpu=0")->members, ElementsAre("0"));
  EXPECT_THAT(ParseResource("gpu=1")->members, ElementsAre("1"));
}

TEST(ParseResourceTest, WhatItWritesItReads) {
  for (const char* text : {"slots=4", "gpu=0", "gpu=0,1", "disk=4,", "disk=a,b"}) {
    const auto resource = ParseResource(text);
    ASSERT_TRUE(resource.ok()) << resource.status();
    EXPECT_EQ(resource->ToString(), text);
  }
}

TEST(ParseResourceTest, SaysWhatIsWrong) {
  const std::map<std::string, std::string> wrong = {
      {"", "not NAME=AMOUNT"},
      {"gpu", "not NAME=AMOUNT"},
      {"=3", "not NAME=AMOUNT"},
      {"a b=3", "not NAME=AMOUNT"},
      {"slots=0", "an amount is from 1"},
      {"slots=99999999999999999999", "an amount is from 1"},
      {"slots=-1", "an amount is from 1"},
      {"slots=4k", "an amount is from 1"},
      {"slots=", "an amount is from 1"},
      {"gpu=-1", "a member is not a word"},
      {"gpu=", "a member is not a word"},
      {"gpu=0,,1", "a member is not a word"},
      {"gpu=0,1,0", "0 is there twice"},
      {"gpu=0-7", "members are named one by one"},
      {"gpu=a b", "a member is not a word"}};
  for (const auto& [text, why] : wrong) {
    const auto resource = ParseResource(text);
    EXPECT_EQ(resource.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(resource.status().message()), HasSubstr(why)) << text;
  }
  EXPECT_THAT(std::string(ParseResources({"a=1", "a=2"}).status().message()),
              HasSubstr("resource a is there twice"));
}

TEST(ResourcesTest, EachTaskHasMembersOfItsOwn) {
  auto resources = There({"gpu=0,1,2,3", "slots=8"});
  const auto tasks = Workers(2, {{"gpu", 2}, {"slots", 1}});
  ASSERT_TRUE(resources.Check(tasks, false).ok());
  resources.Request("j-a", tasks, false);
  EXPECT_THAT(Next(resources), ElementsAre("j-a/worker-0: gpu=0,1 slots=1",  //
                                           "j-a/worker-1: gpu=2,3 slots=1"));
  EXPECT_THAT(Next(resources), IsEmpty());
}

TEST(ResourcesTest, TasksOfAJobShareTheSameMembersIfItSaysSo) {
  auto resources = There({"gpu=0,1", "slots=2"});
  const auto tasks = Workers(2, {{"gpu", 2}, {"slots", 1}});
  EXPECT_FALSE(resources.Check(tasks, false).ok());
  ASSERT_TRUE(resources.Check(tasks, true).ok());
  resources.Request("j-a", tasks, true);
  EXPECT_THAT(Next(resources), ElementsAre("j-a/worker-0: gpu=0,1 slots=1",  //
                                           "j-a/worker-1: gpu=0,1 slots=1"));
  resources.Request("j-b", Workers(1, {{"gpu", 1}}), true);
  resources.Release("j-a", "worker-0");
  EXPECT_THAT(Next(resources), IsEmpty());
  EXPECT_EQ(resources.WhyWaiting("j-b"), "waits for gpu: 2 of 2 are used by j-a");
  resources.Request("j-a", Workers(1, {{"gpu", 2}, {"slots", 1}}), true);
  EXPECT_THAT(Next(resources), ElementsAre("j-a/worker-0: gpu=0,1 slots=1"));
  resources.Release("j-a", "worker-0");
  resources.Release("j-a", "worker-1");
  EXPECT_THAT(Next(resources), ElementsAre("j-b/worker-0: gpu=0"));
}

TEST(ResourcesTest, ATaskThatWaitsIsToldForWhatAndWhoHasIt) {
  auto resources = There({"gpu=0,1", "slots=4"});
  resources.Request("j-abcde", Workers(1, {{"gpu", 2}}), false);
  EXPECT_THAT(Next(resources), ElementsAre("j-abcde/worker-0: gpu=0,1"));
  EXPECT_EQ(resources.WhyWaiting("j-abcde"), "");
  resources.Request("j-b", Workers(1, {{"gpu", 1}}), false);
  resources.Request("j-c", Workers(1, {{"gpu", 2}}), false);
  EXPECT_THAT(Next(resources), IsEmpty());
  EXPECT_EQ(resources.WhyWaiting("j-b"), "waits for gpu: 2 of 2 are used by j-abcde/worker-0");
  EXPECT_EQ(resources.WhyWaiting("j-c"), "waits for 2 gpu: 2 of 2 are used by j-abcde/worker-0");
  resources.Release("j-abcde", "worker-0");
  EXPECT_THAT(Next(resources), ElementsAre("j-b/worker-0: gpu=0"));
  EXPECT_EQ(resources.WhyWaiting("j-c"), "waits for 2 gpu: 1 of 2 is used by j-b/worker-0");
  resources.Request("j-d", Workers(1, {{"gpu", 1}}), false);
  EXPECT_EQ(resources.WhyWaiting("j-d"), "waits for gpu behind j-c");
  EXPECT_THAT(resources.Waiting(9), ElementsAre("j-c", "j-d"));
  EXPECT_THAT(resources.Waiting(1), ElementsAre("j-c"));
  EXPECT_EQ(resources.WhyWaiting("j-nobody"), "");
}

TEST(ResourcesTest, ManyUsersAreNamedByTheFirstThree) {
  auto resources = There({"slots=5"});
  resources.Request("j-a", Workers(5, {{"slots", 1}}), false);
  EXPECT_EQ(Next(resources).size(), 5u);
  resources.Request("j-b", Workers(1, {{"slots", 1}}), false);
  EXPECT_EQ(resources.WhyWaiting("j-b"),
            "waits for slots: 5 of 5 are used by j-a/worker-0, j-a/worker-1, j-a/worker-2 and 2 "
            "more");
}

TEST(ResourcesTest, ALargeRequestIsNotOvertakenByThoseThatWantTheSame) {
  auto resources = There({"gpu=0,1", "slots=4"});
  resources.Request("j-a", Workers(1, {{"gpu", 1}}), false);
  resources.Request("j-large", Workers(1, {{"gpu", 2}}), false);
  resources.Request("j-small", Workers(1, {{"gpu", 1}}), false);
  resources.Request("j-other", Workers(1, {{"slots", 4}}), false);
  EXPECT_THAT(Next(resources), ElementsAre("j-a/worker-0: gpu=0", "j-other/worker-0: slots=4"));
  resources.Release("j-a", "worker-0");
  EXPECT_THAT(Next(resources), ElementsAre("j-large/worker-0: gpu=0,1"));
  resources.Release("j-large", "worker-0");
  EXPECT_THAT(Next(resources), ElementsAre("j-small/worker-0: gpu=0"));
}

TEST(ResourcesTest, TheTasksOfAJobGetAllOrNothing) {
  auto resources = There({"gpu=0,1,2"});
  resources.Request("j-a", Workers(2, {{"gpu", 1}}), false);
  resources.Request("j-b", Workers(2, {{"gpu", 1}}), false);
  EXPECT_THAT(Next(resources), ElementsAre("j-a/worker-0: gpu=0", "j-a/worker-1: gpu=1"));
  resources.Release("j-a", "worker-0");
  EXPECT_THAT(Next(resources), ElementsAre("j-b/worker-0: gpu=0", "j-b/worker-1: gpu=2"));
}

TEST(ResourcesTest, ATaskThatNoLongerWaitsIsForgotten) {
  auto resources = There({"gpu=0"});
  resources.Request("j-a", Workers(1, {{"gpu", 1}}), false);
  EXPECT_THAT(Next(resources), ElementsAre("j-a/worker-0: gpu=0"));
  resources.Request("j-b", Workers(1, {{"gpu", 1}}), false);
  resources.Release("j-b", "worker-0");
  resources.Release("j-b", "worker-0");
  resources.Release("j-a", "worker-0");
  EXPECT_THAT(Next(resources), IsEmpty());
}

TEST(ResourcesTest, ATaskWithoutWishesNeverWaits) {
  auto resources = There({"gpu=0"});
  resources.Request("j-a", Workers(1, {{"gpu", 1}}), false);
  resources.Request("j-b", Workers(1, {{"gpu", 1}}), false);
  resources.Request("j-c", Workers(1, {}), false);
  EXPECT_THAT(Next(resources), ElementsAre("j-a/worker-0: gpu=0", "j-c/worker-0:"));
}

TEST(ResourcesTest, WhatCanNeverBeGivenIsRefusedWithWhatThereIs) {
  const auto resources = There({"gpu=0,1", "slots=4"});
  const auto refusal = [&](const std::vector<TaskWishes>& tasks, bool share = false) {
    const auto status = resources.Check(tasks, share);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    return std::string(status.message());
  };
  EXPECT_EQ(refusal(Workers(1, {{"tpu", 1}})),
            "worker-0 asks for tpu=1, but there is gpu=0,1, slots=4");
  EXPECT_EQ(refusal(Workers(1, {{"gpu", 3}}), true),
            "worker-0 asks for gpu=3, but there is gpu=0,1, slots=4");
  EXPECT_EQ(refusal(Workers(3, {{"gpu", 1}})),
            "the tasks of the job ask for gpu=3 together, but there is gpu=0,1, slots=4");
  EXPECT_EQ(refusal(Workers(3, {{"slots", 4'000'000'000u / 3}}), true),
            "worker-0 asks for slots=1333333333, but there is gpu=0,1, slots=4");
  EXPECT_THAT(std::string(There({}).Check(Workers(1, {{"gpu", 1}}), false).message()),
              HasSubstr("but there are no resources"));
}

TEST(ResourcesTest, WhatAnEarlierLauncherCouldHaveGivenIsToldAndHoldsUpNobody) {
  Resources resources = There({"gpu=0,"});
  resources.Request("j-many", {{"worker-0", {{"gpu", 2}}}}, false);
  resources.Request("j-other", {{"worker-0", {{"tpu", 1}}}}, false);
  resources.Request("j-one", {{"worker-0", {{"gpu", 1}}}}, false);
  EXPECT_THAT(Next(resources), ElementsAre("j-one/worker-0: gpu=0"));
  EXPECT_EQ(resources.WhyWaiting("j-many"),
            "cannot start: worker-0 asks for gpu=2, but there is gpu=0");
  EXPECT_EQ(resources.WhyWaiting("j-other"),
            "cannot start: worker-0 asks for tpu=1, but there is gpu=0");
}

TEST(ResourcesTest, WhatTasksOfAnEarlierLauncherHaveIsNotGivenToOthers) {
  auto resources = There({"gpu=0,1,2", "slots=2", "disk=a,b"});
  resources.Restore("j-a", "worker-0", {"gpu=1,7", "slots=1", "tpu=3"}, false);
  resources.Restore("j-s", "worker-0", {"disk=a,b"}, true);
  resources.Restore("j-s", "worker-1", {"disk=a,b"}, true);
  resources.Request("j-b", Workers(1, {{"gpu", 2}, {"slots", 1}}), false);
  resources.Request("j-c", Workers(1, {{"gpu", 1}}), false);
  resources.Request("j-d", Workers(1, {{"disk", 1}}), false);
  EXPECT_THAT(Next(resources), ElementsAre("j-b/worker-0: gpu=0,2 slots=1"));
  resources.Release("j-a", "worker-0");
  resources.Release("j-s", "worker-0");
  EXPECT_THAT(Next(resources), ElementsAre("j-c/worker-0: gpu=1"));
  resources.Release("j-s", "worker-1");
  EXPECT_THAT(Next(resources), ElementsAre("j-d/worker-0: disk=a,"));
}

// Random jobs start and end. At each moment no member is used twice, and no job is granted a
// resource for which an earlier job waits; in the end every job was served.
class ResourcesRandomTest : public ::testing::TestWithParam<unsigned> {
 protected:
  struct Job {
    std::string id;
    std::vector<TaskWishes> tasks;
    bool share = false;
    std::set<std::string> names;
  };

  int Pick(int from, int to) { return std::uniform_int_distribution<int>(from, to)(random_); }

  Job RandomJob(int number) {
    Job job{absl::StrCat("j-", number), {}, Pick(0, 3) == 0, {}};
    const std::vector<std::pair<std::string, int>> most = {{"gpu", 4}, {"disk", 2}, {"slots", 6}};
    for (int t = Pick(1, 4); t > 0; --t) {
      TaskWishes task{absl::StrCat("worker-", t), {}};
      for (const auto& [name, amount] : most) {
        if (Pick(0, 2) == 0) continue;
        task.wishes.push_back({name, static_cast<std::uint32_t>(Pick(1, amount))});
        job.names.insert(name);
      }
      job.tasks.push_back(task);
    }
    return job;
  }

  void Arrive(int number) {
    Job job = RandomJob(number);
    if (!resources_.Check(job.tasks, job.share).ok()) return;
    resources_.Request(job.id, job.tasks, job.share);
    waiting_.push_back(std::move(job));
  }

  void GrantAll() {
    std::map<std::string, std::vector<Resources::Grant>> by_job;
    for (const auto& grant : resources_.GrantNext()) {
      by_job[grant.job].push_back(grant);
      running_.push_back(grant);
    }
    std::set<std::string> waited_for;
    for (auto job = waiting_.begin(); job != waiting_.end();) {
      const auto granted = by_job.find(job->id);
      if (granted == by_job.end()) {
        EXPECT_NE(resources_.WhyWaiting(job->id), "") << job->id;
        waited_for.insert(job->names.begin(), job->names.end());
        ++job;
        continue;
      }
      EXPECT_EQ(granted->second.size(), job->tasks.size());
      for (const auto& name : job->names) EXPECT_FALSE(waited_for.contains(name)) << job->id;
      if (job->share) sharing_.insert(job->id);
      ++served_;
      job = waiting_.erase(job);
    }
    EXPECT_TRUE(!running_.empty() || waiting_.empty());
  }

  void CheckUse() {
    std::map<std::string, std::string> user_of;
    std::uint64_t slots = 0;
    for (const auto& grant : running_) {
      const std::string user =
          sharing_.contains(grant.job) ? grant.job : absl::StrCat(grant.job, "/", grant.task);
      for (const auto& given : grant.given) {
        if (given.name == "slots") slots += given.amount;
        EXPECT_EQ(given.members.size(), given.name == "slots" ? 0 : given.amount);
        for (const auto& member : given.members) {
          const auto [known, is_new] = user_of.emplace(absl::StrCat(given.name, member), user);
          EXPECT_EQ(known->second, user) << given.name << member;
        }
      }
    }
    EXPECT_LE(slots, 6u);
    EXPECT_LE(user_of.size(), 6u);
  }

  void EndOne() {
    if (running_.empty()) return;
    const auto at = running_.begin() + Pick(0, static_cast<int>(running_.size()) - 1);
    resources_.Release(at->job, at->task);
    running_.erase(at);
  }

  std::mt19937 random_{GetParam()};
  Resources resources_ = There({"gpu=0,1,2,3", "disk=a,b", "slots=6"});
  std::vector<Job> waiting_;
  std::vector<Resources::Grant> running_;
  std::set<std::string> sharing_;
  int served_ = 0;
};

TEST_P(ResourcesRandomTest, NothingIsUsedTwiceAndEverybodyIsServed) {
  for (int step = 0; step < 2000; ++step) {
    if (Pick(0, 2) != 0) EndOne();
    if (waiting_.size() < 30) Arrive(step);
    GrantAll();
    CheckUse();
  }
  for (int step = 0; step < 1000 && !running_.empty(); ++step) {
    EndOne();
    GrantAll();
    CheckUse();
  }
  EXPECT_TRUE(waiting_.empty());
  EXPECT_TRUE(running_.empty());
  EXPECT_GT(served_, 200);
}

// Members of "gpu" and "licence" that several launchers share; each has its own claims.
class FakeClaims : public Claims {
 public:
  using Held = std::map<std::pair<std::string, std::string>, std::string>;
  FakeClaims(Held* held, std::string user) : held_(held), user_(std::move(user)) {}

  bool IsShared(const std::string& resource) const override {
    return resource == "gpu" || resource == "licence";
  }
  bool Claim(const std::string& resource, const std::string& member,
             const std::string& job) override {
    const std::string mine = absl::StrCat(user_, "'s ", job);
    return held_->emplace(std::pair(resource, member), mine).first->second == mine;
  }
  bool Reclaim(const std::string& resource, const std::string& member, const std::string& job,
               bool only_if_noted) override {
    const bool is_noted = held_->contains({resource, member});
    return (is_noted || !only_if_noted) && Claim(resource, member, job);
  }
  void Release(const std::string& resource, const std::string& member) override {
    held_->erase({resource, member});
  }
  std::string WhyNot(const std::string& resource, const std::string& member) override {
    const auto held = held_->find({resource, member});
    return held == held_->end() ? ""
                                : absl::StrCat(resource, " ", member, " is held by ", held->second);
  }

 private:
  Held* const held_;
  const std::string user_;
};

class SharedResourcesTest : public ::testing::Test {
 protected:
  static std::vector<Resource> Parsed(const std::vector<std::string>& texts) {
    return ParseResources(texts).value();
  }
  FakeClaims::Held held_;
  FakeClaims alices_{&held_, "alice"}, bobs_{&held_, "bob"};
  const std::vector<std::string> there_is_ = {"gpu=0,1,2", "licence=2", "slots=2"};
  Resources alice_{Parsed(there_is_), &alices_}, bob_{Parsed(there_is_), &bobs_};
};

TEST_F(SharedResourcesTest, WhatOneHasTheOtherDoesNotGet) {
  alice_.Request("j-a", Workers(1, {{"gpu", 1}}), false);
  EXPECT_THAT(Next(alice_), ElementsAre("j-a/worker-0: gpu=0"));
  bob_.Request("j-b", Workers(1, {{"gpu", 1}}), false);
  EXPECT_THAT(Next(bob_), ElementsAre("j-b/worker-0: gpu=1"));
  bob_.Request("j-c", Workers(1, {{"gpu", 2}}), false);
  EXPECT_THAT(Next(bob_), IsEmpty());
  EXPECT_EQ(bob_.WhyWaiting("j-c"), "waits for 2 gpu: gpu 0 is held by alice's j-a");
  EXPECT_THAT(bob_.WaitsForOthers(), ElementsAre("gpu 0 is held by alice's j-a"));
  // While it waits, it does not hold the members that were free.
  EXPECT_EQ(held_.size(), 2u);
  alice_.Release("j-a", "worker-0");
  EXPECT_THAT(Next(bob_), ElementsAre("j-c/worker-0: gpu=0,2"));
  EXPECT_THAT(bob_.WaitsForOthers(), IsEmpty());
  bob_.Release("j-b", "worker-0");
  bob_.Release("j-c", "worker-0");
  EXPECT_THAT(held_, IsEmpty());
}

TEST_F(SharedResourcesTest, NobodyOvertakesWhoWaitsForOthers) {
  alice_.Request("j-a", Workers(1, {{"gpu", 1}}), false);
  EXPECT_THAT(Next(alice_), ElementsAre("j-a/worker-0: gpu=0"));
  bob_.Request("j-large", Workers(1, {{"gpu", 3}}), false);
  bob_.Request("j-small", Workers(1, {{"gpu", 1}}), false);
  bob_.Request("j-other", Workers(1, {{"slots", 1}}), false);
  EXPECT_THAT(Next(bob_), ElementsAre("j-other/worker-0: slots=1"));
  EXPECT_EQ(bob_.WhyWaiting("j-large"), "waits for 3 gpu: gpu 0 is held by alice's j-a");
  EXPECT_EQ(bob_.WhyWaiting("j-small"), "waits for gpu behind j-large");
  bob_.Release("j-large", "worker-0");
  EXPECT_THAT(Next(bob_), ElementsAre("j-small/worker-0: gpu=1"));
}

TEST_F(SharedResourcesTest, AllOfSeveralResourcesOrNothing) {
  alice_.Request("j-a", Workers(1, {{"licence", 2}}), false);
  EXPECT_THAT(Next(alice_), ElementsAre("j-a/worker-0: licence=2"));
  bob_.Request("j-b", Workers(2, {{"gpu", 1}, {"licence", 1}}), false);
  EXPECT_THAT(Next(bob_), IsEmpty());
  EXPECT_EQ(
      bob_.WhyWaiting("j-b"),
      "waits for 2 licence: licence 0 is held by alice's j-a; licence 1 is held by alice's j-a");
  EXPECT_EQ(held_.size(), 2u);
  alice_.Release("j-a", "worker-0");
  EXPECT_THAT(Next(bob_),
              ElementsAre("j-b/worker-0: gpu=0 licence=1", "j-b/worker-1: gpu=1 licence=1"));
  EXPECT_THAT(bob_.Claimed("j-b", "worker-1"),
              ElementsAre(std::pair("gpu", "1"), std::pair("licence", "1")));
  bob_.Release("j-b", "worker-0");
  EXPECT_EQ(held_.size(), 2u);
  EXPECT_TRUE(held_.contains({"licence", "1"}));
}

TEST_F(SharedResourcesTest, TasksThatShareASetHaveItUntilTheLastOneEnds) {
  alice_.Request("j-a", Workers(2, {{"gpu", 2}}), /*share_sets=*/true);
  EXPECT_THAT(Next(alice_), ElementsAre("j-a/worker-0: gpu=0,1", "j-a/worker-1: gpu=0,1"));
  EXPECT_THAT(alice_.Claimed("j-a", "worker-1"),
              ElementsAre(std::pair("gpu", "0"), std::pair("gpu", "1")));
  alice_.Release("j-a", "worker-0");
  EXPECT_EQ(held_.size(), 2u);
  alice_.Release("j-a", "worker-1");
  EXPECT_THAT(held_, IsEmpty());
}

TEST_F(SharedResourcesTest, TheNextLauncherHasWhatTheLastOneHad) {
  alice_.Request("j-a", Workers(1, {{"gpu", 1}, {"licence", 1}}), false);
  ASSERT_EQ(Next(alice_).size(), 1u);
  Resources next(Parsed(there_is_), &alices_);
  next.Restore("j-a", "worker-0", {"gpu=0", "licence=1"}, false);
  EXPECT_THAT(next.Claimed("j-a", "worker-0"),
              ElementsAre(std::pair("gpu", "0"), std::pair("licence", "0")));
  next.Release("j-a", "worker-0");
  EXPECT_THAT(held_, IsEmpty());
}

TEST_F(SharedResourcesTest, WhatIsNotSharedIsEachOnesOwn) {
  for (Resources* resources : {&alice_, &bob_}) {
    resources->Request("j-a", Workers(1, {{"slots", 2}}), false);
    EXPECT_THAT(Next(*resources), ElementsAre("j-a/worker-0: slots=2"));
  }
  EXPECT_THAT(held_, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Seeds, ResourcesRandomTest, ::testing::Range(1u, 11u));

}  // namespace
}  // namespace launcher
