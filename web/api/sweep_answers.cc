#include "web/api/sweep_answers.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/json/sweep_json.h"
#include "bus/json/trial_and_job_json.h"
#include "bus/schema/datamanager_methods.h"
#include "bus/schema/trainer_methods.h"
#include "runtime/text/string_view.h"

namespace web {
namespace {

using nlohmann::json;

constexpr absl::Duration kPatience = absl::Seconds(10);

// Returns a text member; empty if the body lacks it. InvalidArgument if the member is not text.
absl::StatusOr<std::string> TextOf(const json& body, const char* name) {
  const json member = body.value(name, json(""));
  if (member.is_string()) return member.get<std::string>();
  return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is no text"));
}

absl::Status ReadRuns(const json& body, const std::string& prefix, msg::SelectionT& selection) {
  const auto runs = body.find("runs");
  if (runs == body.end()) return absl::OkStatus();
  const bool fits =
      runs->is_array() && !runs->empty() &&
      std::all_of(runs->begin(), runs->end(), [](const json& one) { return one.is_string(); });
  if (!fits) return absl::InvalidArgumentError("\"runs\" is no list of names");
  for (const json& run : *runs) {
    selection.runs.push_back(absl::StrCat(prefix, run.get<std::string>()));
  }
  return absl::OkStatus();
}

absl::StatusOr<msg::ImportanceRequestT> ImportanceRequestOf(const std::string& body) {
  const json read = json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!read.is_object()) return absl::InvalidArgumentError("the body is no JSON object");
  for (const auto& [name, unused] : read.items()) {
    const bool known =
        name == "value" || name == "goal" || name == "q" || name == "runs" || name == "prefix";
    if (!known) return absl::InvalidArgumentError(absl::StrCat("there is no \"", name, "\""));
  }
  msg::ImportanceRequestT request;
  request.selection = std::make_unique<msg::SelectionT>();
  const auto value = TextOf(read, "value"), goal = TextOf(read, "goal"), query = TextOf(read, "q"),
             prefix = TextOf(read, "prefix");
  for (const auto* text : {&value, &goal, &query, &prefix}) {
    if (!text->ok()) return text->status();
  }
  if (*goal != "" && *goal != "minimize" && *goal != "maximize") {
    return absl::InvalidArgumentError("\"goal\" is neither minimize nor maximize");
  }
  request.value = *value;
  request.maximize = *goal == "maximize";
  request.selection->query = *query;
  if (auto read_runs = ReadRuns(read, *prefix, *request.selection); !read_runs.ok()) {
    return read_runs;
  }
  return request;
}

// Returns a boolean member; false if it is missing.
bool Says(const json& body, const char* name) {
  const json member = body.value(name, json());
  return member.is_boolean() && member.get<bool>();
}

absl::StatusOr<msg::ChangeSweepRequestT> RequestOf(std::string_view action, const json& body) {
  msg::ChangeSweepRequestT request;
  if (action == "stop") {
    request.order = msg::SweepOrder::Stop;
  } else if (action == "pause") {
    request.order = msg::SweepOrder::Pause;
    request.whether = Says(body, "drain");
  } else if (action == "resume") {
    request.order = msg::SweepOrder::Resume;
    request.whether = Says(body, "failed");
  } else if (action == "rm") {
    request.order = msg::SweepOrder::Remove;
  } else if (action == "enqueue") {
    request.order = msg::SweepOrder::Enqueue;
    if (!body.contains("config") || !body["config"].is_object()) {
      return absl::InvalidArgumentError("the body has no \"config\", an object of parameters");
    }
    request.config = body["config"].dump(-1, ' ', false, json::error_handler_t::replace);
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no ", runtime::Absl(action), " of sweeps"));
  }
  return request;
}

}  // namespace

absl::StatusOr<json> SweepsAnswer(bus::Client& client) {
  const auto reply = client.Call<rpc::Trainer::Sweeps>({}, {.timeout = kPatience});
  if (!reply.ok()) return reply.status();
  json rows = json::array();
  for (auto sweep = reply->sweeps.rbegin(); sweep != reply->sweeps.rend(); ++sweep) {
    rows.push_back(bus::ToJson(**sweep));
  }
  return json{{"sweeps", std::move(rows)}};
}

absl::StatusOr<json> SweepAnswer(bus::Client& client, const std::string& sweep) {
  msg::SweepDetailsRequestT request;
  request.sweep = sweep;
  const auto details = client.Call<rpc::Trainer::SweepDetails>(request, {.timeout = kPatience});
  if (!details.ok()) return details.status();
  return bus::ToJson(*details);
}

absl::StatusOr<json> ImportanceAnswer(bus::Client& client, const std::string& body) {
  const auto request = ImportanceRequestOf(body);
  if (!request.ok()) return request.status();
  const auto reply = client.Call<rpc::Datamanager::Importance>(*request, {.timeout = kPatience});
  if (!reply.ok()) return reply.status();
  json rows = json::array();
  for (const auto& one : reply->importance) {
    rows.push_back({{"parameter", one->parameter}, {"importance", one->importance}});
  }
  return json{{"importance", std::move(rows)},
              {"reason", bus::TextOrNull(reply->reason)},
              {"runs", reply->runs},
              {"counted", reply->counted}};
}

absl::StatusOr<json> ChangeSweep(bus::Client& client, const std::string& sweep,
                                 std::string_view action, const json& body,
                                 const std::string& request_id) {
  auto request = RequestOf(action, body);
  if (!request.ok()) return request.status();
  request->sweep = sweep;
  const auto reply = client.Call<rpc::Trainer::ChangeSweep>(
      *request, {.timeout = absl::Seconds(20), .request_id = request_id, .wait_for_service = true});
  if (!reply.ok()) return reply.status();
  return reply->sweep == nullptr ? json::object() : bus::ToJson(*reply->sweep);
}

}  // namespace web
