#include "tools/yard/services/tensorboard_environment.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace yard {
namespace {

constexpr char kDataServer[] = "TENSORBOARD_DATA_SERVER_BINARY";
constexpr char kExceptions[] = "no_grpc_proxy";

// As in a shell, the last entry of a name counts. Empty values count as unset.
std::string ValueOf(const std::vector<std::string>& environment, const std::string& name) {
  std::string value;
  for (const std::string& entry : environment) {
    if (entry.starts_with(name + "=")) value = entry.substr(name.size() + 1);
  }
  return value;
}

void Set(const std::string& name, const std::string& value, std::vector<std::string>* environment) {
  std::erase_if(*environment,
                [&](const std::string& entry) { return entry.starts_with(name + "="); });
  environment->push_back(absl::StrCat(name, "=", value));
}

// Returns true if a proxy variable is set that gRPC uses for unencrypted connections.
bool HasProxy(const std::vector<std::string>& environment) {
  for (const char* name : {"grpc_proxy", "https_proxy", "http_proxy"}) {
    if (!ValueOf(environment, name).empty()) return true;
  }
  return false;
}

bool HasLocalhost(const std::string& exceptions) {
  for (const absl::string_view one : absl::StrSplit(exceptions, ',')) {
    if (absl::StripAsciiWhitespace(one) == "localhost") return true;
  }
  return false;
}

// gRPC uses only the first of the two variables that is set.
std::string ExceptionsOf(const std::vector<std::string>& environment) {
  const std::string grpcs = ValueOf(environment, kExceptions);
  return grpcs.empty() ? ValueOf(environment, "no_proxy") : grpcs;
}

}  // namespace

bool ProxyHidesLocalhost(const std::vector<std::string>& environment) {
  return HasProxy(environment) && !HasLocalhost(ExceptionsOf(environment));
}

std::string DataServerOf(const std::vector<std::string>& environment) {
  return ValueOf(environment, kDataServer);
}

std::vector<std::string> TensorBoardEnvironment(std::vector<std::string> callers,
                                                const std::string& data_server) {
  if (!data_server.empty() && ValueOf(callers, kDataServer).empty()) {
    Set(kDataServer, data_server, &callers);
  }
  if (ProxyHidesLocalhost(callers)) {
    const std::string exceptions = ExceptionsOf(callers);
    Set(kExceptions, absl::StrCat(exceptions, exceptions.empty() ? "" : ",", "localhost"),
        &callers);
  }
  return callers;
}

}  // namespace yard
