#include "launcher/wanted_services.h"

#include <nlohmann/json.hpp>

#include "glog/logging.h"
#include "runtime/file/file.h"
#include "runtime/process/metrics_port.h"

namespace launcher {
namespace {

constexpr std::size_t kMaxFile = 64 * 1024;

}  // namespace

std::optional<WantedServices> ReadWantedServices(const std::string& path) {
  const auto content = runtime::ReadFile(path, kMaxFile);
  if (!content.ok()) return std::nullopt;
  const auto json = nlohmann::json::parse(*content, nullptr, /*allow_exceptions=*/false);
  const auto text = [&](const char* key) -> std::string {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : "";
  };
  if (!json.is_object() || text("logdir").empty()) {
    LOG(ERROR) << path << " is not {\"logdir\": \"/path\"}: no service is started";
    return std::nullopt;
  }
  const auto slots = json.find("slots");
  WantedServices wanted{.logdir = text("logdir"), .trainer = text("trainer")};
  if (slots != json.end() && slots->is_number_unsigned())
    wanted.slots = slots->get<std::uint64_t>();
  const auto add = [&](const nlohmann::json& list, const std::string& service) {
    if (!list.is_array()) return;
    for (const auto& flag : list) {
      if (flag.is_string()) wanted.flags[service].push_back(flag.get<std::string>());
    }
  };
  add(json.value("datamanager", nlohmann::json()), "datamanager");
  const auto shared = json.find("flags");
  if (shared == json.end() || !shared->is_object()) return wanted;
  for (const auto& [service, list] : shared->items()) add(list, service);
  runtime::LeaveOneMetricsPort(&wanted.flags);
  return wanted;
}

}  // namespace launcher
