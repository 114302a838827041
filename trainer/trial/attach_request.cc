#include "trainer/trial/attach_request.h"

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bus/schema/launcher_generated.h"
#include "runtime/text/json_value.h"
#include "runtime/text/string_view.h"

namespace trainer {
namespace {

using Kind = runtime::JsonValue::Kind;

constexpr int kMostNames = 10'000;

// Reads those members of the request that exist, and keeps the first error.
class Members {
 public:
  explicit Members(const runtime::JsonValue& object) : object_(object) {}

  std::string Text(std::string_view name) {
    const auto* const value = Find(name, Kind::kString, "a string");
    return value == nullptr ? "" : runtime::StringOf(*value);
  }
  std::string Object(std::string_view name) {
    const auto* const value = Find(name, Kind::kObject, "an object");
    return value == nullptr ? "" : runtime::CompactJson(*value);
  }
  const runtime::JsonValue* Integer(std::string_view name) {
    return Find(name, Kind::kInteger, "an integer");
  }
  std::vector<std::string> Texts(std::string_view name) {
    std::vector<std::string> texts;
    const auto* const value = Find(name, Kind::kArray, "an array");
    if (value == nullptr) return texts;
    for (const runtime::JsonValue& item : value->items) {
      if (item.kind != Kind::kString) Refuse(name, "an array of strings");
      texts.push_back(runtime::StringOf(item));
    }
    return texts;
  }
  const absl::Status& status() const { return status_; }

 private:
  const runtime::JsonValue* Find(std::string_view name, Kind kind, std::string_view what) {
    const auto* const value = object_.Find(name);
    if (value == nullptr || value->kind == Kind::kNull) return nullptr;
    if (value->kind == kind) return value;
    Refuse(name, what);
    return nullptr;
  }
  void Refuse(std::string_view name, std::string_view what) {
    status_.Update(absl::InvalidArgumentError(
        absl::StrCat(runtime::Absl(name), " is not ", runtime::Absl(what))));
  }

  const runtime::JsonValue& object_;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<msg::RunTrialRequestT> RequestOf(const AttachRequest& attach) {
  const auto json = runtime::ParseJson(attach.request);
  if (!json.ok()) return json.status();
  Members members(*json);
  msg::RunTrialRequestT request;
  request.name = members.Text("name");
  request.argv = members.Texts("argv");
  if (request.argv.empty()) request.argv = {absl::StrCat("process ", attach.pid)};
  request.working_directory = members.Text("working_directory");
  if (request.working_directory.empty()) request.working_directory.push_back('/');
  request.config = members.Object("config");
  request.options = std::make_unique<msg::TrialOptionsT>();
  msg::TrialOptionsT& options = *request.options;
  options.labels = members.Texts("labels");
  options.note = members.Text("note");
  options.display_name = members.Text("display_name");
  options.provenance = members.Object("provenance");
  if (const auto* const umask = members.Integer("umask")) {
    options.caller = std::make_unique<msg::CallersProcessT>();
    options.caller->umask = static_cast<std::uint32_t>(umask->integer) & 0777;
  }
  options.attached_pid = static_cast<std::uint32_t>(attach.pid);
  if (!members.status().ok()) return members.status();
  return request;
}

std::string FreeName(const std::string& name,
                     const std::function<bool(const std::string& name)>& is_free) {
  if (name.empty() || is_free(name)) return name;
  for (int number = 2; number < kMostNames; ++number) {
    const std::string other = absl::StrCat(name, "-", number);
    if (is_free(other)) return other;
  }
  return name;
}

}  // namespace trainer
