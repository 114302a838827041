#include "web/api/actions.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/json/trial_and_job_json.h"
#include "bus/schema/common_methods.h"
#include "bus/schema/launcher_methods.h"
#include "bus/schema/trainer_methods.h"
#include "runtime/text/string_view.h"
#include "web/api/sweep_answers.h"

namespace web {
namespace {

using nlohmann::json;

bus::CallOptions Options(const std::string& request_id) {
  return {.timeout = absl::Seconds(20), .request_id = request_id, .wait_for_service = true};
}

template <typename M>
absl::StatusOr<json> OfTrial(bus::Client& client, const std::string& id,
                             const std::string& request_id) {
  typename M::RequestT request;
  request.trial = id;
  const auto reply = client.Call<M>(request, Options(request_id));
  if (!reply.ok()) return reply.status();
  return reply->trial == nullptr ? json::object() : bus::ToJson(*reply->trial);
}

template <typename M>
absl::StatusOr<json> OfJob(bus::Client& client, const std::string& id,
                           const std::string& request_id) {
  typename M::RequestT request;
  request.job = id;
  const auto reply = client.Call<M>(request, Options(request_id));
  if (!reply.ok()) return reply.status();
  if constexpr (requires { reply->job; }) {
    if (reply->job != nullptr) return bus::ToJson(*reply->job);
  }
  return json::object();
}

absl::StatusOr<json> Signal(bus::Client& client, const std::string& id, const json& body,
                            const std::string& request_id) {
  // The launcher decides which numbers are signals; this only bounds the number.
  constexpr unsigned kMost = 64;
  const json signal = body.value("signal", json());
  if (!signal.is_number_unsigned() || signal.get<unsigned>() > kMost) {
    return absl::InvalidArgumentError("the body has no \"signal\", the number of one");
  }
  msg::SignalJobRequestT request;
  request.job = id;
  request.signal = signal.get<int>();
  const auto reply = client.Call<rpc::Launcher::SignalJob>(request, Options(request_id));
  if (!reply.ok()) return reply.status();
  if (reply->tasks.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("no task of ", id, " is running"));
  }
  return json{{"tasks", reply->tasks}};
}

absl::StatusOr<json> Tell(bus::Client& client, const std::string& id, const json& body,
                          const std::string& request_id) {
  if (!body.contains("event")) return absl::InvalidArgumentError("the body has no \"event\"");
  msg::TellTrialRequestT request;
  request.trial = id;
  request.event = body["event"].dump(-1, ' ', false, json::error_handler_t::replace);
  const auto reply = client.Call<rpc::Trainer::TellTrial>(request, Options(request_id));
  if (!reply.ok()) return reply.status();
  return json{{"number", reply->number}};
}

// Reads an optional member of the body.
template <typename T>
absl::Status Read(const json& body, const char* name, T* value, bool* is_set = nullptr) {
  const auto member = body.is_object() ? body.find(name) : body.end();
  if (!body.is_object() || member == body.end()) return absl::OkStatus();
  bool fits = member->is_string();
  if constexpr (!std::is_same_v<T, std::string>) {
    fits = member->is_array() && std::all_of(member->begin(), member->end(),
                                             [](const json& one) { return one.is_string(); });
  }
  if (!fits) return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is of another type"));
  *value = member->get<T>();
  if (is_set != nullptr) *is_set = true;
  return absl::OkStatus();
}

// Annotates a run or a trial. If the data manager does not know the run, asks the trainer: `id` may
// name a trial that has no run yet.
absl::StatusOr<json> Annotate(bus::Client& client, bool is_trial, const std::string& id,
                              const json& body, const std::string& request_id) {
  msg::AnnotateRequestT request;
  request.run = id;
  absl::Status good = Read(body, "add_labels", &request.add_labels);
  good.Update(Read(body, "remove_labels", &request.remove_labels));
  good.Update(Read(body, "note", &request.note, &request.set_note));
  good.Update(Read(body, "display_name", &request.display_name, &request.set_display_name));
  if (!good.ok()) return good;
  bus::CallOptions options = Options(request_id);
  options.service = is_trial ? "trainer" : "datamanager";
  auto reply = client.Call<rpc::Common::Annotate>(request, options);
  if (absl::IsNotFound(reply.status()) && !is_trial) {
    options.service = "trainer";
    auto of_trial = client.Call<rpc::Common::Annotate>(request, options);
    if (of_trial.ok()) reply = std::move(of_trial);
  }
  if (!reply.ok()) return reply.status();
  return json{{"run", reply->run},
              {"labels", reply->labels},
              {"note", bus::TextOrNull(reply->note)},
              {"display_name", bus::TextOrNull(reply->display_name)}};
}

// Acknowledges an alert by its id, all alerts ("all"), or those of a trial.
absl::StatusOr<json> Acknowledge(bus::Client& client, bool is_trial, const std::string& id,
                                 const std::string& request_id) {
  msg::AcknowledgeAlertsRequestT request;
  if (is_trial) {
    request.trial = id;
  } else if (id == "all") {
    request.all = true;
  } else {
    request.alerts = {id};
  }
  std::uint64_t changed = 0;
  for (const char* const owner : {"trainer", "launcher"}) {
    bus::CallOptions options = Options(request_id.empty() ? "" : request_id + owner);
    options.service = owner;
    const auto reply = client.Call<rpc::Common::AcknowledgeAlerts>(request, options);
    if (!reply.ok()) return reply.status();
    changed += reply->changed;
    if (is_trial) break;
  }
  return json{{"acknowledged", changed}};
}

}  // namespace

absl::StatusOr<json> DoAction(bus::Client& client, std::string_view kind, const std::string& id,
                              std::string_view action, const json& body) {
  if (!body.is_object()) return absl::InvalidArgumentError("the body is no JSON object");
  const json given_id = body.value("request_id", json());
  const std::string request_id = given_id.is_string() ? given_id.get<std::string>() : "";
  if (action == "set" && (kind == "trials" || kind == "runs")) {
    return Annotate(client, kind == "trials", id, body, request_id);
  }
  if (action == "ack" && (kind == "alerts" || kind == "trials")) {
    return Acknowledge(client, kind == "trials", id, request_id);
  }
  if (kind == "sweeps") return ChangeSweep(client, id, action, body, request_id);
  if (kind == "trials") {
    if (action == "stop") return OfTrial<rpc::Trainer::StopTrial>(client, id, request_id);
    if (action == "pause") return OfTrial<rpc::Trainer::PauseTrial>(client, id, request_id);
    if (action == "resume") return OfTrial<rpc::Trainer::ResumeTrial>(client, id, request_id);
    if (action == "rm") return OfTrial<rpc::Trainer::RemoveTrial>(client, id, request_id);
    if (action == "tell") return Tell(client, id, body, request_id);
  } else if (kind == "jobs") {
    if (action == "stop") return OfJob<rpc::Launcher::StopJob>(client, id, request_id);
    if (action == "restart") return OfJob<rpc::Launcher::RestartJob>(client, id, request_id);
    if (action == "rm") return OfJob<rpc::Launcher::RemoveJob>(client, id, request_id);
    if (action == "signal") return Signal(client, id, body, request_id);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no ", runtime::Absl(action), " of ", runtime::Absl(kind)));
}

}  // namespace web
