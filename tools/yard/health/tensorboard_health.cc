#include "tools/yard/health/tensorboard_health.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "runtime/file/file.h"
#include "runtime/text/string_view.h"
#include "tools/yard/page/http_exchange.h"
#include "tools/yard/services/tensorboard_environment.h"

namespace yard {
namespace {

constexpr std::size_t kMostAsked = 8;
constexpr std::size_t kMostEnvironment = 4 << 20;  // Bytes.
constexpr absl::Duration kPatience = absl::Seconds(1);
constexpr std::string_view kOurs = "/yard-data-server";

// Returns the environment of the process; empty if it has ended.
std::vector<std::string> EnvironmentOf(pid_t pid) {
  const auto text = runtime::ReadFile(absl::StrCat("/proc/", pid, "/environ"), kMostEnvironment);
  if (!text.ok()) return {};
  return absl::StrSplit(*text, '\0', absl::SkipEmpty());
}

bool NamesOurServer(const std::vector<std::string>& environment) {
  return absl::EndsWith(DataServerOf(environment), runtime::Absl(kOurs));
}

absl::StatusOr<HttpAnswer> Ask(const ToolFacts& tool) {
  const std::string request =
      absl::StrCat("GET ", tool.path_prefix,
                   "/data/environment HTTP/1.0\r\nHost: localhost:", tool.port, "\r\n\r\n");
  sockaddr_in four = {};
  four.sin_family = AF_INET;
  four.sin_port = htons(tool.port);
  four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto answer =
      ExchangeHttp(reinterpret_cast<const sockaddr*>(&four), sizeof four, request, kPatience);
  if (answer.ok()) return answer;
  sockaddr_in6 six = {};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(tool.port);
  six.sin6_addr = in6addr_loopback;
  return ExchangeHttp(reinterpret_cast<const sockaddr*>(&six), sizeof six, request, kPatience);
}

}  // namespace

bool HasFallenBack(const ToolFacts& tool, const std::vector<std::string>& environment) {
  if (!NamesOurServer(environment)) return false;
  const auto answer = Ask(tool);
  if (!answer.ok() || answer->status != 200) return false;
  const nlohmann::json::json_pointer where("/debug/data_provider");
  if (!answer->body.contains(where) || !answer->body[where].is_string()) return false;
  return !absl::StrContains(answer->body[where].get<std::string>(), "GrpcDataProvider");
}

std::vector<FallbackFacts> LookForFallbacks(const std::vector<ToolFacts>& tools) {
  std::vector<FallbackFacts> found;
  std::size_t asked = 0;
  for (const ToolFacts& tool : tools) {
    const auto environment = EnvironmentOf(tool.pid);
    if (tool.port == 0 || !NamesOurServer(environment)) continue;
    if (++asked > kMostAsked) break;
    if (!HasFallenBack(tool, environment)) continue;
    found.push_back({.tool = tool, .proxy = ProxyHidesLocalhost(environment)});
  }
  return found;
}

Findings CheckFallbacks(const std::vector<FallbackFacts>& fallbacks) {
  Findings findings;
  for (const FallbackFacts& one : fallbacks) {
    findings.push_back(
        {Level::kWarn, "tensorboard",
         absl::StrCat("process ", one.tool.pid,
                      " does not use yard-data-server, which it was told "
                      "to, but reads by Python: slowly, and a sample of the points",
                      one.proxy ? "; it looks for the server through a proxy" : ""),
         one.proxy ? absl::StrCat("end it (kill ", one.tool.pid,
                                  "), then: export no_grpc_proxy=localhost   or start it by: yard "
                                  "tensorboard")
                   : absl::StrCat("end it (kill ", one.tool.pid,
                                  "), then see why: tensorboard --load_fast=true ...")});
  }
  return findings;
}

}  // namespace yard
