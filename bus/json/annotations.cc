#include "bus/json/annotations.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "runtime/file/file.h"
#include "runtime/text/string_view.h"
#include "runtime/text/utf8.h"

namespace bus {
namespace {

using nlohmann::json;

constexpr std::size_t kShownOfALabel = 256;

// Quotes `text` as JSON, so that any bytes can be shown.
std::string Quoted(std::string_view text) {
  return json(std::string(text.substr(0, kShownOfALabel)))
      .dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
}

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

bool HasControlCharacter(std::string_view text) {
  return std::any_of(text.begin(), text.end(), IsControl);
}

// Checks a text that is shown to people.
absl::Status CheckText(std::string_view what, std::string_view text, std::size_t most,
                       std::string_view allowed_controls) {
  std::string problem;
  for (std::string_view rest = text; !rest.empty() && problem.empty();) {
    const runtime::Utf8Character character = runtime::DecodeUtf8(rest);
    const bool is_allowed = allowed_controls.find(rest.front()) != std::string_view::npos;
    if (character.bytes == 0) problem = "it is not UTF-8";
    if (runtime::IsControl(character.code_point) && !is_allowed && problem.empty()) {
      problem = "it holds a control character";
    }
    rest.remove_prefix(std::max<std::size_t>(character.bytes, 1));
  }
  if (text.size() > most) problem = absl::StrCat("it has more than ", most, " bytes");
  if (problem.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the ", runtime::Absl(what), " of a run is refused: ", problem));
}

absl::Status WrongMember(std::string_view name, std::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat(runtime::Absl(Annotations::kFile), ": \"",
                                                 runtime::Absl(name), "\" is not ",
                                                 runtime::Absl(expected)));
}

absl::Status ReadText(const json& object, const char* name, std::string* text) {
  const auto member = object.find(name);
  if (member == object.end()) return absl::OkStatus();
  if (!member->is_string()) return WrongMember(name, "a text");
  *text = member->get<std::string>();
  return absl::OkStatus();
}

absl::Status ReadLabels(const json& object, std::vector<std::string>* labels) {
  const auto member = object.find("labels");
  if (member == object.end()) return absl::OkStatus();
  if (!member->is_array()) return WrongMember("labels", "a list of texts");
  for (const json& label : *member) {
    if (!label.is_string()) return WrongMember("labels", "a list of texts");
    labels->push_back(label.get<std::string>());
  }
  return absl::OkStatus();
}

std::string PathIn(const std::string& run_directory) {
  return absl::StrCat(run_directory, "/", runtime::Absl(Annotations::kFile));
}

}  // namespace

absl::Status CheckLabels(const std::vector<std::string>& labels) {
  if (labels.size() > Annotations::kMaxLabels) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", labels.size(), " labels, more than ", Annotations::kMaxLabels));
  }
  std::set<std::string_view> known;
  for (const std::string& label : labels) {
    std::string_view problem;
    if (label.empty()) problem = "it is empty";
    if (label.size() > Annotations::kMaxLabel) problem = "it has more than 256 bytes";
    if (HasControlCharacter(label)) problem = "it holds a control character";
    if (!runtime::IsUtf8(label)) problem = "it is not UTF-8";
    if (!known.insert(label).second) problem = "it is there twice";
    if (problem.empty()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("label ", Quoted(label), ": ", runtime::Absl(problem)));
  }
  return absl::OkStatus();
}

absl::Status CheckAnnotations(const Annotations& annotations) {
  absl::Status status = CheckLabels(annotations.labels);
  status.Update(CheckText("note", annotations.note, Annotations::kMaxNote, "\n\t"));
  status.Update(
      CheckText("display name", annotations.display_name, Annotations::kMaxDisplayName, ""));
  return status;
}

absl::StatusOr<Annotations> Annotated(Annotations before, const msg::AnnotateRequestT& request) {
  std::vector<std::string>& labels = before.labels;
  for (const std::string& label : request.remove_labels) {
    const auto& added = request.add_labels;
    if (std::find(added.begin(), added.end(), label) != added.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("label ", Quoted(label), " is to be added and removed at once"));
    }
    std::erase(labels, label);
  }
  for (const std::string& label : request.add_labels) {
    if (std::find(labels.begin(), labels.end(), label) == labels.end()) labels.push_back(label);
  }
  if (request.set_note) before.note = request.note;
  if (request.set_display_name) before.display_name = request.display_name;
  if (absl::Status good = CheckAnnotations(before); !good.ok()) return good;
  return before;
}

absl::StatusOr<Annotations> ParseAnnotations(std::string_view text) {
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat(runtime::Absl(Annotations::kFile), " holds no JSON object"));
  }
  Annotations annotations;
  absl::Status status = ReadLabels(object, &annotations.labels);
  status.Update(ReadText(object, "note", &annotations.note));
  status.Update(ReadText(object, "display_name", &annotations.display_name));
  if (status.ok()) status = CheckAnnotations(annotations);
  if (!status.ok()) return status;
  return annotations;
}

absl::StatusOr<Annotations> ReadAnnotations(const std::string& run_directory) {
  const auto text = runtime::ReadFile(PathIn(run_directory), Annotations::kMaxBytes);
  if (!text.ok()) return text.status();
  return ParseAnnotations(*text);
}

absl::Status WriteAnnotations(const std::string& run_directory, const Annotations& annotations) {
  const json object = {{"labels", annotations.labels},
                       {"note", annotations.note},
                       {"display_name", annotations.display_name}};
  const absl::Status written = runtime::WriteFileAtomically(
      PathIn(run_directory),
      object.dump(2, ' ', /*ensure_ascii=*/false, json::error_handler_t::replace) + "\n",
      runtime::FileMode::OfFileIn(run_directory));
  if (written.ok() || absl::IsResourceExhausted(written)) return written;
  return absl::FailedPreconditionError(
      absl::StrCat("the run keeps what was said of it: ", written.message()));
}

msg::AnnotateReplyT AnnotateReply(const std::string& run, const Annotations& annotations) {
  msg::AnnotateReplyT reply;
  reply.run = run;
  reply.labels = annotations.labels;
  reply.note = annotations.note;
  reply.display_name = annotations.display_name;
  return reply;
}

}  // namespace bus
