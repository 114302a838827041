#include "launcher/job/job_row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"
#include "launcher/job/supervisor.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

msg::TaskGroupT& AddGroup(msg::JobSpecT* spec, const std::string& type, std::uint32_t count) {
  spec->groups.push_back(std::make_unique<msg::TaskGroupT>());
  spec->groups.back()->type = type;
  spec->groups.back()->count = count;
  return *spec->groups.back();
}

// Makes a spec with the tasks ps-0, chief-0, worker-0 and worker-1.
msg::JobSpecT Cluster() {
  msg::JobSpecT spec;
  spec.argv = {"train"};
  AddGroup(&spec, "ps", 1);
  AddGroup(&spec, "chief", 1);
  AddGroup(&spec, "worker", 2);
  return spec;
}

void StartAfter(msg::TaskGroupT* group, const std::string& type, msg::Milestone milestone) {
  group->start_after.push_back(std::make_unique<msg::StartAfterT>());
  group->start_after.back()->type = type;
  group->start_after.back()->milestone = milestone;
}

// Describes all fields of the rules.
std::vector<std::string> Words(const JobRules& rules) {
  std::vector<std::string> words = {
      absl::StrCat("policy ", msg::EnumNameRestartPolicy(rules.restart.policy)),
      absl::StrCat("max_restarts ", rules.restart.max_restarts),
      absl::StrCat("window ", absl::FormatDuration(rules.restart.window)),
      absl::StrCat("first_delay ", absl::FormatDuration(rules.restart.first_delay)),
      absl::StrCat("longest_delay ", absl::FormatDuration(rules.restart.longest_delay)),
      absl::StrCat("stable_after ", absl::FormatDuration(rules.restart.stable_after)),
      absl::StrCat("first_is_immediate ", rules.restart.first_is_immediate),
      absl::StrCat("waits_for_jobs ", rules.waits_for_jobs),
      absl::StrCat("autostart ", rules.autostart),
      absl::StrCat("gang ", rules.gang),
      absl::StrCat("chief ", rules.chief),
      absl::StrCat("keep_going ", rules.keep_going),
      absl::StrCat("grace ", absl::FormatDuration(rules.grace)),
      absl::StrCat("courtesy ", absl::FormatDuration(rules.courtesy))};
  for (const TaskRules& task : rules.tasks) {
    std::string word = task.name;
    for (const Wait& wait : task.waits) {
      absl::StrAppend(&word, " waits for ", wait.words, " (", absl::StrJoin(wait.tasks, ","), " ",
                      msg::EnumNameMilestone(wait.milestone), ")");
    }
    if (task.needs_grant) absl::StrAppend(&word, " needs_grant");
    if (task.says_ready) absl::StrAppend(&word, " says_ready");
    words.push_back(std::move(word));
  }
  return words;
}

std::vector<std::string> RulesOfSpec(msg::JobSpecT spec) {
  return Words(RulesOf(MakeJobRow(std::move(spec))));
}

TEST(JobRulesTest, WithoutAWishTheyAreThese) {
  EXPECT_THAT(RulesOfSpec(Cluster()),
              ElementsAre("policy Never", "max_restarts 0", "window inf", "first_delay 100ms",
                          "longest_delay 30s", "stable_after 10s", "first_is_immediate 1",
                          "waits_for_jobs 0", "autostart 0", "gang 0", "chief 1", "keep_going 0",
                          "grace 10s", "courtesy 3s", "ps-0", "chief-0", "worker-0", "worker-1"));
}

struct Row {
  std::string claim;
  std::function<void(msg::JobSpecT&)> change;
  std::vector<std::string> changed;  // The rules that differ from the defaults.
};

class JobRulesTableTest : public ::testing::TestWithParam<Row> {};

TEST_P(JobRulesTableTest, OneWishChangesWhatIsItsOwn) {
  msg::JobSpecT spec = Cluster();
  GetParam().change(spec);
  const auto before = RulesOfSpec(Cluster()), after = RulesOfSpec(std::move(spec));
  std::vector<std::string> changed;
  std::copy_if(after.begin(), after.end(), std::back_inserter(changed), [&](const auto& word) {
    return std::find(before.begin(), before.end(), word) == before.end();
  });
  EXPECT_THAT(changed, ElementsAreArray(GetParam().changed)) << GetParam().claim;
  EXPECT_EQ(after.size(), before.size()) << GetParam().claim;
}

