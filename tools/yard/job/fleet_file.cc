#include "tools/yard/job/fleet_file.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "runtime/text/printable.h"
#include "tools/yard/cli/typed_file.h"
#include "tools/yard/job/job_file.h"
#include "tools/yard/job/job_json.h"
#include "tools/yard/text/yaml.h"

namespace yard {
namespace {

// A document of a file with several.
struct Document {
  // Preceded by as many empty lines as come before it, so that positions are those of the file.
  std::string text;
  int first_line = 1;
};

bool IsSeparator(std::string_view line) {
  return line == "---" || line == "---\r" || line.starts_with("--- ") || line.starts_with("---\t");
}

std::vector<Document> Split(std::string_view text) {
  std::vector<Document> documents(1);
  int lines = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, end));
    if (IsSeparator(line)) {
      line.replace(0, 3, "   ");
      if (!HasNoYaml(documents.back().text)) documents.emplace_back();
      documents.back() = {std::string(static_cast<std::size_t>(lines), '\n'), lines + 1};
    }
    documents.back().text += line + "\n";
    ++lines;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (HasNoYaml(documents.back().text)) documents.pop_back();
  return documents;
}

// Ignores the order of keys, except that of task types, which determines the ranks.
std::string Applied(const msg::JobSpecT& spec) {
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  nlohmann::json job =
      nlohmann::json::parse(JobToJson(spec, Secrets::kShown).dump(-1, ' ', false, kReplace));
  if (spec.groups.size() > 1) {
    for (const auto& group : spec.groups) job["order of tasks"].push_back(group->type);
  }
  return job.dump(-1, ' ', false, kReplace);
}

class Reader {
 public:
  Reader(std::string file, std::string directory)
      : file_(std::move(file)), directory_(std::move(directory)) {}

  void Read(const Document& document) {
    auto draft = ParseJob(document.text, file_, directory_);
    if (!draft.ok()) return Add(std::string(draft.status().message()));
    const std::string place = absl::StrCat(file_, ":", LineOf(document), ":1: ");
    if (draft->engine.engine == "slurm" || !draft->engine.slurm.empty()) {
      return Add(absl::StrCat(place,
                              "engine: slurm: jobs that are kept get no allocation of their own; "
                              "next: yard pool NAME --engine slurm, and at: NAME"));
    }
    std::string name = draft->spec.name;
    if (name.empty()) return Add(absl::StrCat(place, "the job has no `name`, by which it is kept"));
    if (const auto [first, is_new] = lines_.emplace(name, LineOf(document)); !is_new) {
      return Add(absl::StrCat(place, "name: ", runtime::Printable(name), " is the job of line ",
                              first->second, " already"));
    }
    if (draft->spec.working_directory.empty()) draft->spec.working_directory = directory_;
    std::string applied = Applied(draft->spec);
    jobs_.push_back({std::move(name), *std::move(draft), std::move(applied)});
  }

  // Returns the jobs in the order in which they start.
  absl::StatusOr<std::vector<FleetJob>> Jobs() {
    if (errors_.empty() && jobs_.empty()) Add(absl::StrCat(file_, ":1:1: the file has no job"));
    std::vector<FleetJob> ordered;
    std::set<std::string> placed;
    while (errors_.empty() && !jobs_.empty()) {
      const auto next = std::find_if(jobs_.begin(), jobs_.end(), [&](const FleetJob& job) {
        return std::all_of(job.draft.spec.after.begin(), job.draft.spec.after.end(),
                           [&](const auto& after) {
                             return placed.contains(after->job) || !lines_.contains(after->job);
                           });
      });
      if (next == jobs_.end()) {
        AddCircle();
        break;
      }
      placed.insert(next->name);
      ordered.push_back(std::move(*next));
      jobs_.erase(next);
    }
    if (errors_.empty()) return ordered;
    return absl::InvalidArgumentError(absl::StrJoin(errors_, "\n"));
  }

 private:
  void Add(std::string error) { errors_.push_back(std::move(error)); }

  static int LineOf(const Document& document) {
    // Returns the line of the separator, or the first line with content after it.
    int line = document.first_line;
    std::string_view text = document.text;
    text.remove_prefix(static_cast<std::size_t>(line - 1));
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      if (!HasNoYaml(text.substr(0, end))) break;
      ++line;
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return line;
  }

  void AddCircle() {
    std::vector<std::string> names;
    for (const FleetJob& job : jobs_) names.push_back(runtime::Printable(job.name));
    std::sort(names.begin(), names.end());
    Add(absl::StrCat(file_, ":", lines_.at(jobs_.front().name),
                     ":1: after: these jobs wait for each other, and none would start: ",
                     absl::StrJoin(names, ", ")));
  }

  const std::string file_, directory_;
  std::vector<FleetJob> jobs_;
  std::map<std::string, int> lines_;  // Line of each name.
  std::vector<std::string> errors_;
};

}  // namespace

absl::StatusOr<Fleet> ParseFleet(std::string_view text, const std::string& file,
                                 const std::string& directory) {
  if (text.size() > kMaxYamlBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(runtime::Printable(file), ": larger than ", kMaxYamlBytes >> 20, " MiB"));
  }
  const std::vector<Document> documents = Split(text);
  if (documents.size() > kMaxFleet) {
    return absl::InvalidArgumentError(
        absl::StrCat(runtime::Printable(file), ": more than ", kMaxFleet, " jobs"));
  }
  Reader reader(file, directory);
  for (const Document& document : documents) reader.Read(document);
  auto jobs = reader.Jobs();
  if (!jobs.ok()) return jobs.status();
  return Fleet{.path = file, .jobs = *std::move(jobs)};
}

absl::StatusOr<Fleet> ReadFleet(const std::string& file, const std::string& working_directory) {
  if (file == "-") {
    return absl::InvalidArgumentError(
        "jobs are kept by a file, which standard input is not; next: name one");
  }
  const auto read = ReadTypedFile(file, working_directory, kMaxYamlBytes);
  if (!read.ok()) return read.status();
  auto fleet = ParseFleet(read->text, read->name, read->directory);
  if (!fleet.ok()) return fleet.status();
  fleet->path = (std::filesystem::path(working_directory) / file).lexically_normal();
  return fleet;
}

}  // namespace yard
