#include "launcher/job/job_names.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace launcher {
namespace {

constexpr std::size_t kNamedInError = 5;

bool IsOfATrial(const JobRow& row) {
  return std::any_of(row.spec.labels.begin(), row.spec.labels.end(),
                     [](const auto& label) { return label->key == "trial"; });
}

void ListTasks(const JobRow& row, bus::NameList& names) {
  for (const std::string& job : {row.id, row.spec.name}) {
    if (job.empty() || !names.prefix().starts_with(job + "/")) continue;
    for (const TaskRow& task : row.tasks) {
      if (!names.Add("task", absl::StrCat(job, "/", task.name()), row.spec.name)) return;
    }
  }
}

}  // namespace

absl::StatusOr<std::string> JobNamed(const std::vector<const JobRow*>& rows,
                                     const std::string& name) {
  if (name.empty()) return absl::NotFoundError("a job without a name");
  const JobRow* by_name = nullptr;
  std::vector<std::string> by_prefix;
  for (const JobRow* const row : rows) {
    if (row->id == name) return name;
    if (row->id.starts_with(name)) by_prefix.push_back(row->id);
    if (row->spec.name != name) continue;
    const auto rank = [](const JobRow& r) { return std::pair(!r.has_ended(), r.created_us); };
    if (by_name == nullptr || rank(*row) > rank(*by_name)) by_name = row;
  }
  if (by_name != nullptr) return by_name->id;
  if (by_prefix.size() == 1) return by_prefix[0];
  if (by_prefix.empty()) return absl::NotFoundError(absl::StrCat("there is no job ", name));
  const std::size_t count = by_prefix.size();
  if (count > kNamedInError) by_prefix.resize(kNamedInError);
  return absl::FailedPreconditionError(absl::StrCat(
      name, " is ambiguous: ", absl::StrJoin(by_prefix, ", "),
      count > kNamedInError ? absl::StrCat(" and ", count - kNamedInError, " more") : ""));
}

absl::StatusOr<int> TaskNamed(const JobRow& row, const std::string& name) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < row.tasks.size(); ++i) {
    if (row.tasks[i].name() == name) return static_cast<int>(i);
    if (i < kNamedInError) names.push_back(row.tasks[i].name());
  }
  return absl::NotFoundError(absl::StrCat("job ", row.id, " has no task ", name, ", but ",
                                          absl::StrJoin(names, ", "),
                                          row.tasks.size() > names.size() ? ", ..." : ""));
}

void ListNames(std::vector<const JobRow*> rows, bus::NameList& names) {
  std::stable_sort(rows.begin(), rows.end(), [](const JobRow* a, const JobRow* b) {
    const auto rank = [](const JobRow& r) { return std::pair(!r.has_ended(), r.created_us); };
    return rank(*a) > rank(*b);
  });
  for (const JobRow* const row : rows) {
    const std::string state = absl::AsciiStrToLower(msg::EnumNameTaskState(StateOf(row->status)));
    // A trial's job is told by its trial, unless somebody types its id.
    if (names.prefix().empty() && IsOfATrial(*row)) continue;
    const std::string& name = row->spec.name;
    names.Add("job", name.empty() ? row->id : name, state);
    if (!name.empty() && !names.prefix().empty()) names.Add("job", row->id, name);
    if (names.Wants("task")) ListTasks(*row, names);
  }
}

}  // namespace launcher
