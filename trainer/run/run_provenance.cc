#include "trainer/run/run_provenance.h"

#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/json/annotations.h"
#include "runtime/file/file.h"
#include "runtime/text/json_value.h"
#include "runtime/text/string_view.h"
#include "trainer/run/run_annotations.h"

namespace trainer {
namespace {

constexpr std::size_t kMaxProvenance = 512 << 10;
constexpr char kDiffFile[] = "/uncommitted.diff";
constexpr std::size_t kMaxGroup = 200;

absl::Status TooLong(std::string_view field, std::size_t size, std::size_t limit) {
  return absl::InvalidArgumentError(
      absl::StrCat(runtime::Absl(field), " has ", size, " bytes, more than ", limit));
}

// Returns the members that describe the run in this yard, as JSON.
std::string OwnMembers(const std::string& trial, const msg::TrialOptionsT& options) {
  std::string labels;
  for (const std::string& label : options.labels) {
    absl::StrAppend(&labels, labels.empty() ? "" : ",", runtime::Quote(label));
  }
  std::string text =
      absl::StrCat("{\"trial\":", runtime::Quote(trial), ",\"labels\":[", labels, "]");
  if (!options.group.empty()) absl::StrAppend(&text, ",\"group\":", runtime::Quote(options.group));
  return text + "}";
}

// Returns the name of the run whose diff this run shares; empty if it names none.
std::string DiffOf(const runtime::JsonValue& provenance) {
  const auto* const git = provenance.Find("git");
  const auto* const other = git == nullptr ? nullptr : git->Find("diff_of");
  return other == nullptr ? "" : runtime::StringOf(*other);
}

// Returns true if `name` is a plain directory name in the run's parent directory.
bool IsRunName(std::string_view name) {
  return !name.empty() && name.front() != '.' && name.find('/') == name.npos &&
         name.find('\0') == name.npos;
}

// Hard-links the diff of the other run into this one, so that it exists once and lasts as long as
// either run. Copies it where the file system has no hard links.
absl::Status ShareDiffOf(const std::string& other, const std::string& run_directory,
                         runtime::FileMode mode) {
  if (!IsRunName(other)) return absl::OkStatus();
  const std::string beside = run_directory.substr(0, run_directory.rfind('/') + 1);
  const std::string theirs = absl::StrCat(beside, other, kDiffFile),
                    own = run_directory + kDiffFile;
  std::error_code error;
  if (std::filesystem::exists(own, error) || !std::filesystem::exists(theirs, error)) {
    return absl::OkStatus();
  }
  std::filesystem::create_hard_link(theirs, own, error);
  if (!error || error == std::errc::file_exists) return absl::OkStatus();
  const auto text = runtime::ReadFile(theirs, kMaxProvenance);
  if (!text.ok()) return text.status();
  return runtime::WriteFileAtomically(own, *text, mode);
}

}  // namespace

absl::Status CheckLabelsAndProvenance(const msg::TrialOptionsT& options) {
  if (auto status = bus::CheckAnnotations(AnnotationsOf(options)); !status.ok()) return status;
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
  const auto json = runtime::ParseJson(options.provenance);
  if (!json.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("provenance: ", json.status().message()));
  }
  if (json->kind != runtime::JsonValue::Kind::kObject) {
    return absl::InvalidArgumentError("provenance must be a JSON object");
  }
  if (const std::string other = DiffOf(*json); !other.empty() && !IsRunName(other)) {
    return absl::InvalidArgumentError(
        absl::StrCat("provenance: git.diff_of ", runtime::Quote(other),
                     " is not the name of a run: it must not begin with a dot or hold a slash"));
  }
  return absl::OkStatus();
}

absl::Status WriteProvenance(const std::string& run_directory, const std::string& trial,
                             const msg::TrialOptionsT& options) {
  auto json = runtime::ParseJson(options.provenance.empty() ? std::string_view("{}")
                                                            : std::string_view(options.provenance));
  if (!json.ok()) return json.status();
  const std::string own_text = OwnMembers(trial, options);
  auto own = runtime::ParseJson(own_text);
  if (!own.ok()) return own.status();
  for (auto& member : own->members) {
    std::erase_if(json->members, [&](const auto& its) { return its.first == member.first; });
    json->members.push_back(std::move(member));
  }
  const auto mode = runtime::FileMode::OfFileIn(run_directory);
  auto status = runtime::WriteFileAtomically(run_directory + "/provenance.json",
                                             runtime::PrettyJson(*json) + "\n", mode);
  if (!status.ok()) return status;
  if (options.provenance_diff.empty()) return ShareDiffOf(DiffOf(*json), run_directory, mode);
  return runtime::WriteFileAtomically(run_directory + kDiffFile, options.provenance_diff, mode);
}

std::string ReadUncommittedDiff(const std::string& run_directory) {
  auto own = runtime::ReadFile(run_directory + kDiffFile, kMaxProvenance);
  if (own.ok()) return *std::move(own);
  const auto text = runtime::ReadFile(run_directory + "/provenance.json", 2 * kMaxProvenance);
  const auto json = runtime::ParseJson(text.ok() ? std::string_view(*text) : "{}");
  const std::string name = json.ok() ? DiffOf(*json) : "";
  if (!IsRunName(name)) return "";
  const std::string beside = run_directory.substr(0, run_directory.rfind('/') + 1);
  return runtime::ReadFile(absl::StrCat(beside, name, kDiffFile), kMaxProvenance).value_or("");
}

}  // namespace trainer
