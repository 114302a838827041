#include "tools/yard/job/job_draft.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/counted.h"
#include "tools/yard/follow/request_room.h"

namespace yard {
namespace {

constexpr std::size_t kLongestType = 32;
constexpr std::uint32_t kNoLimit = std::numeric_limits<std::uint32_t>::max();

using Groups = std::map<std::string, const msg::TaskGroupT*>;

// Finds a cycle of start_after through `type`, which is at both ends of the result; empty if none.
class Circle {
 public:
  explicit Circle(const Groups& groups) : groups_(groups) {}

  std::vector<std::string> Through(const std::string& type) {
    path_ = {type};
    seen_.clear();
    return Find(type, type) ? path_ : std::vector<std::string>();
  }

 private:
  // Extends the path from `from` to `to`; returns false if there is no way.
  bool Find(const std::string& from, const std::string& to) {
    const auto group = groups_.find(from);
    if (group == groups_.end() || !seen_.insert(from).second) return false;
    for (const auto& after : group->second->start_after) {
      path_.push_back(after->type);
      if (after->type == to || Find(after->type, to)) return true;
      path_.pop_back();
    }
    return false;
  }

  const Groups& groups_;
  std::vector<std::string> path_;
  std::set<std::string> seen_;
};

void CheckAddresses(const msg::TaskGroupT& group, std::map<std::string, std::string>* owners,
                    std::vector<TaskProblem>* problems) {
  if (!group.addresses.empty() && group.addresses.size() != group.count) {
    problems->push_back(
        {group.type, "addresses",
         absl::StrCat(runtime::Counted(group.addresses.size(), "address", "addresses"), " for ",
                      runtime::Counted(group.count, "task"),
                      "; leave one of the two out, or make them equal")});
  }
  for (const std::string& address : group.addresses) {
    const auto [owner, is_new] = owners->emplace(address, group.type);
    if (is_new) continue;
    problems->push_back(
        {group.type, "addresses",
         absl::StrCat("a task of ", owner->second, " has the address ", address, " already")});
  }
}

std::string NameOf(const std::string& assignment) {
  return assignment.substr(0, assignment.find('='));
}

absl::Status CheckProgram(const msg::JobSpecT& spec) {
  if (!spec.argv.empty()) return absl::OkStatus();
  std::vector<std::string> without;
  for (const auto& group : spec.groups) {
    if (group->argv.empty()) without.push_back(group->type);
  }
  if (!spec.groups.empty() && without.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "no program", without.empty() ? "" : " for ", absl::StrJoin(without, ", "),
      "; for example: yard launch --worker 2 -- python3 train.py, or `command:` in the job file"));
}

}  // namespace

std::string CheckTaskType(const std::string& type) {
  const bool letters = std::all_of(type.begin(), type.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '_' || c == '-';
  });
  if (type.empty() || type.size() > kLongestType || !letters ||
      !absl::ascii_isalpha(static_cast<unsigned char>(type[0]))) {
    return absl::StrCat("a task type is a letter and up to ", kLongestType - 1,
                        " letters, digits, _ or -");
  }
  const std::size_t dash = type.rfind('-');
  const bool numbered = dash != std::string::npos && dash + 1 < type.size() &&
                        type.find_first_not_of("0123456789", dash + 1) == std::string::npos;
  return numbered ? "a task type does not end in a number: that is the name of a task" : "";
}

std::vector<TaskProblem> CheckTasks(const msg::JobSpecT& spec) {
  std::vector<TaskProblem> problems;
  Groups groups;
  for (const auto& group : spec.groups) groups.emplace(group->type, group.get());
  std::map<std::string, std::string> owners;
  std::uint64_t tasks = 0;
  for (const auto& group : spec.groups) {
    const bool was_good = tasks <= kMaxTasks;
    tasks += group->count;
    if (was_good && tasks > kMaxTasks) {
      problems.push_back(
          {group->type, "count", absl::StrCat("a job has at most ", kMaxTasks, " tasks")});
    }
    if (group->type == "chief" && group->count > 1) {
      problems.push_back(
          {group->type, "count", absl::StrCat("a job has at most one chief, not ", group->count)});
    }
    CheckAddresses(*group, &owners, &problems);
    for (const auto& after : group->start_after) {
      if (groups.contains(after->type)) continue;
      std::vector<std::string> types;
      for (const auto& [type, unused] : groups) types.push_back(type);
      problems.push_back({group->type, "start_after",
                          absl::StrCat("there are no tasks of type ", after->type,
                                       "; there are: ", absl::StrJoin(types, ", "))});
    }
    const auto circle = Circle(groups).Through(group->type);
    if (!circle.empty()) {
      problems.push_back(
          {group->type, "start_after",
           absl::StrCat("nobody would start first: ", absl::StrJoin(circle, " after "))});
    }
  }
  return problems;
}

std::vector<std::string> Overlay(const std::vector<std::string>& base,
                                 const std::vector<std::string>& over) {
  std::vector<std::string> result;
  std::map<std::string, std::size_t> places;
  for (const auto* const list : {&base, &over}) {
    for (const std::string& assignment : *list) {
      const auto [place, is_new] = places.emplace(NameOf(assignment), result.size());
      if (is_new) {
        result.push_back(assignment);
      } else {
        result[place->second] = assignment;
      }
    }
  }
  return result;
}

absl::StatusOr<msg::JobSpecT> CompleteJob(JobDraft draft,
                                          const std::vector<std::string>& environment,
                                          const std::string& directory) {
  msg::JobSpecT& spec = draft.spec;
  if (absl::Status status = CheckProgram(spec); !status.ok()) return status;
  if (const auto problems = CheckTasks(spec); !problems.empty()) {
    const TaskProblem& first = problems.front();
    return absl::InvalidArgumentError(absl::StrCat(first.type, ": ", first.what));
  }
  if (!draft.given.contains("restart") && spec.max_restarts > 0) {
    spec.restart = msg::RestartPolicy::OnFailure;
  }
  if (!draft.given.contains("max_restarts") && spec.restart != msg::RestartPolicy::Never) {
    spec.max_restarts = kNoLimit;
  }
  spec.environment = Overlay(environment, spec.environment);
  if (auto room = CheckRoom(spec.environment, spec.argv, ""); !room.ok()) return room;
  if (spec.working_directory.empty()) spec.working_directory = directory;
  return std::move(spec);
}

}  // namespace yard
