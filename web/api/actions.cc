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

}  // namespace

absl::StatusOr<json> DoAction(bus::Client& client, std::string_view kind, const std::string& id,
                              std::string_view action, const std::string& request_id) {
  if (kind == "trials") {
    if (action == "stop") return OfTrial<rpc::Trainer::StopTrial>(client, id, request_id);
    if (action == "pause") return OfTrial<rpc::Trainer::PauseTrial>(client, id, request_id);
    if (action == "resume") return OfTrial<rpc::Trainer::ResumeTrial>(client, id, request_id);
    if (action == "rm") return OfTrial<rpc::Trainer::RemoveTrial>(client, id, request_id);
  } else if (kind == "jobs") {
    if (action == "stop") return OfJob<rpc::Launcher::StopJob>(client, id, request_id);
    if (action == "restart") return OfJob<rpc::Launcher::RestartJob>(client, id, request_id);
    if (action == "rm") return OfJob<rpc::Launcher::RemoveJob>(client, id, request_id);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no ", runtime::Absl(action), " of ", runtime::Absl(kind)));
}

}  // namespace web
