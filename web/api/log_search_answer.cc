#include "web/api/log_search_answer.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/json/trial_and_job_json.h"
#include "bus/schema/launcher_methods.h"
#include "nlohmann/json.hpp"
#include "runtime/text/string_view.h"
#include "web/http/problem.h"

namespace web {
namespace {

using nlohmann::json;
using Found = absl::StatusOr<msg::SearchLogsReplyT>;

constexpr std::uint32_t kMostLines = 2'000;
constexpr absl::Duration kPatience = absl::Seconds(60);

absl::StatusOr<msg::SearchLogsRequestT> Parse(const Target& target) {
  msg::SearchLogsRequestT request;
  request.pattern = std::string(target.Find("grep").value_or(""));
  request.cursor = std::string(target.Find("cursor").value_or(""));
  request.errors_only = target.Find("stderr") == "1";
  for (const auto& [name, value] : target.query) {
    if (name == "job" && !value.empty()) request.jobs.push_back(value);
  }
  if (const auto limit = target.Find("limit")) {
    if (!absl::SimpleAtoi(runtime::Absl(*limit), &request.limit) || request.limit > kMostLines) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"limit\" is no number from 0 to ", kMostLines));
    }
  }
  if (const auto since = target.Find("since"); since && !since->empty()) {
    absl::Time time;
    std::string error;
    if (!absl::ParseTime(absl::RFC3339_full, runtime::Absl(*since), &time, &error)) {
      return absl::InvalidArgumentError("\"since\" is no time like 2024-05-01T14:30:05Z");
    }
    request.since_us = std::max<std::int64_t>(absl::ToUnixMicros(time), 1);
  }
  return request;
}

json ToJson(const msg::SearchLogsReplyT& found) {
  std::map<std::string, json> jobs;
  for (const auto& job : found.jobs) {
    json labels = json::object();
    for (const auto& label : job->labels) labels[label->key] = label->value;
    jobs[job->id] = {{"name", job->name}, {"labels", std::move(labels)}};
  }
  json lines = json::array();
  for (const auto& line : found.lines) {
    lines.push_back({{"task", line->task},
                     {"attempt", line->attempt},
                     {"stream", line->stream == msg::LogStream::Stderr ? "stderr" : "stdout"},
                     {"offset", line->offset},
                     {"time", bus::TimeToJson(line->time_us)},
                     {"text", std::string(line->text.begin(), line->text.end())}});
  }
  return {{"lines", std::move(lines)},
          {"jobs", jobs},
          {"next", bus::TextOrNull(found.next)},
          {"read_bytes", found.read_bytes}};
}

void Answer(const Found& found, Reply& reply) {
  if (!found.ok()) return reply.Send(ProblemOf(found.status()));
  reply.Send({.body = ToJson(*found).dump(-1, ' ', false, json::error_handler_t::replace) + "\n"});
}

}  // namespace

void SearchLogs(bus::Client& client, runtime::ThreadPool& pool, const Target& target,
                const std::shared_ptr<Reply>& reply) {
  const auto request = Parse(target);
  if (!request.ok()) return reply->Send(ProblemOf(request.status()));
  // The JSON is made on the pool, to keep the bus thread free for other calls.
  const auto done = [&pool, reply](Found found) {
    const auto shared = std::make_shared<Found>(std::move(found));
    const absl::Status queued = pool.Submit([shared, reply] {
      Answer(*shared, *reply);
      return absl::OkStatus();
    });
    if (!queued.ok()) reply->Send(ProblemOf(queued));
  };
  const std::uint64_t call = client.Start<rpc::Launcher::SearchLogs>(
      *request, {}, done, {.timeout = kPatience, .wait_for_service = true});
  reply->OnProgress([&client, call, weak = std::weak_ptr<Reply>(reply)] {
    const auto waiting = weak.lock();
    if (waiting == nullptr || waiting->IsGone()) client.Cancel(call);
  });
}

}  // namespace web