using Spec = msg::JobSpecT;

INSTANTIATE_TEST_SUITE_P(
    Table, JobRulesTableTest,
    ::testing::ValuesIn(std::vector<Row>{
        {"on_failure",
         [](Spec& spec) { spec.restart = msg::RestartPolicy::OnFailure; },
         {"policy OnFailure"}},
        {"always",
         [](Spec& spec) { spec.restart = msg::RestartPolicy::Always; },
         {"policy Always"}},
        {"max_restarts", [](Spec& spec) { spec.max_restarts = 7; }, {"max_restarts 7"}},
        {"more restarts than can be counted",
         [](Spec& spec) { spec.max_restarts = ~0u; },
         {"max_restarts 1073741824"}},
        {"restart_window_ms", [](Spec& spec) { spec.restart_window_ms = 1500; }, {"window 1.5s"}},
        {"restart_delay_ms",
         [](Spec& spec) { spec.restart_delay_ms = 2000; },
         {"first_delay 2s", "first_is_immediate 0"}},
        {"a restart_delay_ms above the limit that nobody has set",
         [](Spec& spec) { spec.restart_delay_ms = 60'000; },
         {"first_delay 1m", "longest_delay 1m", "first_is_immediate 0"}},
        {"restart_delay_limit_ms",
         [](Spec& spec) { spec.restart_delay_limit_ms = 5000; },
         {"longest_delay 5s"}},
        {"after",
         [](Spec& spec) { spec.after.push_back(std::make_unique<msg::AfterJobT>()); },
         {"waits_for_jobs 1"}},
        {"autostart", [](Spec& spec) { spec.autostart = true; }, {"autostart 1"}},
        {"gang", [](Spec& spec) { spec.gang = true; }, {"gang 1"}},
        {"keep_going", [](Spec& spec) { spec.keep_going = true; }, {"keep_going 1"}},
        {"ignore_chief", [](Spec& spec) { spec.ignore_chief = true; }, {"chief -1"}},
        {"stop_grace_ms", [](Spec& spec) { spec.stop_grace_ms = 250; }, {"grace 250ms"}},
        {"resources",
         [](Spec& spec) {
           spec.groups[2]->resources.push_back(std::make_unique<msg::ResourceRequestT>());
         },
         {"worker-0 needs_grant", "worker-1 needs_grant"}},
        {"ready_fd", [](Spec& spec) { spec.groups[0]->ready_fd = 4; }, {"ps-0 says_ready"}},
        {"ready_pattern",
         [](Spec& spec) { spec.groups[1]->ready_pattern = "up"; },
         {"chief-0 says_ready"}},
        {"start_after",
         [](Spec& spec) {
           StartAfter(spec.groups[1].get(), "worker", msg::Milestone::Started);
           StartAfter(spec.groups[1].get(), "ps", msg::Milestone::Ready);
           StartAfter(spec.groups[0].get(), "worker", msg::Milestone::Completed);
         },
         {"ps-0 waits for worker to complete (2,3 Completed)",
          "chief-0 waits for worker to start (2,3 Started) waits for ps to be ready (0 Ready)"}},
    }));

TEST(JobRulesTest, WithoutOthersThereIsNoChief) {
  msg::JobSpecT alone;
  AddGroup(&alone, "chief", 1);
  EXPECT_EQ(RulesOf(MakeJobRow(std::move(alone))).chief, kWholeJob);
  msg::JobSpecT no_groups;
  no_groups.task_type = "chief";
  EXPECT_EQ(RulesOf(MakeJobRow(std::move(no_groups))).chief, kWholeJob);
  msg::JobSpecT workers;
  AddGroup(&workers, "worker", 2);
  EXPECT_EQ(RulesOf(MakeJobRow(std::move(workers))).chief, kWholeJob);
}

}  // namespace
}  // namespace launcher
