#include "launcher/node/files/report_paths.h"

#include <cstddef>
#include <utility>

#include "launcher/wire/relayed_line.h"
#include "runtime/text/json_value.h"

namespace launcher {
namespace {

using runtime::JsonValue;

// Larger than any answer of the trainer: a configuration has at most 20,000 values.
constexpr runtime::JsonOptions kLargest = {.depth = 64, .values = 1'000'000};

bool Has(std::string_view text, std::string_view word) { return text.find(word) != text.npos; }

std::string Moved(const std::string& from, const std::string& to, const std::string& path) {
  const bool is_below =
      path.size() > from.size() && path.starts_with(from) && path[from.size()] == '/';
  return path == from || is_below ? to + path.substr(from.size()) : path;
}

// A top-level string member of a line.
struct Member {
  std::string value;
  std::size_t begin = 0, size = 0;  // Its position in the line, including its quotes.
};

std::optional<Member> StringMember(std::string_view line, const JsonValue& object,
                                   std::string_view name) {
  const JsonValue* const found = object.Find(name);
  if (found == nullptr || found->kind != JsonValue::Kind::kString) return std::nullopt;
  return Member{.value = runtime::StringOf(*found),
                .begin = static_cast<std::size_t>(found->raw.data() - line.data()),
                .size = found->raw.size()};
}

std::optional<Member> MemberOf(std::string_view line, std::string_view name) {
  const auto object = runtime::ParseJson(line, kLargest);
  if (!object.ok() || object->kind != JsonValue::Kind::kObject) return std::nullopt;
  return StringMember(line, *object, name);
}

std::string With(std::string_view line, const Member& member, const std::string& value) {
  std::string changed(line.substr(0, member.begin));
  changed += runtime::Quote(value);
  changed += line.substr(member.begin + member.size);
  return changed;
}

std::optional<Member> SavedMember(std::string_view line) {
  if (!Has(line, "ckpt")) return std::nullopt;
  const std::string_view type = ReportLineType(line);
  if (type == "ckpt_end") return MemberOf(line, "path");
  return type == "report" ? MemberOf(line, "ckpt") : std::nullopt;
}

}  // namespace

std::string AtLauncher(const RunPlaces& places, const std::string& path) {
  return Moved(places.node, places.launcher, path);
}

std::string AtNode(const RunPlaces& places, const std::string& path) {
  return Moved(places.launcher, places.node, path);
}

std::optional<std::string> SavedPath(std::string_view line) {
  auto member = SavedMember(line);
  if (!member) return std::nullopt;
  return std::move(member->value);
}

std::string WithSavedPath(std::string_view line, const std::string& path) {
  const auto member = SavedMember(line);
  return member ? With(line, *member, path) : std::string(line);
}

std::string FailedSave(std::string_view line, const std::string& path, const std::string& error) {
  std::string failed = R"({"t":"ckpt_fail")";
  const auto object = runtime::ParseJson(line, kLargest);
  const JsonValue* const seq = object.ok() ? object->Find("seq") : nullptr;
  if (seq != nullptr) failed += ",\"seq\":" + runtime::CompactJson(*seq);
  failed += ",\"path\":" + runtime::Quote(path) + ",\"error\":" + runtime::Quote(error) + "}";
  return failed;
}

AnswerAtNode AnswerFor(const RunPlaces& places, std::string_view answer) {
  AnswerAtNode result{.text = std::string(answer), .directory = {}, .saved = {}};
  if (!Has(answer, "path") && !Has(answer, "welcome")) return result;
  const std::string_view type = ReportLineType(answer);
  const bool is_welcome = type == "welcome";
  if (!is_welcome && type != "ckpt_dir" && type != "ok") return result;
  const auto member = MemberOf(answer, is_welcome ? "checkpoint" : "path");
  if (!member) return result;
  const std::string path = AtNode(places, member->value);
  if (path == member->value) return result;
  result.text = With(answer, *member, path);
  if (type == "ckpt_dir") result.directory = path;
  if (type == "ok") result.saved = path;
  return result;
}

}  // namespace launcher
