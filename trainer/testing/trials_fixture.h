#ifndef TRAINER_TESTING_TRIALS_FIXTURE_H_
#define TRAINER_TESTING_TRIALS_FIXTURE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/schema/trainer_generated.h"
#include "gtest/gtest.h"
#include "runtime/fake_clock.h"
#include "trainer/report/line_receiver.h"
#include "trainer/report/result_row.h"
#include "trainer/store/trial_store.h"
#include "trainer/table/trials.h"
#include "trainer/testing/fake_jobs.h"
#include "trainer/testing/loop_thread.h"

namespace trainer {

// The fixture of tests of Trials: a trainer in a directory of its own, with a launcher and a clock
// that behave. It may be killed, and the next one takes up what it left. The test's thread calls
// all methods; code that touches the trials goes through On().
class TrialsFixture : public testing::Test {
 protected:
  TrialsFixture();
  ~TrialsFixture() override;

  // A trainer with options_, on what the last one left in state_.
  void Start();
  // As by SIGKILL: nothing is said to anybody.
  void Kill();
  void Restart();
  // A derived fixture may have something beside the trials. The first is called once the store is
  // open and the options are filled in, the second on the loop's thread in the turn in which the
  // trials have been resumed, the last after they have gone.
  virtual void BeforeOpen(Trials::Options&) {}
  virtual void AfterResume() {}
  virtual void AfterKill() {}
  // Runs `body` on the loop's thread, and what it has posted.
  void On(const std::function<void()>& body);
  void Advance(absl::Duration step);

  // A program without arguments, with options to fill in.
  static msg::RunTrialRequestT Request(const std::string& name = "");
  // Empty: a request id of its own.
  absl::StatusOr<msg::TrialT> TryRun(const msg::RunTrialRequestT& request,
                                     std::string request_id = "");
  // Its id.
  std::string Run(const msg::RunTrialRequestT& request = Request());
  std::string Run(const std::string& name) { return Run(Request(name)); }
  msg::TrialT Get(const std::string& id);
  void Stop(const std::string& id, absl::Duration grace = absl::ZeroDuration());
  std::vector<ResultRow> Rows(const std::string& id);

  // The key of a job's attempt; of none once the attempt is over.
  AttemptKey KeyOf(const std::string& job);
  // Passes on lines of a job as the relay does; returns an answer for each, or for all the error
  // with which its greeting is refused.
  std::vector<absl::StatusOr<std::string>> Relay(const std::string& job,
                                                 std::vector<RelayedLine> lines);
  // An answer, or "ERR " and the error.
  static std::string TextOf(const absl::StatusOr<std::string>& answer);
  // Says `line` as line `number` of the job.
  std::string Say(const std::string& job, std::int64_t number, const std::string& line);
  std::string SayEnd(const std::string& job, std::int64_t number);

  std::string directory_;  // Removed at the end.
  std::string state_;      // Where the database is: directory_.
  runtime::FakeClock clock_;
  FakeJobs jobs_;
  // Options of the next trainer; Start() fills in the loop, the clock, the store and the jobs. Runs
  // are in directory_/runs, two at a time.
  Trials::Options options_;
  std::function<void(const AttemptKey&)> on_wanted_;  // For Trials::OnWanted(), if it is set.
  // Closing a store would empty its log, and sync it.
  bool keeps_stores_open_ = false;
  int requests_ = 0;
  std::string trace_;  // Trace id of the next request.
  std::unique_ptr<LoopThread> loop_;
  std::unique_ptr<TrialStore> store_;
  std::unique_ptr<Trials> trials_;
  std::vector<std::unique_ptr<TrialStore>> killed_;  // Kept open.
};

}  // namespace trainer

#endif  // TRAINER_TESTING_TRIALS_FIXTURE_H_
