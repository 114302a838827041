#include "registry/info/cache_key.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "registry/info/python_json.h"
#include "runtime/text/json_value.h"
#include "runtime/text/string_view.h"

namespace registry {
namespace {

using runtime::JsonValue;
using Kind = JsonValue::Kind;

constexpr std::size_t kMaxText = 1 << 20;

absl::StatusOr<JsonValue> Parse(std::string_view text, const char* what) {
  if (text.size() > kMaxText) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " are ", text.size(), " bytes, more than ", kMaxText));
  }
  auto value = ParsePythonJson(text);
  if (!value.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " are not JSON: ", value.status().message()));
  }
  if (value->kind != Kind::kObject) {
    return absl::InvalidArgumentError(absl::StrCat(what, " are not a JSON object"));
  }
  return value;
}

std::string Key(const std::string& arguments, const std::string& configure_kwargs,
                const std::string& working_directory) {
  return absl::Base64Escape(absl::StrCat("{\"arguments\":", arguments,
                                         ",\"configure_kwargs\":", configure_kwargs,
                                         ",\"working_directory\":", working_directory, "}"));
}

absl::Status CheckShape(const JsonValue& call) {
  for (const auto* member : runtime::MembersByName(call)) {
    const std::string& key = member->first;
    if (key != "arguments" && key != "working_directory" && key != "configure_kwargs") {
      return absl::InvalidArgumentError(
          absl::StrCat("a cache key has no member ", QuotePythonString(key)));
    }
  }
  const JsonValue* const arguments = call.Find("arguments");
  if (arguments != nullptr && arguments->kind == Kind::kString) {
    return absl::InvalidArgumentError(
        "arguments must be a list, not one string: split it into words as a shell does "
        "(shlex.split in Python)");
  }
  if (arguments == nullptr || arguments->kind != Kind::kArray) {
    return absl::InvalidArgumentError("arguments must be a list");
  }
  const JsonValue* const directory = call.Find("working_directory");
  if (directory == nullptr || directory->kind != Kind::kString) {
    return absl::InvalidArgumentError("working_directory must be a string");
  }
  const JsonValue* const kwargs = call.Find("configure_kwargs");
  if (kwargs != nullptr && kwargs->kind != Kind::kObject) {
    return absl::InvalidArgumentError("configure_kwargs must be an object");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> CacheKey(std::string_view working_directory,
                                     const std::vector<std::string>& arguments,
                                     std::string_view configure_kwargs_json) {
  const auto kwargs = Parse(configure_kwargs_json, "configure_kwargs");
  if (!kwargs.ok()) return kwargs.status();
  std::string list;
  for (const std::string& argument : arguments) {
    absl::StrAppend(&list, list.empty() ? "" : ",", QuotePythonString(CodePointsOfBytes(argument)));
  }
  return Key(absl::StrCat("[", list, "]"), CompactPythonJson(*kwargs),
             QuotePythonString(CodePointsOfBytes(working_directory)));
}

absl::StatusOr<std::string> CacheKeyOfJson(std::string_view json) {
  const auto call = Parse(json, "the parts of a cache key");
  if (!call.ok()) return call.status();
  const absl::Status shape = CheckShape(*call);
  if (!shape.ok()) return shape;
  const JsonValue* const kwargs = call->Find("configure_kwargs");
  return Key(CompactPythonJson(*call->Find("arguments")),
             kwargs == nullptr ? "{}" : CompactPythonJson(*kwargs),
             CompactPythonJson(*call->Find("working_directory")));
}

}  // namespace registry
