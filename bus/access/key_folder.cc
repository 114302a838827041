#include "bus/access/key_folder.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bus/access/key_file.h"
#include "bus/access/role_names.h"
#include "runtime/file/file.h"
#include "runtime/text/printable.h"
#include "runtime/text/string_view.h"

namespace bus {
namespace {

constexpr std::size_t kSmallFile = 16 << 10;
constexpr std::size_t kMostNameBytes = 64;
constexpr std::size_t kNonceDigits = 32;
// Suffix of files that are being written, or whose writer was killed.
constexpr std::string_view kTemporary = ".tmp";

bool IsLetterOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool IsNonce(std::string_view nonce) {
  return nonce.size() == kNonceDigits && nonce.find_first_not_of("0123456789abcdef") == nonce.npos;
}

std::string Field(const nlohmann::json& json, const char* name) {
  if (!json.is_object()) return "";
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

absl::StatusOr<AllowedKey> Parse(const std::string& name, const std::string& path) {
  const auto text = runtime::ReadFile(path, kSmallFile);
  if (!text.ok()) return text.status();
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  AllowedKey key{.name = name, .public_key = Field(json, "public_key")};
  const std::string said = Field(json, "role");
  const bool is_of_node = said == kNodeRole;
  if (is_of_node) key.nonce = Field(json, "nonce");
  const auto role = is_of_node ? Role::kRead : RoleOfName(said);
  const bool good = role.ok() && IsCurveKey(key.public_key) &&
                    (!is_of_node || (IsNonce(key.nonce) && KeyFolder::CheckNodeName(name).ok()));
  if (!good) {
    return absl::DataLossError(absl::StrCat(path, " is no key; next: yard gate remove ", name));
  }
  key.role = *role;
  if (const auto time = json.find("allowed_us"); time != json.end() && time->is_number_integer()) {
    key.allowed_us = time->get<std::int64_t>();
  }
  return key;
}

}  // namespace

KeyFolder::KeyFolder(std::string_view state_directory)
    : directory_(absl::StrCat(runtime::Absl(state_directory), "/gate")) {}

absl::Status KeyFolder::CheckName(std::string_view name) {
  const bool good = !name.empty() && name.size() <= kMostNameBytes &&
                    IsLetterOrDigit(name.front()) && !name.ends_with(kTemporary) &&
                    std::all_of(name.begin(), name.end(), [](char c) {
                      return IsLetterOrDigit(c) || c == '.' || c == '_' || c == '-';
                    });
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("\"", runtime::Printable(name),
                   "\" cannot be the name of a key: it has 1 to 64 letters, digits, \".\", \"_\" "
                   "and \"-\", begins with a letter or a digit, and does not end with .tmp"));
}

absl::Status KeyFolder::CheckNodeName(std::string_view name) {
  if (absl::Status good = CheckName(name); !good.ok()) return good;
  const bool good = std::none_of(name.begin(), name.end(),
                                 [](char c) { return c == '_' || (c >= 'A' && c <= 'Z'); });
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("no node can be called \"", runtime::Absl(name),
                                                 "\": a node's name has a-z, 0-9, . and -"));
}

absl::StatusOr<CurvePair> KeyFolder::ServerKey() const {
  auto pair = ReadKeyFile(ServerKeyPath());
  if (!absl::IsDataLoss(pair.status())) return pair;
  return absl::DataLossError(absl::StrCat(
      pair.status().message(), "; next: remove it, yard gate key, and hand out new access files"));
}

absl::StatusOr<CurvePair> KeyFolder::MakeServerKey() const {
  for (const std::string& directory : {directory_, AllowedDirectory()}) {
    if (absl::Status made = runtime::MakePrivateDirectory(directory); !made.ok()) return made;
  }
  auto there = ServerKey();
  if (!absl::IsNotFound(there.status())) return there;
  return MakeKeyFile(ServerKeyPath());
}

