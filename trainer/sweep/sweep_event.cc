#include "trainer/sweep/sweep_event.h"

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "trainer/sweep/sweep_plan.h"
#include "tuning/stop/stopping_rule.h"

namespace trainer {
namespace {

using Kind = tuning::Event::Kind;

// The numbers are stored, so they never change: new kinds are added at the end.
static_assert(static_cast<int>(Kind::kBegin) == 0 && static_cast<int>(Kind::kReported) == 4 &&
              static_cast<int>(Kind::kChange) == 9 && static_cast<int>(Kind::kFail) == 13 &&
              static_cast<int>(Kind::kRefused) == 14);
static_assert(static_cast<int>(tuning::End::kFailed) == 3);
static_assert(static_cast<int>(tuning::Answer::kPause) == 2);

}  // namespace

SweepEventRow RowOf(const tuning::Event& event, std::string plan) {
  SweepEventRow row;
  row.kind = static_cast<std::int64_t>(event.kind);
  row.trial = static_cast<std::int64_t>(event.trial);
  row.number = static_cast<std::int64_t>(event.number);
  row.resource = event.resource;
  row.value = event.value;
  row.whether = event.whether;
  row.end = static_cast<std::int64_t>(event.end);
  row.decided = event.decided ? static_cast<std::int64_t>(*event.decided) : -1;
  row.text = event.text;
  row.plan = std::move(plan);
  return row;
}

absl::StatusOr<tuning::Event> EventOf(const SweepEventRow& row) {
  const bool is_known = row.kind >= 0 && row.kind <= static_cast<std::int64_t>(Kind::kRefused) &&
                        row.end >= 0 && row.end <= 3 && row.decided >= -1 && row.decided <= 2;
  if (!is_known) {
    return absl::DataLossError(absl::StrCat("event ", row.seq, " of sweep number ", row.sweep,
                                            " is of no kind that this trainer knows"));
  }
  tuning::Event event;
  event.kind = static_cast<Kind>(row.kind);
  event.trial = static_cast<std::uint64_t>(row.trial);
  event.number = static_cast<std::uint64_t>(row.number);
  event.resource = row.resource;
  event.value = row.value;
  event.whether = row.whether;
  event.end = static_cast<tuning::End>(row.end);
  if (row.decided >= 0) event.decided = static_cast<tuning::Answer>(row.decided);
  event.text = row.text;
  if (row.plan.empty()) return event;
  auto plan = ReadSweepPlan(row.plan);
  if (!plan.ok()) return plan.status();
  event.plan = std::move(plan->plan);
  return event;
}

}  // namespace trainer
