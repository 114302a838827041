#include "bus/json/run_outcome.h"

#include <algorithm>
#include <array>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/json/trial_and_job_json.h"
#include "nlohmann/json.hpp"
#include "runtime/text/string_view.h"

namespace bus {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 3> kStates = {"done", "stopped", "failed"};

absl::Status Wrong(std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(runtime::Absl(RunOutcome::kFile), runtime::Absl(what)));
}

std::string TextOf(const json& object, const char* name) {
  const auto member = object.find(name);
  return member != object.end() && member->is_string() ? member->get<std::string>() : "";
}

}  // namespace

absl::StatusOr<RunOutcome> ParseRunOutcome(std::string_view text) {
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return Wrong(" holds no JSON object");
  RunOutcome outcome;
  outcome.state = TextOf(object, "state");
  if (std::find(kStates.begin(), kStates.end(), outcome.state) == kStates.end()) {
    return Wrong(": \"state\" is not done, stopped or failed");
  }
  absl::Time ended;
  if (!absl::ParseTime(absl::RFC3339_full, TextOf(object, "ended"), &ended, nullptr)) {
    return Wrong(": \"ended\" is not a time");
  }
  outcome.ended_us = absl::ToUnixMicros(ended);
  outcome.reason = TextOf(object, "reason");
  return outcome;
}

std::string RenderRunOutcome(const RunOutcome& outcome) {
  const json object = {{"ended", IsoTime(outcome.ended_us)},
                       {"reason", outcome.reason.substr(0, RunOutcome::kMaxReason)},
                       {"state", outcome.state}};
  return object.dump(2, ' ', /*ensure_ascii=*/false, json::error_handler_t::replace) + "\n";
}

}  // namespace bus
