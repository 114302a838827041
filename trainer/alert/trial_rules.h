#ifndef TRAINER_ALERT_TRIAL_RULES_H_
#define TRAINER_ALERT_TRIAL_RULES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "bus/alert/alert_rows.h"
#include "trainer/report/metric_rule.h"
#include "trainer/report/result_row.h"
#include "trainer/store/trial_record.h"
#include "trainer/store/trial_store.h"

namespace trainer {

// Decides which alerts follow from the reports and states of trials: one when a trial ends, one for
// each metric that is NaN or infinite, one for each metric rule that a report meets, and one each
// time a trial stalls. A trial stalls when it has not reported for `stall_steps` times the median
// duration of its last steps, and for at least `stall_floor`. A trial cannot stall before its
// attempt has reported, and it has no median before its fourth report.
//
// Tracks the trials that have not ended. Pure: times come from the caller. Not thread-safe.
class TrialRules {
 public:
  struct Settings {
    std::vector<MetricRule> rules = {};  // Apply to all trials, besides each trial's own.
    int stall_steps = 10;                // 0: only trials that ask for it can stall.
    absl::Duration stall_floor = absl::Seconds(60);
  };
  // Largest number of metrics of one trial that get a not-finite alert; the text of the last such
  // alert says that no more follow.
  static constexpr std::size_t kMostNotFinite = 20;
  static constexpr std::size_t kStepsRemembered = 25;

  explicit TrialRules(Settings settings) : settings_(std::move(settings)) {}

  // Starts tracking a trial that has not ended.
  void Know(const TrialRecord& trial);
  // Loads the newest reports, oldest first, of a trial that an earlier trainer ran. If the last one
  // is of the current attempt, the trial counts as having reported at `now`.
  void Remember(std::int64_t trial, const std::vector<ResultRow>& rows, absl::Duration now);

  // Returns the alerts of a batch that is about to be stored; `now_us` is the wall-clock time.
  std::vector<bus::NewAlert> AlertsOf(const StoreBatch& batch, std::int64_t now_us) const;
  // Call it once the batch is stored.
  void Stored(const StoreBatch& batch, absl::Duration now);

  // A trial that has stalled.
  struct Stalled {
    std::int64_t trial = 0;  // TrialRecord::number.
    std::string job;
    bool is_attached = false;
    bus::NewAlert alert;  // Without its time and lines.
  };
  // Returns the trials that have stalled; each one once, until its next report.
  std::vector<Stalled> TakeStalled(absl::Duration now);
  // Returns true if the trial has not reported since this stall.
  bool IsStalled(const Stalled& stalled) const;
  // Returns when the next trial stalls if none reports until then; infinite if none can stall.
  absl::Duration NextStall() const;
  // Returns the numbers of the running trials.
  std::vector<std::int64_t> Running() const;

 private:
  struct Watched {
    std::string id, name, group;
    bool is_attached = false;
    std::string job, on_end;
    std::vector<MetricRule> rules;  // The trial's own rules.
    int stall_steps = 0;            // 0: it cannot stall.
    int attempt = 0;
    bool is_running = false;
    std::set<std::string> not_finite;
    std::set<std::string> met;  // Texts of the rules that were met.
    std::deque<absl::Duration> steps;
    std::int64_t last_row = 0;
    std::int64_t last_row_us = -1;             // The row's monotonic_us; -1: unusable.
    std::optional<absl::Duration> last_heard;  // Time of this attempt's last report.
    bool has_stalled = false;                  // Since the last report.
  };
  using AddAlert = std::function<void(bus::NewAlert)>;

  static void Update(const TrialRecord& trial, Watched* watched);
  static void AddStep(const ResultRow& row, Watched* watched);
  static msg::AlertT AlertOf(const Watched& watched, const char* kind, std::int64_t now_us);
  static bus::NewAlert EndOf(const Watched& watched, const TrialRecord& trial, std::int64_t now_us);
  static std::optional<absl::Duration> MedianOf(const Watched& watched);
  // Returns the longest time that the trial may be silent; nullopt if it has no limit so far.
  std::optional<absl::Duration> LimitOf(const Watched& watched) const;
  // Adds the alerts of a row, and records their metrics and rules in `seen`.
  void JudgeRow(const ResultRow& row, std::int64_t now_us, const AddAlert& add,
                Watched* seen) const;
  void JudgeMetric(const ResultRow& row, const std::string& name, double number,
                   const std::string& text, std::int64_t now_us, const AddAlert& add,
                   Watched* seen) const;

  Settings settings_;
  std::map<std::int64_t, Watched> trials_;
};

}  // namespace trainer

#endif  // TRAINER_ALERT_TRIAL_RULES_H_
