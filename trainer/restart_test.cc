// Measures the work of a trainer before the first report when it has the default maximum of ended
// trials and none of their reports has been moved to its table yet.

#include <cstdint>
#include <ctime>
#include <string>

#include "absl/strings/str_cat.h"
#include "bus/schema/trainer_generated.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "runtime/sanitizer.h"
#include "trainer/report/result_row.h"
#include "trainer/store/trial_record.h"
#include "trainer/store/trial_store.h"
#include "trainer/table/trials.h"
#include "trainer/testing/trials_fixture.h"

namespace trainer {
namespace {

using ::testing::HasSubstr;

constexpr int kEnded = 10'000;
// Seconds of processor time.
#if defined(RUNTIME_THREAD_SANITIZER) || defined(RUNTIME_ADDRESS_SANITIZER)
constexpr double kMostSeconds = 10;
#else
constexpr double kMostSeconds = 1;
#endif

// All share the files of one directory, which are as long as their rows say.
TrialRecord Ended(int i, const std::string& directory) {
  TrialRecord trial;
  trial.run.trial_id = absl::StrCat("t-", i);
  trial.run.experiment_id = absl::StrCat("experiment ", i);
  trial.run.hostname = "host";
  trial.run.event_file = "events";
  trial.request_id = absl::StrCat("ended ", i);
  trial.spec.name = absl::StrCat("run ", i);
  trial.spec.argv = {"python3", "train.py", "--epochs", "10"};
  trial.spec.run_directory = directory;
  trial.state = msg::TrialState::Done;
  trial.job = absl::StrCat("j-ended", i);
  return trial;
}

class RestartTest : public TrialsFixture {
 protected:
  void AddEndedTrials() {
    const std::string directory = directory_ + "/ended";
    ASSERT_TRUE(runtime::MakeDirectories(directory).ok());
    for (const char* file : {"/result.json", "/progress.csv", "/events"}) {
      ASSERT_TRUE(runtime::WriteFileAtomically(directory + file, "x", 0644).ok());
    }
    StoreBatch batch;
    for (int i = 0; i < kEnded; ++i) {
      const auto number = store_->Insert(Ended(i, directory));
      ASSERT_TRUE(number.ok()) << number.status();
      ResultRow row;
      row.row = row.training_iteration = 1;
      row.metrics = R"({"loss":0.5})";
      row.ends = {1, 1, 1};
      batch.rows.push_back({*number, row});
    }
    ASSERT_TRUE(store_->Write(batch).ok());
  }
};

TEST_F(RestartTest, WithTenThousandTrialsKnownAReportIsAnsweredWithinASecond) {
  constexpr char kReport[] = R"({"t":"report","m":{"loss":1}})";
  Start();
  const std::string live = Run("live");
  ASSERT_THAT(Say("j-1", 1, kReport), HasSubstr("ok"));
  On([&] { AddEndedTrials(); });
  Kill();
  // Measures processor time, so that a busy machine does not fail the test.
  const std::clock_t begin = std::clock();
  Start();
  EXPECT_THAT(Say("j-1", 2, kReport), HasSubstr("ok"));
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, kMostSeconds);
  EXPECT_EQ(trials_->GetStats().trials, kEnded + 1u);
  EXPECT_EQ(Get("t-9999").reports, 1u);
  EXPECT_EQ(Get(live).reports, 2u);
  RecordProperty("seconds", absl::StrCat(seconds));
}

}  // namespace
}  // namespace trainer
