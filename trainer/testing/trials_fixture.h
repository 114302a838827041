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

// Fixture for tests of Trials: a trainer in its own directory, with a fake launcher and clock. A
// test may kill the trainer, and the next one takes over its state. All methods are called on the
// test's thread; code that uses the trials runs through On().
class TrialsFixture : public testing::Test {
 protected:
  TrialsFixture();
  ~TrialsFixture() override;

  // Starts a trainer with options_ on the state in state_.
  void Start();
  // Ends the trainer as SIGKILL would: without any notification.
  void Kill();
  void Restart();
  // Hooks for a derived fixture with more than trials: BeforeOpen() runs once the store is open and
  // the options are filled in; AfterResume() runs on the loop's thread, in the turn that resumed
  // the trials; AfterKill() runs after the trials are destroyed.
  virtual void BeforeOpen(Trials::Options&) {}
  virtual void AfterResume() {}
  virtual void AfterKill() {}
  // Runs `body`, and then everything that it posted, on the loop's thread.
  void On(const std::function<void()>& body);
  void Advance(absl::Duration step);

  // Returns a request for a program without arguments, to be filled in.
  static msg::RunTrialRequestT Request(const std::string& name = "");
  // Starts a trial; an empty `request_id` is replaced by a fresh one.
  absl::StatusOr<msg::TrialT> TryRun(const msg::RunTrialRequestT& request,
                                     std::string request_id = "");
  // Starts a trial and returns its id.
  std::string Run(const msg::RunTrialRequestT& request = Request());
  std::string Run(const std::string& name) { return Run(Request(name)); }
  msg::TrialT Get(const std::string& id);
  void Stop(const std::string& id, absl::Duration grace = absl::ZeroDuration());
  std::vector<ResultRow> Rows(const std::string& id);

  // Returns the key of a job's attempt; a default key once the attempt is over.
  AttemptKey KeyOf(const std::string& job);
  // Delivers lines of a job as the relay does. Returns an answer for each line, or the error that
  // refused its greeting.
  std::vector<absl::StatusOr<std::string>> Relay(const std::string& job,
                                                 std::vector<RelayedLine> lines);
  // Returns the answer, or "ERR " and the error.
  static std::string TextOf(const absl::StatusOr<std::string>& answer);
  // Sends `line` as line `number` of the job.
  std::string Say(const std::string& job, std::int64_t number, const std::string& line);
  std::string SayEnd(const std::string& job, std::int64_t number);

  std::string directory_;  // Removed at the end.
  std::string state_;      // Directory of the database; directory_ by default.
  runtime::FakeClock clock_;
  FakeJobs jobs_;
  // Options of the next trainer; Start() fills in the loop, the clock, the store and the jobs. Runs
  // are in directory_/runs, two at a time.
  Trials::Options options_;
  std::function<void(const AttemptKey&)> on_wanted_;  // Passed to Trials::OnWanted() if set.
  // Closing a store would empty its WAL and sync it, so killed stores stay open.
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
