#include "web/api/actions.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/json/things_json.h"
#include "bus/schema/launcher_methods.h"
#include "bus/schema/trainer_methods.h"
#include "runtime/text/string_view.h"

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
  // (The launcher says which numbers are signals.)
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

}  // namespace

absl::StatusOr<json> DoAction(bus::Client& client, std::string_view kind, const std::string& id,
                              std::string_view action, const json& body) {
  if (!body.is_object()) return absl::InvalidArgumentError("the body is no JSON object");
  const json given_id = body.value("request_id", json());
  const std::string request_id = given_id.is_string() ? given_id.get<std::string>() : "";
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