absl::StatusOr<std::vector<AllowedKey>> KeyFolder::Allowed(std::vector<std::string>* bad) const {
  std::vector<AllowedKey> keys;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(AllowedDirectory(), error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    // (Skips files that are being written: their names are not valid key names.)
    if (!CheckName(name).ok()) continue;
    auto key = Parse(name, entry->path().string());
    if (key.ok()) {
      keys.push_back(*std::move(key));
    } else if (bad != nullptr && !absl::IsNotFound(key.status())) {
      bad->emplace_back(key.status().message());
    }
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot read ", AllowedDirectory()));
  }
  std::sort(keys.begin(), keys.end(),
            [](const AllowedKey& a, const AllowedKey& b) { return a.name < b.name; });
  return keys;
}

absl::Status KeyFolder::Write(const AllowedKey& key) const {
  nlohmann::json json = {{"public_key", key.public_key},
                         {"role", std::string(key.is_of_node() ? kNodeRole : NameOfRole(key.role))},
                         {"allowed_us", key.allowed_us}};
  if (key.is_of_node()) json["nonce"] = key.nonce;
  return runtime::WriteFileAtomically(PathOf(key.name), json.dump(2) + "\n",
                                      runtime::FileMode::Exactly(0600), true);
}

absl::Status KeyFolder::Allow(const AllowedKey& key) const {
  if (absl::Status good = CheckName(key.name); !good.ok()) return good;
  if (!IsCurveKey(key.public_key)) {
    return absl::InvalidArgumentError("a public key has 64 hexadecimal digits (0-9, a-f)");
  }
  if (key.is_of_node()) {
    if (absl::Status good = CheckNodeName(key.name); !good.ok()) return good;
    if (!IsNonce(key.nonce)) {
      return absl::InvalidArgumentError("the nonce of a node's key has 32 hexadecimal digits");
    }
  }
  const auto keys = Allowed();
  if (!keys.ok()) return keys.status();
  for (const AllowedKey& other : *keys) {
    if (other.name == key.name) {
      return absl::AlreadyExistsError(
          absl::StrCat("a key ", key.name, " is allowed already (",
                       runtime::Absl(other.is_of_node() ? kNodeRole : NameOfRole(other.role)),
                       "); next: yard gate remove ", key.name));
    }
    if (other.public_key == key.public_key) {
      return absl::AlreadyExistsError(
          absl::StrCat("this public key is allowed already, as ", other.name));
    }
  }
  if (keys->size() >= kMostKeys) {
    return absl::ResourceExhaustedError(
        absl::StrCat(kMostKeys, " keys are allowed, which is the most; next: yard gate list"));
  }
  return Write(key);
}

absl::StatusOr<AllowedKey> KeyFolder::Find(const std::string& name) const {
  if (absl::Status good = CheckName(name); !good.ok()) return good;
  auto keys = Allowed();
  if (!keys.ok()) return keys.status();
  for (AllowedKey& key : *keys) {
    if (key.name == name) return std::move(key);
  }
  std::vector<std::string> names;
  for (const AllowedKey& key : *keys) names.push_back(key.name);
  return absl::NotFoundError(
      absl::StrCat("no key ", name, " is allowed; ",
                   names.empty() ? "none is" : "there are " + absl::StrJoin(names, ", ")));
}

absl::Status KeyFolder::SetRole(const std::string& name, Role role) const {
  auto key = Find(name);
  if (!key.ok()) return key.status();
  if (key->is_of_node()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the key ", name, " is a node's, which has no role; next: yard gate remove ", name));
  }
  key->role = role;
  return Write(*key);
}

absl::Status KeyFolder::Remove(const std::string& name) const {
  if (absl::Status good = CheckName(name); !good.ok()) return good;
  // (Also removes a file that is not a valid key.)
  if (unlink(PathOf(name).c_str()) == 0) return absl::OkStatus();
  if (errno == ENOENT) {
    const auto found = Find(name);
    return found.ok() ? absl::OkStatus() : found.status();
  }
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot remove ", PathOf(name)));
}

}  // namespace bus
