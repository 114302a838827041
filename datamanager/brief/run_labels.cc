#include "datamanager/brief/run_labels.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "datamanager/brief/run_parameters.h"
#include "nlohmann/json.hpp"

namespace datamanager {
namespace {

using nlohmann::json;

absl::Status WrongMember(const char* name, const char* expected) {
  return absl::InvalidArgumentError(
      absl::StrCat("provenance.json: \"", name, "\" is not ", expected));
}

absl::Status ReadText(const json& object, const char* name, std::string* text) {
  const auto member = object.find(name);
  if (member == object.end()) return absl::OkStatus();
  if (!member->is_string()) return WrongMember(name, "a text");
  *text = member->get<std::string>();
  return absl::OkStatus();
}

absl::Status ReadLabels(const json& object, std::vector<std::string>* labels) {
  constexpr const char* kExpected = "a list of at most 64 texts";
  const auto member = object.find("labels");
  if (member == object.end()) return absl::OkStatus();
  if (!member->is_array() || member->size() > RunLabels::kMaxLabels) {
    return WrongMember("labels", kExpected);
  }
  for (const json& label : *member) {
    if (!label.is_string()) return WrongMember("labels", kExpected);
    labels->push_back(label.get<std::string>());
  }
  return absl::OkStatus();
}

// Returns "HASH", or "HASH-dirty" if there were uncommitted changes; empty if unknown.
std::string CommitOf(const json& object) {
  const auto git = object.find("git");
  if (git == object.end() || !git->is_object()) return "";
  const auto commit = git->find("commit");
  if (commit == git->end() || !commit->is_string()) return "";
  const std::string hash = commit->get<std::string>();
  const auto dirty = git->find("dirty");
  const bool is_dirty = dirty != git->end() && dirty->is_boolean() && dirty->get<bool>();
  return hash.empty() || !is_dirty ? hash : hash + "-dirty";
}

RunConfig ReadCommand(const json& object) {
  std::vector<std::string> argv;
  const auto member = object.find("argv");
  if (member != object.end() && member->is_array()) {
    for (const json& word : *member) {
      if (word.is_string()) argv.push_back(word.get<std::string>());
    }
  }
  return CommandParameters(argv, CommitOf(object));
}

}  // namespace

absl::StatusOr<RunLabels> ParseRunLabels(std::string_view text) {
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object()) {
    return absl::InvalidArgumentError("provenance.json holds no JSON object");
  }
  RunLabels result;
  auto status = ReadLabels(object, &result.labels);
  status.Update(ReadText(object, "trial", &result.trial));
  status.Update(ReadText(object, "group", &result.group));
  if (!status.ok()) return status;
  result.command = ReadCommand(object);
  return result;
}

}  // namespace datamanager
