#include "launcher/job/job_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "bus/call/name_list.h"
#include "bus/schema/launcher_generated.h"
#include "launcher/job/job_row.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class JobNamesTest : public ::testing::Test {
 protected:
  void Add(const std::string& id, const std::string& name, std::int64_t created_us, bool ended) {
    msg::JobSpecT spec;
    spec.name = name;
    spec.argv = {"/bin/true"};
    JobRow row = MakeJobRow(std::move(spec));
    row.id = id;
    row.created_us = created_us;
    if (ended) row.status.tasks[0].state = msg::TaskState::Exited;
    rows_.push_back(std::move(row));
  }
  std::string Find(const std::string& name) const {
    std::vector<const JobRow*> rows;
    for (const JobRow& row : rows_) rows.push_back(&row);
    const auto id = JobNamed(rows, name);
    return id.ok() ? *id : id.status().ToString();
  }
  // Returns "KIND NAME" of each completion.
  std::vector<std::string> List(const std::string& kind, const std::string& prefix) const {
    msg::NamesRequestT request;
    request.kind = kind;
    request.prefix = prefix;
    bus::NameList names(request);
    std::vector<const JobRow*> rows;
    for (const JobRow& row : rows_) rows.push_back(&row);
    ListNames(std::move(rows), names);
    std::vector<std::string> list;
    for (const auto& name : names.Take().names) list.push_back(name->kind + " " + name->name);
    return list;
  }
  std::deque<JobRow> rows_;
};

TEST_F(JobNamesTest, AnIdIsItselfEvenIfAnotherOneBeginsSo) {
  Add("j-ab", "", 1, false);
  Add("j-abc", "", 2, false);
  EXPECT_EQ(Find("j-ab"), "j-ab");
}

TEST_F(JobNamesTest, ALiveJobIsMeantBeforeAnEndedOneAndThenTheNewest) {
  Add("j-1", "train", 1, false);
  Add("j-2", "train", 2, true);
  EXPECT_EQ(Find("train"), "j-1");
  rows_.clear();
  Add("j-1", "train", 1, true);
  Add("j-2", "train", 2, true);
  EXPECT_EQ(Find("train"), "j-2");
}

TEST_F(JobNamesTest, ThePrefixOfOneIdIsEnough) {
  Add("j-abc", "", 1, false);
  Add("j-xyz", "", 2, false);
  EXPECT_EQ(Find("j-x"), "j-xyz");
}

TEST_F(JobNamesTest, SeveralAreNamedAndManyCounted) {
  for (int i = 0; i < 7; ++i) Add("j-" + std::to_string(i), "", i, false);
  const std::string error = Find("j-");
  EXPECT_THAT(error, HasSubstr("j-0, j-1, j-2, j-3, j-4 and 2 more"));
  EXPECT_THAT(error, HasSubstr("FAILED_PRECONDITION"));
}

TEST_F(JobNamesTest, NoneOfThatNameIsNotFound) {
  Add("j-1", "", 1, false);
  EXPECT_THAT(Find("other"), HasSubstr("NOT_FOUND: there is no job other"));
  EXPECT_THAT(Find(""), HasSubstr("NOT_FOUND"));
}

TEST_F(JobNamesTest, ATaskIsFoundByItsNameAndTheErrorNamesSome) {
  Add("j-1", "", 1, false);
  const std::string own = rows_[0].tasks[0].name();
  const auto task = TaskNamed(rows_[0], own);
  ASSERT_TRUE(task.ok()) << task.status();
  EXPECT_EQ(*task, 0);
  const auto none = TaskNamed(rows_[0], "ps-9");
  EXPECT_TRUE(absl::IsNotFound(none.status()));
  EXPECT_THAT(none.status().ToString(), HasSubstr("has no task ps-9, but " + own));
}

TEST_F(JobNamesTest, ListsLiveJobsFirstThenTheNewest) {
  Add("j-1", "old", 1, true);
  Add("j-2", "train", 2, false);
  Add("j-3", "", 3, true);
  EXPECT_THAT(List("", ""), ElementsAre("job train", "job j-3", "job old"));
  EXPECT_THAT(List("job", "j-"), ElementsAre("job j-2", "job j-3", "job j-1"));
  EXPECT_THAT(List("trial", ""), IsEmpty());
}

TEST_F(JobNamesTest, ListsATrialsJobOnceItIsTyped) {
  Add("j-1", "", 1, false);
  auto label = std::make_unique<msg::KeyValueT>();
  label->key = "trial";
  rows_.back().spec.labels.push_back(std::move(label));
  EXPECT_THAT(List("", ""), IsEmpty());
  EXPECT_THAT(List("", "j"), ElementsAre("job j-1"));
}

TEST_F(JobNamesTest, ListsTasksOfAJobThatIsTyped) {
  Add("j-1", "train", 1, false);
  EXPECT_THAT(List("", "train/"), ElementsAre("task train/worker-0"));
  EXPECT_THAT(List("task", "j-1/w"), ElementsAre("task j-1/worker-0"));
  EXPECT_THAT(List("", "train/x"), IsEmpty());
  EXPECT_THAT(List("task", "tr"), IsEmpty());
}

}  // namespace
}  // namespace launcher
