#include "launcher/job/job_names.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/text/name_search.h"

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
  runtime::NameSearch search(name);
  for (const JobRow* const row : rows) {
    search.LookAt(!row->has_ended(), row->created_us, row->id, row->spec.name);
  }
  return search.Found(name.empty() ? "a job without a name"
                                   : absl::StrCat("there is no job ", name));
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
    // The job of a trial is listed only if the user types the beginning of its id; the trial stands
    // for it.
    if (names.prefix().empty() && IsOfATrial(*row)) continue;
    const std::string& name = row->spec.name;
    names.Add("job", name.empty() ? row->id : name, state);
    if (!name.empty() && !names.prefix().empty()) names.Add("job", row->id, name);
    if (names.Wants("task")) ListTasks(*row, names);
  }
}

}  // namespace launcher
