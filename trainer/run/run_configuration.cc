#include "trainer/run/run_configuration.h"

#include <cmath>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "runtime/file/file.h"
#include "runtime/text/json_value.h"
#include "trainer/run/result_files.h"

namespace trainer {
namespace {

using runtime::JsonValue;

constexpr std::size_t kMaxFile = 16 << 20;

absl::Status CheckSize(std::string_view text) {
  if (text.size() <= kMaxConfiguration) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("config has ", text.size(), " bytes, more than ", kMaxConfiguration));
}

// Replaces numbers that are not finite by strings, because JSON has no such numbers. Returns true
// if there was one.
bool MakeFinite(JsonValue& value) {
  if (value.kind == JsonValue::Kind::kDouble && !std::isfinite(value.number)) {
    value.raw = std::isnan(value.number) ? "\"NaN\""
                : value.number > 0       ? "\"Infinity\""
                                         : "\"-Infinity\"";
    value.kind = JsonValue::Kind::kString;
    return true;
  }
  bool has_changed = false;
  for (JsonValue& item : value.items) has_changed |= MakeFinite(item);
  for (auto& [name, member] : value.members) has_changed |= MakeFinite(member);
  if (has_changed) value.is_compact = false;
  return has_changed;
}

absl::StatusOr<JsonValue> ParseObject(std::string_view text) {
  auto json = runtime::ParseJson(text);
  if (!json.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("config: ", json.status().message()));
  }
  if (json->kind != JsonValue::Kind::kObject) {
    return absl::InvalidArgumentError("config must be a JSON object");
  }
  MakeFinite(*json);
  return json;
}

void AppendMember(const std::string& name, const JsonValue& value, std::string& object) {
  absl::StrAppend(&object, object.size() == 1 ? "" : ",", runtime::Quote(name), ":",
                  runtime::CompactJson(value));
}

}  // namespace

absl::StatusOr<std::string> ParseConfiguration(std::string_view text) {
  if (text.empty()) return "{}";
  if (auto status = CheckSize(text); !status.ok()) return status;
  auto json = ParseObject(text);
  if (!json.ok()) return json.status();
  return runtime::CompactJson(*json);
}

absl::StatusOr<std::string> UpdatedConfiguration(std::string_view before, std::string_view update) {
  const auto old = ParseObject(before);
  if (!old.ok()) return old.status();
  const auto changes = ParseObject(update);
  if (!changes.ok()) return changes.status();
  std::string object = "{";
  for (const auto& [name, value] : old->members) {
    const JsonValue* const changed = changes->Find(name);
    AppendMember(name, changed == nullptr ? value : *changed, object);
  }
  for (const auto& [name, value] : changes->members) {
    if (old->Find(name) == nullptr) AppendMember(name, value, object);
  }
  object += '}';
  if (auto status = CheckSize(object); !status.ok()) return status;
  // Each of the two may have had the greatest number of values.
  if (auto whole = ParseObject(object); !whole.ok()) return whole.status();
  return object;
}

absl::Status BringConfigurationUpToDate(const std::string& run_directory,
                                        const std::string& configuration) {
  std::error_code none;
  if (!std::filesystem::is_directory(run_directory, none)) return absl::OkStatus();
  const auto wanted = RenderParams(configuration);
  if (!wanted.ok()) return wanted.status();
  const std::string path = run_directory + "/params.json";
  const auto found = runtime::ReadFile(path, kMaxFile);
  if (found.ok() && *found == *wanted) return absl::OkStatus();
  return runtime::WriteFileAtomically(path, *wanted, runtime::FileMode::OfFileIn(run_directory));
}

}  // namespace trainer
