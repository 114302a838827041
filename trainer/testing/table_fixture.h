#ifndef TRAINER_TESTING_TABLE_FIXTURE_H_
#define TRAINER_TESTING_TABLE_FIXTURE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "bus/schema/trainer_generated.h"
#include "gtest/gtest.h"
#include "runtime/fake_clock.h"
#include "trainer/attempt/room_waits.h"
#include "trainer/attempt/start_holds.h"
#include "trainer/store/trial_record.h"
#include "trainer/store/trial_store.h"
#include "trainer/table/attempt_guard.h"
#include "trainer/table/launch_queue.h"
#include "trainer/table/line_intake.h"
#include "trainer/table/trial_files.h"
#include "trainer/table/trial_news.h"
#include "trainer/table/trial_removals.h"
#include "trainer/table/trial_saves.h"
#include "trainer/table/trial_table.h"
#include "trainer/table/trial_view.h"
#include "trainer/testing/loop_thread.h"
#include "trainer/trial/life.h"
#include "trainer/trial/trial.h"

namespace trainer {

// Fixture for tests of one part of trainer/table/: the other parts are real, in a temporary
// directory, but their requests are only recorded, not executed. Tests add trials themselves. All
// methods are called on the test's thread; code that uses a part runs through On().
class TableFixture : public testing::Test {
 protected:
  TableFixture();
  ~TableFixture() override;

  // Runs `body`, and then everything that it posted, on the loop's thread.
  void On(const std::function<void()>& body);
  void Advance(absl::Duration step);

  // Returns a trial as it could be stored, without a number.
  TrialRecord Record(const std::string& id, msg::TrialState state = msg::TrialState::Pending) const;
  // Stores the trial and adds it to the table, at hand.
  Trial& Add(const TrialRecord& record);
  Trial& Add(const std::string& id, msg::TrialState state = msg::TrialState::Pending) {
    return Add(Record(id, state));
  }
  // Returns the stored record; a missing one fails the test.
  TrialRecord Stored(const Trial& trial);
  // RefuseWrites() makes every write to this table of the database fail until AllowWrites().
  void RefuseWrites(const std::string& database_table);
  void AllowWrites();
  // Delivers lines of its attempt, numbered from `first` on. Returns the answers, or "ERR " and the
  // code.
  std::vector<std::string> Say(const Trial& trial, std::int64_t first,
                               const std::vector<std::string>& lines);

  std::string directory_;  // Removed at the end. Runs are in directory_/ID.
  runtime::FakeClock clock_;
  LoopThread loop_;

  // How often the parts have requested each of these.
  int recalled_ = 0, stored_ = 0, store_errors_ = 0, retries_ = 0;
  std::vector<msg::TrialEventT> events_;       // Published on the service's topics.
  std::vector<LifeEvent> happened_;            // To any trial.
  std::vector<std::string> started_, failed_;  // Ids that the queue starts, or gives up.
  std::vector<std::int64_t> dropped_;

  std::unique_ptr<TrialStore> store_;
  std::unique_ptr<TrialTable> table_;
  std::unique_ptr<RoomWaits> room_waits_;
  std::unique_ptr<StartHolds> holds_;
  std::unique_ptr<TrialView> view_;
  std::unique_ptr<TrialSaves> saves_;
  std::unique_ptr<LaunchQueue> queue_;  // One slot.
  std::unique_ptr<TrialNews> news_;     // Reports within a second are announced together.
  std::unique_ptr<TrialFiles> files_;
  std::unique_ptr<AttemptGuard> guard_;
  std::unique_ptr<LineIntake> intake_;
  std::unique_ptr<TrialRemovals> removals_;

 private:
  void MakeParts();
};

}  // namespace trainer

#endif  // TRAINER_TESTING_TABLE_FIXTURE_H_
