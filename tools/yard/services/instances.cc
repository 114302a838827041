#include "tools/yard/services/instances.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "bus/schema/registry_methods.h"
#include "tools/yard/text/table.h"

namespace yard {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(2);

bool NamesTemporaryDirectory(const std::string& entry) {
  return entry.starts_with("TMPDIR=") || entry.starts_with("TEMP=") || entry.starts_with("TMP=");
}

}  // namespace

absl::StatusOr<std::vector<std::unique_ptr<msg::InstanceT>>> RunningInstances(Context& context) {
  auto client = context.client();
  if (!client.ok()) return client.status();
  const auto& environment = context.environment;
  if (std::any_of(environment.begin(), environment.end(), NamesTemporaryDirectory)) {
    msg::InstancesRequestT ours;
    ours.environment = environment;
    ours.working_directory = context.working_directory;
    auto known = (*client)->Call<rpc::Registry::Instances>(ours, {.timeout = kTimeout});
    if (!known.ok()) return known.status();
  }
  auto reply = (*client)->Call<rpc::Registry::Instances>({}, {.timeout = kTimeout});
  if (!reply.ok()) return reply.status();
  return std::move(reply->instances);
}

std::string DataSource(const msg::InstanceInfoT& info) {
  return info.db.empty() ? absl::StrCat("logdir ", info.logdir) : absl::StrCat("db ", info.db);
}

nlohmann::json ToJson(const msg::InstanceT& instance) {
  nlohmann::json json = {{"id", instance.id},   {"tool", instance.tool}, {"url", instance.url},
                         {"job", instance.job}, {"path", instance.path}, {"uid", instance.uid}};
  if (instance.info == nullptr) return json;
  const msg::InstanceInfoT& info = *instance.info;
  json["pid"] = info.pid;
  json["port"] = info.port;
  json["version"] = info.version;
  json["since"] = IsoTime(info.start_time * 1'000'000);
  json["path_prefix"] = info.path_prefix;
  json["logdir"] = info.logdir;
  json["db"] = info.db;
  json["cache_key"] = info.cache_key;
  return json;
}

}  // namespace yard
