#include "bus/access/key_file.h"

#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "runtime/file/file.h"

namespace bus {
namespace {

constexpr std::size_t kSmallFile = 16 << 10;

std::string Field(const nlohmann::json& json, const char* name) {
  if (!json.is_object()) return "";
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

absl::StatusOr<CurvePair> ReadKeyFile(const std::string& path) {
  const auto text = runtime::ReadFile(path, kSmallFile);
  if (!text.ok()) return text.status();
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  CurvePair pair{Field(json, "public_key"), Field(json, "secret_key")};
  if (!IsCurveKey(pair.public_key) || !IsCurveKey(pair.secret_key)) {
    return absl::DataLossError(absl::StrCat(path, " holds no keys"));
  }
  return pair;
}

absl::StatusOr<CurvePair> MakeKeyFile(const std::string& path) {
  auto there = ReadKeyFile(path);
  if (!absl::IsNotFound(there.status())) return there;
  auto pair = MakeCurvePair();
  if (!pair.ok()) return pair.status();
  const nlohmann::json json = {{"public_key", pair->public_key}, {"secret_key", pair->secret_key}};
  // Concurrent makers race by link(2): the first one wins.
  const std::string mine = absl::StrCat(path, ".", getpid());
  if (absl::Status written = runtime::WriteFileAtomically(mine, json.dump(2) + "\n",
                                                          runtime::FileMode::Exactly(0600), true);
      !written.ok()) {
    return written;
  }
  const int linked = link(mine.c_str(), path.c_str());
  const int error = errno;
  (void)unlink(mine.c_str());
  if (linked != 0 && error != EEXIST) {
    return absl::ErrnoToStatus(error, absl::StrCat("cannot make ", path));
  }
  return ReadKeyFile(path);
}

}  // namespace bus
