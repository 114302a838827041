#include "registry/info/instance_info.h"

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "registry/info/python_json.h"
#include "runtime/text/json_value.h"
#include "runtime/text/string_view.h"

namespace registry {
namespace {

using runtime::JsonValue;

constexpr std::size_t kMaxQuoted = 80;

// All keys of an info file, in the order of the text, with the members that hold them.
struct TextField {
  std::string_view key;
  std::string InstanceInfo::*text = nullptr;
  std::int64_t InstanceInfo::*number = nullptr;
  bool optional = false;  // Omitted when empty.
};
constexpr TextField kFields[] = {
    {"cache_key", &InstanceInfo::cache_key},
    {"db", &InstanceInfo::db},
    {"logdir", &InstanceInfo::logdir},
    {"path_prefix", &InstanceInfo::path_prefix},
    {"pid", nullptr, &InstanceInfo::pid},
    {"port", nullptr, &InstanceInfo::port},
    {"start_time", nullptr, &InstanceInfo::start_time},
    {"tool", &InstanceInfo::tool, nullptr, true},
    {"version", &InstanceInfo::version},
};

std::string Shortened(std::string text) {
  if (text.size() > kMaxQuoted) text.replace(kMaxQuoted, text.npos, "...");
  return text;
}

std::string Quoted(std::string_view bytes) {
  return Shortened(QuotePythonString(CodePointsOfBytes(bytes.substr(0, kMaxQuoted))));
}

absl::Status WrongType(const TextField& field, const JsonValue& found) {
  return absl::InvalidArgumentError(
      absl::StrCat("expected ", runtime::Absl(field.key), " to be ",
                   field.text != nullptr ? "a string" : "an integer of 64 bits", ", but found ",
                   Shortened(CompactPythonJson(found))));
}

absl::Status SetField(const TextField& field, const JsonValue& found, InstanceInfo* info) {
  if (field.text != nullptr) {
    if (found.kind != JsonValue::Kind::kString) return WrongType(field, found);
    info->*field.text = BytesOfCodePoints(CodePointsOf(found));
    return absl::OkStatus();
  }
  if (found.kind != JsonValue::Kind::kInteger) return WrongType(field, found);
  info->*field.number = found.integer;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> SerializeInfo(const InstanceInfo& info, std::string_view tool_version) {
  if (info.version != tool_version) {
    return absl::InvalidArgumentError(absl::StrCat("expected version to be ", Quoted(tool_version),
                                                   ", but found ", Quoted(info.version)));
  }
  std::string out = "{";
  for (const TextField& field : kFields) {
    if (field.optional && (info.*field.text).empty()) continue;
    absl::StrAppend(&out, &field == kFields ? "\n" : ",\n", "    \"", runtime::Absl(field.key),
                    "\": ");
    if (field.text != nullptr) {
      out += QuotePythonString(CodePointsOfBytes(info.*field.text));
    } else {
      absl::StrAppend(&out, info.*field.number);
    }
  }
  return out + "\n}\n";
}

absl::StatusOr<InstanceInfo> ParseInfo(std::string_view json) {
  const auto value = ParsePythonJson(json);
  if (!value.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("invalid JSON: ", value.status().message(), " of ", Quoted(json)));
  }
  if (value->kind != JsonValue::Kind::kObject) {
    return absl::InvalidArgumentError(
        absl::StrCat("not a JSON object: ", Shortened(CompactPythonJson(*value))));
  }
  InstanceInfo info;
  std::vector<std::string> missing;
  absl::Status wrong;
  for (const TextField& field : kFields) {
    const JsonValue* const found = value->Find(field.key);
    if (field.optional) {
      // Another program's value for this key may be of any type.
      if (found != nullptr && found->kind == JsonValue::Kind::kString) {
        info.*field.text = BytesOfCodePoints(CodePointsOf(*found));
      }
    } else if (found == nullptr) {
      missing.emplace_back(field.key);
    } else {
      wrong.Update(SetField(field, *found, &info));
    }
  }
  if (!missing.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("missing keys: ", absl::StrJoin(missing, ", ")));
  }
  if (!wrong.ok()) return wrong;
  return info;
}

std::string DataSource(const InstanceInfo& info) {
  return info.db.empty() ? absl::StrCat("logdir ", info.logdir) : absl::StrCat("db ", info.db);
}

}  // namespace registry
