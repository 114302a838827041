#include "tools/yard/top/fact_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/schema/launcher_methods.h"
#include "bus/schema/trainer_methods.h"
#include "runtime/mutex.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/services/leases.h"
#include "tools/yard/text/task_names.h"
#include "tools/yard/text/whole_lines.h"

namespace yard::top {
namespace {

using runtime::MutexLock;

constexpr absl::Duration kPatience = absl::Seconds(2);
constexpr absl::Duration kRegistryPatience = absl::Seconds(1);
constexpr absl::Duration kOrderPatience = absl::Seconds(5);
constexpr std::uint64_t kMostReports = 1000;
constexpr int kLastLines = 100;  // Limit of lines of each stream.
constexpr std::size_t kMostLines = 200, kMostOutputBytes = 1 << 20, kMostLineBytes = 4096;

}  // namespace

// Answers of one round of calls. Shared with callbacks of calls that nobody waits for any more.
struct FactReader::Answers {
  runtime::Mutex mutex;
  runtime::CondVar changed;
  int pending ABSL_GUARDED_BY(mutex) = 0;
  absl::StatusOr<msg::ServicesReplyT> services;
  absl::StatusOr<msg::SweepsReplyT> sweeps;
  absl::StatusOr<msg::TrialsReplyT> trials;
  absl::StatusOr<msg::JobsReplyT> jobs;
  absl::StatusOr<msg::UsageReplyT> usage;
  absl::StatusOr<msg::NodesReplyT> nodes;
  absl::StatusOr<msg::FollowTrialReplyT> reports_end;
  absl::StatusOr<msg::LogsReplyT> output_end;
  std::vector<msg::ResultRowT> reports;
  std::vector<msg::LogsReplyT> output;
  std::size_t output_bytes = 0;
};

Facts FactReader::Read(const Subject& subject) {
  Facts facts;
  auto client = context_.client();
  if (!client.ok()) {
    facts.why = client.status();
    return facts;
  }
  const auto answers = std::make_shared<Answers>();
  Ask(**client, answers, subject);
  const auto leases = ServiceLeases(**client, kRegistryPatience);
  Wait(*answers);
  facts.services = ServiceRows(context_, leases);
  Note(leases.status(), &facts.why);
  Take(*answers, &facts);
  TakeReports(*answers, subject);
  facts.sweeps = sweeps_.all();
  facts.trials = trials_.all();
  facts.jobs = jobs_.all();
  for (const auto& node : nodes_) facts.nodes.push_back(*node);
  facts.usage = usage_;
  facts.rates = rates_.Take(usage_);
  facts.trial = subject.trial;
  facts.reports.assign(reports_.begin(), reports_.end());
  facts.output_of = subject.output_of;
  facts.output = Lines(*answers, facts);
  facts.at = context_.clock->Now();
  return facts;
}

std::string FactReader::Carry(const Order& order) {
  auto client = context_.client();
  if (!client.ok()) return std::string(client.status().message());
  absl::Status done;
  if (order.kind == Order::Kind::kRestart) {
    msg::RestartJobRequestT request;
    request.job = order.id;
    done = (*client)->Call<rpc::Launcher::RestartJob>(request, Patient(kOrderPatience)).status();
  } else if (order.is_sweep) {
    msg::ChangeSweepRequestT request;
    request.sweep = order.id;
    request.order = msg::SweepOrder::Stop;
    done = (*client)->Call<rpc::Trainer::ChangeSweep>(request, Patient(kOrderPatience)).status();
  } else if (order.is_trial) {
    msg::StopTrialRequestT request;
    request.trial = order.id;
    done = (*client)->Call<rpc::Trainer::StopTrial>(request, Patient(kOrderPatience)).status();
  } else {
    msg::StopJobRequestT request;
    request.job = order.id;
    done = (*client)->Call<rpc::Launcher::StopJob>(request, Patient(kOrderPatience)).status();
  }
  if (!done.ok()) return absl::StrCat(order.id, ": ", done.message());
  return absl::StrCat(order.id, order.kind == Order::Kind::kRestart ? " restarts" : " stops");
}

void FactReader::GiveUp() { given_up_ = true; }

template <typename M>
void FactReader::Start(bus::Client& client, const std::shared_ptr<Answers>& answers,
                       const typename M::RequestT& request,
                       absl::StatusOr<typename M::ReplyT> Answers::*member,
                       std::function<void(Answers&, const typename M::ReplyT&)> on_part) {
  {
    MutexLock lock(answers->mutex);
    ++answers->pending;
  }
  client.Start<M>(
      request,
      [answers, on_part](const typename M::ReplyT& part) {
        MutexLock lock(answers->mutex);
        if (on_part) on_part(*answers, part);
      },
      [answers, member](absl::StatusOr<typename M::ReplyT> reply) {
        MutexLock lock(answers->mutex);
        (*answers).*member = std::move(reply);
        --answers->pending;
        answers->changed.SignalAll();
      },
      {.timeout = kPatience});
}

void FactReader::Ask(bus::Client& client, const std::shared_ptr<Answers>& answers,
                     const Subject& subject) {
  msg::TrialsRequestT trials;
  trials.newest_ended = kEndedKept;
  Start<rpc::Trainer::Trials>(client, answers, trials, &Answers::trials);
  Start<rpc::Trainer::Sweeps>(client, answers, {}, &Answers::sweeps);
  msg::JobsRequestT jobs;
  jobs.newest_ended = kEndedKept;
  Start<rpc::Launcher::Jobs>(client, answers, jobs, &Answers::jobs);
  Start<rpc::Launcher::Services>(client, answers, {}, &Answers::services);
  Start<rpc::Launcher::Usage>(client, answers, {}, &Answers::usage);
  Start<rpc::Launcher::Nodes>(client, answers, {}, &Answers::nodes);
  if (!subject.trial.empty()) AskForReports(client, answers, subject);
  if (!subject.output_of.empty()) AskForOutput(client, answers, subject.output_of);
}

void FactReader::AskForReports(bus::Client& client, const std::shared_ptr<Answers>& answers,
                               const Subject& subject) {
  if (reports_of_ != subject.trial) reports_.clear();
  reports_of_ = subject.trial;
  msg::FollowTrialRequestT request;
  request.trial = subject.trial;
  request.follow = false;
  request.from_row = reports_.empty() ? 0 : reports_.back().row;
  // Only the newest reports are shown.
  const std::uint64_t first = subject.reports - std::min(subject.reports, kMostReports);
  request.from_row = std::max(request.from_row, first);
  Start<rpc::Trainer::FollowTrial>(client, answers, request, &Answers::reports_end, AddReports);
}

void FactReader::AddReports(Answers& answers, const msg::FollowTrialReplyT& part) {
  for (const auto& row : part.rows) {
    if (answers.reports.size() < 2 * kMostReports) answers.reports.push_back(*row);
  }
}

void FactReader::AskForOutput(bus::Client& client, const std::shared_ptr<Answers>& answers,
                              const std::string& of) {
  msg::LogsRequestT request;
  request.job = of;
  request.last_lines = kLastLines;
  Start<rpc::Launcher::Logs>(client, answers, request, &Answers::output_end, AddOutput);
}

void FactReader::AddOutput(Answers& answers, const msg::LogsReplyT& part) {
  answers.output_bytes += part.data.size();
  answers.output.push_back(part);
  // Keeps the newest output within the limit.
  while (answers.output_bytes > kMostOutputBytes && answers.output.size() > 1) {
    answers.output_bytes -= answers.output.front().data.size();
    answers.output.erase(answers.output.begin());
  }
}

// Wakes up every 100 ms, also to notice GiveUp().
void FactReader::Wait(Answers& answers) {
  const absl::Duration deadline = context_.clock->Monotonic() + 2 * kPatience;
  MutexLock lock(answers.mutex);
  while (answers.pending > 0 && !given_up_ && context_.clock->Monotonic() < deadline) {
    context_.clock->WaitUntil(answers.changed, answers.mutex,
                              context_.clock->Monotonic() + absl::Milliseconds(100));
  }
}

void FactReader::Note(const absl::Status& status, absl::Status* why) {
  if (why->ok() && !status.ok()) *why = status;
}

void FactReader::Take(Answers& answers, Facts* facts) {
  MutexLock lock(answers.mutex);
  if (answers.services.ok()) AddRestarts(*answers.services, &facts->services);
  for (const absl::Status& status : {answers.trials.status(), answers.jobs.status()}) {
    Note(status, &facts->why);
  }
  // An older trainer has no sweeps.
  if (answers.sweeps.ok()) sweeps_.Take(answers.sweeps->sweeps);
  if (answers.trials.ok()) trials_.Take(answers.trials->trials);
  if (answers.jobs.ok()) jobs_.Take(answers.jobs->jobs);
  if (answers.usage.ok()) usage_ = std::move(*answers.usage);
  // An older launcher has no nodes.
  if (answers.nodes.ok()) nodes_ = std::move(answers.nodes->nodes);
}

void FactReader::TakeReports(Answers& answers, const Subject& subject) {
  MutexLock lock(answers.mutex);
  if (subject.trial.empty()) return;
  if (answers.reports_end.ok()) AddReports(answers, *answers.reports_end);
  for (msg::ResultRowT& row : answers.reports) {
    const bool is_new = reports_.empty() || row.row > reports_.back().row;
    if (is_new) reports_.push_back(std::move(row));
  }
  while (reports_.size() > kMostReports) reports_.pop_front();
}

// If the job has several tasks, each line begins with the name of its task.
std::vector<std::string> FactReader::Lines(Answers& answers, const Facts& facts) const {
  const auto job = std::find_if(facts.jobs.begin(), facts.jobs.end(),
                                [&](const msg::JobT& one) { return one.id == facts.output_of; });
  const bool with_task = job != facts.jobs.end() && job->tasks.size() > 1;
  std::deque<std::string> lines;
  WholeLines whole([&](const std::string& task, bool, std::string_view line) {
    std::string text(line.substr(0, kMostLineBytes));
    if (with_task) text = absl::StrCat("[", std::string(TaskName(task)), "] ", text);
    lines.push_back(std::move(text));
    if (lines.size() > kMostLines) lines.pop_front();
  });
  MutexLock lock(answers.mutex);
  for (const msg::LogsReplyT& part : answers.output) whole.Add(part);
  if (answers.output_end.ok()) whole.Add(*answers.output_end);
  whole.Finish();
  return {lines.begin(), lines.end()};
}

}  // namespace yard::top
