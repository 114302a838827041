#ifndef TRAINER_TABLE_LINE_INTAKE_H_
#define TRAINER_TABLE_LINE_INTAKE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "trainer/attempt/output_reader.h"
#include "trainer/attempt/room_waits.h"
#include "trainer/report/line_receiver.h"
#include "trainer/store/trial_store.h"
#include "trainer/table/attempt_guard.h"
#include "trainer/table/trial_files.h"
#include "trainer/table/trial_news.h"
#include "trainer/table/trial_table.h"
#include "trainer/trial/life.h"
#include "trainer/trial/report_judge.h"
#include "trainer/trial/trial.h"
#include "trainer/trial/trial_reports.h"

namespace trainer {

// Takes the lines of attempts, from their channels and their output. Lines that arrive together are
// stored in one transaction; then they are passed on to the files and answered. A line that lacks
// room on the disk is held back and requested again later. Use it on the loop's thread, which it
// blocks for the disk.
class LineIntake {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, nor are the seven below; all outlive this.
    const runtime::Clock* clock = nullptr;
    TrialStore* store = nullptr;
    TrialTable* table = nullptr;
    TrialNews* news = nullptr;
    TrialFiles* files = nullptr;
    RoomWaits* room_waits = nullptr;
    const AttemptGuard* guard = nullptr;
    ReportJudge* judge = nullptr;  // As in Trials::Options.
    // Called when ResourcesGranted or LinesStored has happened to the trial.
    std::function<void(Trial&, const LifeEvent&)> happened;
    // The attempt's last line was taken; `how` says how its program ended, if it was attached.
    std::function<void(const AttemptKey&, const std::string& how)> complete;
    std::function<void()> on_stored;  // A write needs a sync soon.
    std::function<void()> on_store_error;
    std::function<void(std::string_view point)> fault = {};  // See Trials::Options.
  };
  explicit LineIntake(Options options) : options_(std::move(options)) {}
  ~LineIntake() { *alive_ = false; }
  LineIntake(const LineIntake&) = delete;
  LineIntake& operator=(const LineIntake&) = delete;

  // See LineReceiver::Receive().
  std::vector<absl::StatusOr<std::string>> Receive(const std::vector<RelayedLine>& lines);
  // Starts reading the output of the trial's attempt, if the trial reports by its output.
  void FollowOutput(Trial& trial);
  // Makes the trial wait for room on the disk of its run, or of the store if `is_stored` is false.
  // Returns true if it was not waiting before.
  bool WaitForRoom(const Trial& trial, bool is_stored);
  std::uint64_t reports() const { return reports_; }  // Number of reports taken; any thread.

 private:
  absl::StatusOr<std::string> Take(const RelayedLine& line, const TrialReports::TimeOfLine& now,
                                   StoreBatch& batch, std::set<std::int64_t>& touched);
  absl::Status StoreLines(const StoreBatch& batch);
  absl::Status Conclude(Trial& trial, const absl::Status& stored);
  void TakeVerdict(Trial& trial);
  void HoldForRoom(const AttemptKey& attempt, bool is_stored, absl::StatusOr<std::string>& answer);
  bool TakeOutput(const AttemptKey& attempt, const std::vector<OutputReader::Line>& lines);
  void TidyLater();
  void Fault(std::string_view point);

  const Options options_;
  bool tidies_ = false;  // Tidying is scheduled.
  std::atomic<std::uint64_t> reports_{0};
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace trainer

#endif  // TRAINER_TABLE_LINE_INTAKE_H_
