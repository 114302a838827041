#include "trainer/run/run_provenance.h"

#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/file/file.h"
#include "runtime/text/string_view.h"
#include "runtime/text/utf8.h"
#include "trainer/report/json_text.h"

namespace trainer {
namespace {

constexpr std::size_t kMaxProvenance = 512 << 10;
constexpr std::size_t kMaxLabels = 64;
constexpr std::size_t kMaxLabel = 256;
constexpr std::size_t kMaxGroup = 200;

absl::Status TooLong(std::string_view field, std::size_t size, std::size_t limit) {
  return absl::InvalidArgumentError(
      absl::StrCat(runtime::Absl(field), " has ", size, " bytes, more than ", limit));
}

bool HasControlCharacter(const std::string& text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return true;
  }
  return false;
}

absl::Status CheckLabels(const std::vector<std::string>& labels) {
  if (labels.size() > kMaxLabels) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", labels.size(), " labels, more than ", kMaxLabels));
  }
  std::set<std::string> known;
  for (const std::string& label : labels) {
    std::string_view problem;
    if (label.empty()) problem = "it is empty";
    if (label.size() > kMaxLabel) problem = "it has more than 256 bytes";
    if (HasControlCharacter(label)) problem = "it holds a control character";
    if (runtime::ValidUtf8(label) != label) problem = "it is not UTF-8";
    if (!known.insert(label).second) problem = "it is there twice";
    if (problem.empty()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("label ", Quote(label.substr(0, kMaxLabel)), ": ", runtime::Absl(problem)));
  }
  return absl::OkStatus();
}

// JSON: what the run is in this yard.
std::string OwnMembers(const std::string& trial, const msg::TrialOptionsT& options) {
  std::string labels;
  for (const std::string& label : options.labels) {
    absl::StrAppend(&labels, labels.empty() ? "" : ",", Quote(label));
  }
  std::string text = absl::StrCat("{\"trial\":", Quote(trial), ",\"labels\":[", labels, "]");
  if (!options.group.empty()) absl::StrAppend(&text, ",\"group\":", Quote(options.group));
  return text + "}";
}

}  // namespace

absl::Status CheckLabelsAndProvenance(const msg::TrialOptionsT& options) {
  if (auto status = CheckLabels(options.labels); !status.ok()) return status;
  if (options.group.size() > kMaxGroup) return TooLong("group", options.group.size(), kMaxGroup);
  if (options.fail_fast && options.group.empty()) {
    return absl::InvalidArgumentError("fail_fast needs a group: the trials it is about");
  }
  if (options.provenance_diff.size() > kMaxProvenance) {
    return TooLong("provenance_diff", options.provenance_diff.size(), kMaxProvenance);
  }
  if (options.provenance.empty()) return absl::OkStatus();
  if (options.provenance.size() > kMaxProvenance) {
    return TooLong("provenance", options.provenance.size(), kMaxProvenance);
  }
  const auto json = ParseJson(options.provenance);
  if (!json.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("provenance: ", json.status().message()));
  }
  if (json->kind != JsonValue::Kind::kObject) {
    return absl::InvalidArgumentError("provenance must be a JSON object");
  }
  return absl::OkStatus();
}

absl::Status WriteProvenance(const std::string& run_directory, const std::string& trial,
                             const msg::TrialOptionsT& options) {
  auto json = ParseJson(options.provenance.empty() ? std::string_view("{}")
                                                   : std::string_view(options.provenance));
  if (!json.ok()) return json.status();
  const std::string own_text = OwnMembers(trial, options);
  auto own = ParseJson(own_text);
  if (!own.ok()) return own.status();
  for (auto& member : own->members) {
    std::erase_if(json->members, [&](const auto& its) { return its.first == member.first; });
    json->members.push_back(std::move(member));
  }
  const auto mode = runtime::FileMode::OfFileIn(run_directory);
  auto status = runtime::WriteFileAtomically(run_directory + "/provenance.json",
                                             PrettyJson(*json) + "\n", mode);
  if (!status.ok() || options.provenance_diff.empty()) return status;
  return runtime::WriteFileAtomically(run_directory + "/uncommitted.diff", options.provenance_diff,
                                      mode);
}

}  // namespace trainer
