#include "launcher/run/job_failure.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "launcher/job/job_row.h"
#include "launcher/job/root_cause.h"
#include "launcher/job/supervisor.h"
#include "launcher/log/last_lines.h"

namespace launcher {
namespace {

// Returns the end of the last attempt of each task, by rank.
std::vector<TaskEnd> EndsOf(const Job& job, const std::string& state_directory) {
  std::vector<TaskEnd> ends;
  const msg::JobT message = JobMessage(job.row, state_directory);
  for (std::size_t i = 0; i < message.tasks.size(); ++i) {
    TaskEnd& end = ends.emplace_back(LastEnd(*message.tasks[i]));
    end.stopped_us = job.run->tasks[i]->stopped_us();
    end.spoke_us = job.run->tasks[i]->spoke_us();
  }
  return ends;
}

FailureRules FailureRulesOf(const Job& job) {
  const JobRules& rules = job.run->rules;
  FailureRules all;
  all.keep_going = rules.keep_going;
  if (rules.chief != kWholeJob) all.chief = rules.tasks[static_cast<std::size_t>(rules.chief)].name;
  all.since_us = job.failures_since_us;
  if (job.row.status.time_is_over) {
    all.time_over = job.row.status.ending;
    all.time_over_us = job.time_over_us;
  }
  return all;
}

void AddLastLinesOf(const JobRow& row, const TaskRow& task, const std::string& state_directory,
                    msg::FailureT* failure) {
  const AttemptRow& attempt = task.attempts.back();
  const auto path = [&](msg::LogStream stream) {
    return LogPath(row, task, state_directory, attempt.number, stream);
  };
  const LogFile errors[] = {{path(msg::LogStream::Stderr), attempt.stderr_begin}};
  const LogFile output[] = {{path(msg::LogStream::Stdout), attempt.stdout_begin}};
  AddLastLines(errors, output, failure);
}

}  // namespace

std::optional<msg::FailureT> FailureOf(const Job& job, const std::string& state_directory) {
  const JobStatus& status = job.row.status;
  if (status.first_failure == kWholeJob && !status.time_is_over) return std::nullopt;
  auto failure = FirstFailure(EndsOf(job, state_directory), FailureRulesOf(job));
  if (!failure) return std::nullopt;
  const TaskRow* const task = job.row.task(failure->task);
  if (task != nullptr && !task->attempts.empty()) {
    AddLastLinesOf(job.row, *task, state_directory, &*failure);
  }
  return failure;
}

}  // namespace launcher
