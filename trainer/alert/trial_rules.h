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

// Decides which alerts follow from what trials report and become: one when a trial ends, one for
// each metric that is NaN or infinite, one for each rule of a metric that a report meets, and one
// for each time that a trial stalls, which is without a report for `stall_steps` times the median
// of its last steps, and for `stall_floor` at least. A trial cannot stall before its attempt has
// reported, and has no median before four reports.
//
// Knows the trials that have not ended. Pure: times come from the caller. One thread.
class TrialRules {
 public:
  struct Settings {
    std::vector<MetricRule> rules = {};  // For all trials, besides their own.
    int stall_steps = 10;                // 0: no trial stalls that does not ask for it.
    absl::Duration stall_floor = absl::Seconds(60);
  };
  // So many metrics of a trial have an alert because they are not finite; the last of these alerts
  // says so.
  static constexpr std::size_t kMostNotFinite = 20;
  static constexpr std::size_t kStepsRemembered = 25;

  explicit TrialRules(Settings settings) : settings_(std::move(settings)) {}

  // A trial that has not ended is there from now on.
  void Know(const TrialRecord& trial);
  // The newest reports of one that an earlier trainer ran, oldest first; it counts as heard `now`.
  void Remember(std::int64_t trial, const std::vector<ResultRow>& rows, absl::Duration now);

  // The alerts of a batch that is about to be stored, at `now_us` of the clock on the wall.
  std::vector<bus::NewAlert> AlertsOf(const StoreBatch& batch, std::int64_t now_us) const;
  // The batch is stored.
  void Stored(const StoreBatch& batch, absl::Duration now);

  // A trial that has stalled.
  struct Stalled {
    std::int64_t trial = 0;  // TrialRecord::number.
    std::string job;
    bool is_attached = false;
    bus::NewAlert alert;  // Without its time and lines.
  };
  // Each once, until its next report.
  std::vector<Stalled> TakeStalled(absl::Duration now);
  // The trial has still not reported since it has stalled so.
  bool IsStalled(const Stalled& stalled) const;
  // When the next trial has stalled, if none reports until then; infinite: never.
  absl::Duration NextStall() const;
  // The running trials.
  std::vector<std::int64_t> Running() const;

 private:
  struct Watched {
    std::string id, name, group;
    bool is_attached = false;
    std::string job, on_end;
    std::vector<MetricRule> rules;  // Its own.
    int stall_steps = 0;            // 0: it does not stall.
    int attempt = 0;
    bool is_running = false;
    std::set<std::string> not_finite;
    std::set<std::string> met;  // Texts of rules.
    std::deque<absl::Duration> steps;
    std::int64_t last_row = 0;
    std::int64_t last_row_us = -1;             // Its monotonic_us; -1: of no use.
    std::optional<absl::Duration> last_heard;  // When this attempt reported last.
    bool has_stalled = false;                  // Since that report.
  };
  using AddAlert = std::function<void(bus::NewAlert)>;

  static void Update(const TrialRecord& trial, Watched* watched);
  static void AddStep(const ResultRow& row, Watched* watched);
  static msg::AlertT AlertOf(const Watched& watched, const char* kind, std::int64_t now_us);
  static bus::NewAlert EndOf(const Watched& watched, const TrialRecord& trial, std::int64_t now_us);
  static std::optional<absl::Duration> MedianOf(const Watched& watched);
  // How long it may be without a report; nothing: for ever, so far.
  std::optional<absl::Duration> LimitOf(const Watched& watched) const;
  // Adds the alerts of a row, and notes in `seen` what they are of.
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
