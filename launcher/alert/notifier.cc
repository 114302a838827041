#include "launcher/alert/notifier.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/alert/alert_kinds.h"
#include "bus/alert/command_job.h"
#include "bus/json/alert_json.h"
#include "glog/logging.h"

namespace launcher {
namespace {

constexpr absl::Duration kLimit = absl::Seconds(30);
constexpr std::uint32_t kTries = 3;
constexpr absl::Duration kRetry = absl::Seconds(1);
constexpr std::size_t kOthersShown = 20;
constexpr std::size_t kLongestOther = 200;

std::string Dump(const nlohmann::json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace);
}

std::string Short(const std::string& text) {
  return text.size() <= kLongestOther ? text : text.substr(0, kLongestOther) + "...";
}

}  // namespace

std::string NotificationText(const std::vector<msg::AlertT>& alerts) {
  nlohmann::json json = bus::ToJson(alerts.front());
  json["count"] = alerts.size();
  nlohmann::json others = nlohmann::json::array();
  for (std::size_t i = 1; i < alerts.size() && others.size() < kOthersShown; ++i) {
    others.push_back({{"id", alerts[i].id},
                      {"kind", alerts[i].kind},
                      {"name", Short(alerts[i].name)},
                      {"reason", Short(alerts[i].reason)}});
  }
  json["others"] = std::move(others);
  if (alerts.size() > 1) {
    json["reason"] =
        absl::StrCat(alerts.front().reason, " (and ", alerts.size() - 1,
                     alerts.size() == 2 ? " more alert" : " more alerts", ": yard alerts)");
  }
  std::string text = Dump(json);
  while (text.size() > bus::kMostInput && !json["lines"].empty()) {
    json["lines"].erase(0);
    text = Dump(json);
  }
  return text;
}

Notifier::Notifier(Options options) : options_(std::move(options)), pace_(options_.pace) {}

void Notifier::Resume() {
  const absl::Time since = options_.clock->Now() - options_.pace.window;
  const auto told = options_.store->BatchesSince(absl::ToUnixMicros(since));
  LOG_IF(ERROR, !told.ok()) << told.status();
  if (told.ok()) {
    for (const std::int64_t time_us : *told) pace_.Told(absl::FromUnixMicros(time_us));
  }
  TellSoon(absl::ZeroDuration());
}

bool Notifier::IsTold(const msg::AlertT& alert) const {
  if (options_.command.empty()) return false;
  if (!options_.kinds.empty()) {
    return std::find(options_.kinds.begin(), options_.kinds.end(), alert.kind) !=
           options_.kinds.end();
  }
  const bus::AlertKind* const kind = bus::FindAlertKind(alert.kind);
  return kind == nullptr || kind->is_urgent;
}

absl::Status Notifier::Accept(const msg::AlertT& alert) {
  if (!IsTold(alert)) return absl::OkStatus();
  if (auto status = options_.store->Add(alert); !status.ok()) return status;
  TellSoon(absl::ZeroDuration());
  return absl::OkStatus();
}

void Notifier::TellSoon(absl::Duration wait) {
  if (options_.command.empty() || timer_.is_set()) return;
  timer_.Start(options_.loop, wait, [this] { Tell(); });
}

// Makes a batch of the waiting alerts if the pace allows, and launches the jobs of all batches
// without one, including those of an earlier launcher.
void Notifier::Tell() {
  const auto waiting = options_.store->Waiting();
  if (!waiting.ok()) {
    LOG_EVERY_N(ERROR, 60) << waiting.status();
    return TellSoon(kRetry);
  }
  const absl::Time now = options_.clock->Now();
  const absl::Duration wait = *waiting == 0 ? absl::ZeroDuration() : pace_.Wait(now);
  if (*waiting > 0 && wait <= absl::ZeroDuration()) {
    const absl::Status made = options_.store->MakeBatch(absl::ToUnixMicros(now));
    LOG_IF(ERROR, !made.ok()) << made;
    if (!made.ok()) return TellSoon(kRetry);
    pace_.Told(now);
  }
  const auto batches = options_.store->NotLaunched();
  LOG_IF(ERROR, !batches.ok()) << batches.status();
  if (!batches.ok()) return TellSoon(kRetry);
  for (const NotificationStore::Batch& batch : *batches) {
    if (!Launch(batch)) return TellSoon(kRetry);
  }
  if (wait > absl::ZeroDuration()) TellSoon(wait);
}

bool Notifier::Launch(const NotificationStore::Batch& batch) {
  if (!batch.alerts.empty()) {
    const msg::AlertT& first = batch.alerts.front();
    msg::JobSpecT spec = bus::JobOf({.command = options_.command,
                                     .input = NotificationText(batch.alerts),
                                     .environment = options_.environment,
                                     .variables = {{"YARD_ALERT", first.id},
                                                   {"YARD_ALERT_KIND", first.kind},
                                                   {"YARD_STATE", options_.state_directory}},
                                     .working_directory = options_.state_directory,
                                     .limit = kLimit,
                                     .tries = kTries});
    spec.name = "notify-" + first.id;
    auto label = std::make_unique<msg::KeyValueT>();
    label->key = "notify";
    label->value = first.id;
    spec.labels.push_back(std::move(label));
    const absl::Status launched = options_.launch("notify/" + batch.leader, std::move(spec));
    if (absl::IsResourceExhausted(launched) || absl::IsInternal(launched) ||
        absl::IsUnavailable(launched)) {
      LOG_EVERY_N(ERROR, 60) << "cannot notify of alert " << first.id << " yet: " << launched;
      return false;
    }
    LOG_IF(ERROR, !launched.ok()) << "cannot notify of alert " << first.id << ": " << launched;
  }
  const absl::Status marked = options_.store->MarkLaunched(batch.leader);
  LOG_IF(ERROR, !marked.ok()) << marked;
  return marked.ok();
}

}  // namespace launcher
