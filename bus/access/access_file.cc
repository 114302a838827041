#include "bus/access/access_file.h"

#include <sys/stat.h>

#include <cstdint>
#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/file/file.h"
#include "runtime/text/string_view.h"

namespace bus {
namespace {

constexpr std::size_t kSmallFile = 64 << 10;
constexpr std::string_view kGate = "gate:";
constexpr std::uint32_t kMostPort = 65'535;

absl::Status NoAccessFile(const std::string& path, std::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, " gives no access to a yard: ", runtime::Absl(why),
                   "; next: ask the yard's owner for a new file (yard gate allow)"));
}

}  // namespace

absl::Status CheckGateAddress(std::string_view address) {
  absl::string_view rest = runtime::Absl(address);
  std::uint32_t port = 0;
  const bool is_tcp = absl::ConsumePrefix(&rest, "tcp://");
  const std::size_t colon = rest.rfind(':');
  const bool has_port = colon != absl::string_view::npos && colon > 0 &&
                        absl::SimpleAtoi(rest.substr(colon + 1), &port) && port >= 1 &&
                        port <= kMostPort;
  if (is_tcp && has_port) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the address \"", runtime::Absl(address), "\" is not tcp://HOST:PORT"));
}

absl::StatusOr<AccessFile> ReadAccessFile(const std::string& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) == 0 && (about.st_mode & 077) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat(path, " holds a secret key, and others may read it; next: chmod 600 ", path));
  }
  const auto text = runtime::ReadFile(path, kSmallFile);
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(absl::StrCat(
        "there is no access file ", path,
        "; next: unset YARD_REGISTRY, or ask the yard's owner for one (yard gate allow)"));
  }
  if (!text.ok()) return text.status();
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return NoAccessFile(path, "it is no JSON object");
  const auto field = [&json](const char* name) -> std::string {
    const auto found = json.find(name);
    return found != json.end() && found->is_string() ? found->get<std::string>() : "";
  };
  AccessFile access{.address = field("gate"),
                    .name = field("name"),
                    .role = field("role"),
                    .nonce = field("nonce"),
                    .keys = {.own = {field("public_key"), field("secret_key")},
                             .server_key = field("server_key")}};
  if (absl::Status good = CheckGateAddress(access.address); !good.ok()) {
    return NoAccessFile(path, runtime::Std(good.message()));
  }
  if (!IsCurveKey(access.keys.own.public_key) || !IsCurveKey(access.keys.own.secret_key) ||
      !IsCurveKey(access.keys.server_key)) {
    return NoAccessFile(path, "a key is missing or is not 64 hexadecimal digits");
  }
  return access;
}

absl::Status WriteAccessFile(const std::string& path, const AccessFile& access) {
  nlohmann::json json = {{"gate", access.address},
                         {"name", access.name},
                         {"role", access.role},
                         {"server_key", access.keys.server_key},
                         {"public_key", access.keys.own.public_key},
                         {"secret_key", access.keys.own.secret_key}};
  if (!access.nonce.empty()) json["nonce"] = access.nonce;
  struct stat about {};
  if (lstat(path.c_str(), &about) == 0) {
    return absl::AlreadyExistsError(absl::StrCat(path, " is there already"));
  }
  return runtime::WriteFileAtomically(path, json.dump(2) + "\n", runtime::FileMode::Exactly(0600),
                                      true);
}

std::optional<std::string> PathOfAccessFile(std::string_view registry_address) {
  if (!registry_address.starts_with(kGate)) return std::nullopt;
  return std::string(registry_address.substr(kGate.size()));
}

}  // namespace bus
