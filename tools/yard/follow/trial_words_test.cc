#include "tools/yard/follow/trial_words.h"

#include <memory>
#include <string>

#include "gtest/gtest.h"

namespace yard {
namespace {

msg::JobT Job(const std::string& id, const std::string& trial, int tasks) {
  msg::JobT job;
  job.id = id;
  for (int i = 0; i < tasks; ++i) job.tasks.push_back(std::make_unique<msg::TaskT>());
  if (trial.empty()) return job;
  job.labels.push_back(std::make_unique<msg::KeyValueT>());
  job.labels.back()->key = "trial";
  job.labels.back()->value = trial;
  return job;
}

TEST(TrialWordsTest, TrialsStandForTheirJobs) {
  TrialWords words;
  words.Add(Job("j-one", "t-one", 1));
  words.Add(Job("j-two", "t-two", 2));
  words.Add(Job("j-job", "", 1));
  EXPECT_EQ(words.Of("waits for gpu: 3 of 3 are used by j-one/worker-0, j-two/worker-1, j-job"),
            "waits for gpu: 3 of 3 are used by t-one, t-two/worker-1, j-job");
  EXPECT_EQ(words.Of("waits for gpu behind j-two"), "waits for gpu behind t-two");
  EXPECT_EQ(words.Of("xj-one j-onemore j-one-2 (j-one)"), "xj-one j-onemore j-one-2 (t-one)");
  EXPECT_EQ(words.Of("j-"), "j-");
  EXPECT_EQ(words.Of(""), "");
}

}  // namespace
}  // namespace yard
