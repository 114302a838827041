#include "trainer/sweep/sweep_event.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "trainer/sweep/sweep_plan.h"
#include "tuning/stop/stopping_rule.h"

namespace trainer {
namespace {

using Kind = tuning::EngineEvent::Kind;

// The numbers are stored, so they never change: new kinds are added at the end.
static_assert(static_cast<int>(Kind::kBegin) == 0 && static_cast<int>(Kind::kReported) == 4 &&
              static_cast<int>(Kind::kChange) == 9 && static_cast<int>(Kind::kFail) == 13 &&
              static_cast<int>(Kind::kRefused) == 14 && static_cast<int>(Kind::kMeasured) == 15);
static_assert(static_cast<int>(tuning::End::kFailed) == 3);
static_assert(static_cast<int>(tuning::TrialDecision::kPause) == 2);

// Renders a JSON list: null for a missing value, and a string for a number that JSON lacks.
std::string OthersText(const std::vector<std::optional<double>>& others) {
  if (others.empty()) return "";
  nlohmann::json list = nlohmann::json::array();
  for (const std::optional<double>& value : others) {
    if (!value) {
      list.emplace_back(nullptr);
    } else if (std::isfinite(*value)) {
      list.push_back(*value);
    } else {
      list.push_back(std::isnan(*value) ? "nan" : *value > 0 ? "inf" : "-inf");
    }
  }
  return list.dump();
}

std::optional<double> OtherOf(const nlohmann::json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

}  // namespace

SweepEventRow RowOf(const tuning::EngineEvent& event, std::string plan) {
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
  row.others = OthersText(event.others);
  return row;
}

absl::StatusOr<tuning::EngineEvent> EventOf(const SweepEventRow& row) {
  const bool is_known = row.kind >= 0 && row.kind <= static_cast<std::int64_t>(Kind::kMeasured) &&
                        row.end >= 0 && row.end <= 3 && row.decided >= -1 && row.decided <= 2;
  if (!is_known) {
    return absl::DataLossError(absl::StrCat("event ", row.seq, " of sweep number ", row.sweep,
                                            " is of no kind that this trainer knows"));
  }
  tuning::EngineEvent event;
  event.kind = static_cast<Kind>(row.kind);
  event.trial = static_cast<std::uint64_t>(row.trial);
  event.number = static_cast<std::uint64_t>(row.number);
  event.resource = row.resource;
  event.value = row.value;
  event.whether = row.whether;
  event.end = static_cast<tuning::End>(row.end);
  if (row.decided >= 0) event.decided = static_cast<tuning::TrialDecision>(row.decided);
  event.text = row.text;
  if (!row.others.empty()) {
    const auto list = nlohmann::json::parse(row.others, nullptr, /*allow_exceptions=*/false);
    for (const nlohmann::json& value : list) event.others.push_back(OtherOf(value));
  }
  if (row.plan.empty()) return event;
  auto plan = ReadSweepPlan(row.plan);
  if (!plan.ok()) return plan.status();
  event.plan = std::move(plan->plan);
  return event;
}

}  // namespace trainer
