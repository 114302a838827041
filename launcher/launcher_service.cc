#include "launcher/launcher_service.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/call/loop_methods.h"
#include "bus/call/name_list.h"
#include "bus/process/environment_view.h"
#include "bus/schema/common_methods.h"
#include "bus/wire/topic.h"
#include "glog/logging.h"
#include "launcher/job/job_names.h"
#include "launcher/job/job_row.h"
#include "launcher/job/supervisor.h"
#include "launcher/job_calls.h"
#include "launcher/log/follow_pace.h"
#include "launcher/log/log_search.h"
#include "launcher/log_record.h"
#include "launcher/run/kill_mode_report.h"
#include "runtime/clock.h"

namespace launcher {
namespace {

// Margin by which an answer of "timed out" precedes the call's own deadline.
constexpr absl::Duration kAnswerTime = absl::Milliseconds(100);

struct Parts {
  runtime::EventLoop* loop;
  JobTable* table;
  ServiceKeeper* keeper;
  std::string state_directory;
  std::shared_ptr<FollowPace> pace;

  JobCallContext Context() const { return {table, loop, state_directory, pace}; }
  LogRecord Logs() const { return {table, state_directory}; }
};

// Makes a reply with the present state of a job.
template <typename Reply>
absl::StatusOr<Reply> ReplyWithJob(const Parts& parts, const std::string& id) {
  Reply reply;
  reply.job = std::make_unique<msg::JobT>(parts.table->Message(*parts.table->Row(id)));
  return reply;
}

absl::StatusOr<msg::LaunchReplyT> Launch(const Parts& parts, const bus::CallContext& context,
                                         msg::LaunchRequestT request) {
  if (request.spec == nullptr) return absl::InvalidArgumentError("spec is missing");
  auto job = parts.table->Launch(context.request_id, std::move(*request.spec));
  if (!job.ok()) return job.status();
  msg::LaunchReplyT reply;
  reply.job = std::make_unique<msg::JobT>(*std::move(job));
  return reply;
}

absl::StatusOr<msg::JobsReplyT> Jobs(const Parts& parts, const msg::JobsRequestT& request) {
  const bool shows_environment = request.environment != msg::EnvironmentView::None;
  msg::JobsReplyT reply;
  if (request.job.empty()) {
    if (shows_environment) return absl::InvalidArgumentError("environment: of one job only");
    for (auto& job : parts.table->List(
             {.live_only = request.live_only, .newest_ended = request.newest_ended})) {
      if (request.applied) job.applied = parts.table->Row(job.id)->spec.applied;
      reply.jobs.push_back(std::make_unique<msg::JobT>(std::move(job)));
    }
    return reply;
  }
  const auto named = parts.table->Find(request.job);
  if (!named.ok()) return named.status();
  reply.jobs.push_back(
      std::make_unique<msg::JobT>(parts.table->Message(*parts.table->Row(named->job))));
  if (request.applied) reply.jobs[0]->applied = parts.table->Row(named->job)->spec.applied;
  if (!shows_environment) return reply;
  auto environment = parts.table->EnvironmentOf(named->job);
  if (!environment.ok()) return environment.status();
  reply.jobs[0]->environment = bus::ViewOf(*std::move(environment), request.environment);
  return reply;
}

absl::StatusOr<msg::StopJobReplyT> StopJob(const Parts& parts,
                                           const msg::StopJobRequestT& request) {
  const auto named = parts.table->Find(request.job);
  if (!named.ok()) return named.status();
  const auto status = parts.table->Stop(*named, absl::Milliseconds(request.grace_ms),
                                        request.reason, request.yard_ends);
  if (!status.ok()) return status;
  return ReplyWithJob<msg::StopJobReplyT>(parts, named->job);
}

absl::StatusOr<msg::RestartJobReplyT> RestartJob(const Parts& parts,
                                                 const msg::RestartJobRequestT& request) {
  const auto named = parts.table->Find(request.job);
  if (!named.ok()) return named.status();
  const auto status = parts.table->Restart(*named, absl::Milliseconds(request.grace_ms));
  if (!status.ok()) return status;
  return ReplyWithJob<msg::RestartJobReplyT>(parts, named->job);
}

absl::StatusOr<msg::SignalJobReplyT> SignalJob(const Parts& parts,
                                               const msg::SignalJobRequestT& request) {
  const auto named = parts.table->Find(request.job);
  if (!named.ok()) return named.status();
  auto told = parts.table->Signal(*named, request.signal);
  if (!told.ok()) return told.status();
  msg::SignalJobReplyT reply;
  reply.tasks = *std::move(told);
  return reply;
}

void AddRemoveJob(const bus::LoopMethods& methods, const Parts& parts) {
  methods.Serve<rpc::Launcher::RemoveJob>([parts](auto writer, const auto& request) {
    const auto named = parts.table->Find(request.job);
    if (!named.ok()) return writer->Finish(named.status());
    parts.table->Remove(named->job, [writer](const absl::Status& removed) {
      if (!removed.ok()) return writer->Finish(removed);
      writer->Finish(msg::RemoveJobReplyT{});
    });
  });
}

void AddStreams(const bus::LoopMethods& methods, const Parts& parts) {
  methods.Serve<rpc::Launcher::WaitJob>([parts](auto writer, const auto& request) {
    const auto named = parts.table->Find(request.job);
    if (!named.ok()) return writer->Finish(named.status());
    StartWaitCall(parts.Context(), named->job, writer);
  });
  methods.Serve<rpc::Launcher::Logs>([parts](auto writer, const auto& request) {
    const auto named = parts.table->Find(request.job);
    if (!named.ok()) return writer->Finish(named.status());
    StartLogCall(parts.Context(), *named, request, writer);
  });
}

void AddBarrier(const bus::LoopMethods& methods, BarrierCalls* barriers) {
  methods.Serve<rpc::Launcher::Barrier>([barriers](auto writer, const auto& request) {
    const bus::CallContext& context = writer->context();
    const absl::Duration left =
        context.deadline - runtime::Clock::Real()->Monotonic() - kAnswerTime;
    barriers->Arrive(context.request_id, request, std::max(left, absl::Milliseconds(1)),
                     [writer](absl::StatusOr<int> place) {
                       if (!place.ok()) return writer->Finish(place.status());
                       msg::BarrierReplyT reply;
                       reply.index = static_cast<std::uint32_t>(*place);
                       writer->Finish(reply);
                     });
  });
}

// The parts of a search that are collected on the loop's thread.
struct SearchPlan {
  std::vector<SearchedStream> streams;
  std::map<std::string, std::unique_ptr<msg::SearchedJobT>> jobs;  // By id.
};

void AddToPlan(const Parts& parts, const JobRow& row, int task,
               const msg::SearchLogsRequestT& request, SearchPlan* plan) {
  const std::size_t before = plan->streams.size();
  AddSearchedStreams(row, task, parts.state_directory, request, &plan->streams);
  auto& job = plan->jobs[row.id];
  if (job != nullptr || plan->streams.size() == before) return;
  job = std::make_unique<msg::SearchedJobT>();
  job->id = row.id;
  job->name = row.spec.name;
  for (const auto& label : row.spec.labels) {
    job->labels.push_back(std::make_unique<msg::KeyValueT>(*label));
  }
}

absl::StatusOr<SearchPlan> PlanSearch(const Parts& parts, const msg::SearchLogsRequestT& request) {
  SearchPlan plan;
  if (request.jobs.empty()) {
    for (const JobRow* row : parts.table->Rows()) {
      AddToPlan(parts, *row, kWholeJob, request, &plan);
    }
    return plan;
  }
  std::set<std::pair<std::string, int>> wanted;
  for (const std::string& job : request.jobs) {
    const auto named = parts.table->Find(job);
    if (!named.ok()) return named.status();
    wanted.emplace(named->job, named->task);
  }
  for (const auto& [job, task] : wanted) {
    // (The task is skipped if its whole job is searched.)
    if (task != kWholeJob && wanted.contains({job, kWholeJob})) continue;
    AddToPlan(parts, *parts.table->Row(job), task, request, &plan);
  }
  return plan;
}

absl::StatusOr<msg::SearchLogsReplyT> Search(SearchPlan plan,
                                             const msg::SearchLogsRequestT& request,
                                             const std::function<bool()>& is_cancelled) {
  auto reply = SearchStreams(plan.streams, request, is_cancelled);
  if (!reply.ok()) return reply;
  std::set<std::string> found;
  for (const auto& line : reply->lines) found.insert(line->task.substr(0, line->task.find('/')));
  for (const std::string& job : found) reply->jobs.push_back(std::move(plan.jobs[job]));
  return reply;
}

// Adds SearchLogs, which runs on the pool after the plan is made. The number of concurrent searches
// is limited, since other calls need threads of the pool, too.
void AddSearch(const bus::LoopMethods& methods, const Parts& parts, runtime::ThreadPool* pool) {
  constexpr int kMostSearches = 2;
  methods.Serve<rpc::Launcher::SearchLogs>([parts, pool,
                                            under_way = std::make_shared<std::atomic<int>>(0)](
                                               auto writer, const auto& request) {
    auto plan = PlanSearch(parts, request);
    if (!plan.ok()) return writer->Finish(plan.status());
    if (*under_way >= kMostSearches) {
      return writer->Finish(absl::ResourceExhaustedError(
          absl::StrCat(kMostSearches, " searches of output are under way already")));
    }
    ++*under_way;
    const absl::Status submitted = pool->Submit(
        [writer, under_way, request, plan = std::make_shared<SearchPlan>(*std::move(plan))] {
          auto reply = Search(std::move(*plan), request, [&writer] { return writer->cancelled(); });
          --*under_way;
          writer->Finish(std::move(reply));
          return absl::OkStatus();
        });
    if (submitted.ok()) return;
    --*under_way;
    writer->Finish(submitted);
  });
}

}  // namespace

void AddLauncherMethods(bus::Service* service, runtime::EventLoop* loop, runtime::ThreadPool* pool,
                        JobTable* table, BarrierCalls* barriers, ServiceKeeper* keeper,
                        bus::AlertStore* alerts, Notifier* notifier, NodeCalls* nodes,
                        UsageCalls* usage, std::string state_directory) {
  const Parts parts{loop, table, keeper, std::move(state_directory),
                    std::make_shared<FollowPace>(loop)};
  const bus::LoopMethods methods(service, loop);
  methods.Answer<rpc::Launcher::Launch>([parts](const auto& context, auto request) {
    return Launch(parts, context, std::move(request));
  });
  methods.Answer<rpc::Launcher::Jobs>(
      [parts](const auto&, auto request) { return Jobs(parts, request); });
  methods.Answer<rpc::Launcher::StopJob>(
      [parts](const auto&, auto request) { return StopJob(parts, request); });
  methods.Answer<rpc::Launcher::RestartJob>(
      [parts](const auto&, auto request) { return RestartJob(parts, request); });
  methods.Answer<rpc::Launcher::SignalJob>(
      [parts](const auto&, auto request) { return SignalJob(parts, request); });
  methods.Answer<rpc::Launcher::Services>([parts](const auto&, auto) {
    msg::ServicesReplyT reply;
    for (auto& kept : parts.keeper->Services()) {
      reply.services.push_back(std::make_unique<msg::SupervisedServiceT>(std::move(kept)));
    }
    return absl::StatusOr<msg::ServicesReplyT>(std::move(reply));
  });
  methods.Answer<rpc::Common::Names>([parts](const auto&, const auto& request) {
    bus::NameList names(request);
    ListNames(parts.table->Rows(), names);
    return absl::StatusOr<msg::NamesReplyT>(names.Take());
  });
  methods.Answer<rpc::Common::Ends>([parts, alerts](const auto&, const auto& request) {
    if (bus::IsForAlerts(request)) return alerts->Ends(request);
    return absl::StatusOr<msg::EndsReplyT>(EndsOfLogs(parts.Logs(), request));
  });
  methods.Answer<rpc::Common::Since>([parts, alerts](const auto&, const auto& request) {
    if (bus::IsForAlerts(request)) return alerts->Since(request);
    return absl::StatusOr<msg::SinceReplyT>(LogsSince(parts.Logs(), request));
  });
  methods.Answer<rpc::Launcher::Notify>([notifier](const auto&, const auto& request) {
    if (request.alert == nullptr || request.alert->id.empty()) {
      return absl::StatusOr<msg::NotifyReplyT>(absl::InvalidArgumentError("alert is missing"));
    }
    const absl::Status accepted = notifier->Accept(*request.alert);
    if (!accepted.ok()) return absl::StatusOr<msg::NotifyReplyT>(accepted);
    return absl::StatusOr<msg::NotifyReplyT>(msg::NotifyReplyT());
  });
  methods.Answer<rpc::Launcher::Nodes>([nodes](const auto&, const auto& request) {
    return absl::StatusOr<msg::NodesReplyT>(nodes->List(request));
  });
  methods.Answer<rpc::Launcher::SetNode>(
      [nodes](const auto&, const auto& request) { return nodes->Set(request); });
  methods.Answer<rpc::Launcher::RemoveNode>(
      [nodes](const auto&, const auto& request) { return nodes->Remove(request); });
  // Runs on the service's pool, because it blocks for some time.
  service->Handle<rpc::Launcher::KillModes>(
      [report = std::make_shared<KillModeReport>()](
          const bus::CallContext&, const auto&) -> absl::StatusOr<msg::KillModesReplyT> {
        return report->Get();
      });
  AddRemoveJob(methods, parts);
  AddStreams(methods, parts);
  AddBarrier(methods, barriers);
  methods.Serve<rpc::Launcher::Usage>([usage](auto writer, const auto& request) {
    usage->Ask(request.job, [writer](absl::StatusOr<msg::UsageReplyT> reply) {
      if (!reply.ok()) return writer->Finish(reply.status());
      writer->Finish(*std::move(reply));
    });
  });
  AddSearch(methods, parts, pool);
}

void PublishJob(bus::Publisher* publisher, msg::JobT job) {
  const std::string topic = bus::TopicOf({"s", "launcher", job.id});
  msg::JobEventT event;
  event.job = std::make_unique<msg::JobT>(std::move(job));
  const auto status = publisher->Publish(topic, std::move(event));
  if (!status.ok()) LOG(WARNING) << status;
}

void PublishLines(bus::Publisher* publisher, const std::string& job, std::uint64_t from,
                  msg::LogLinesT lines) {
  const std::string topic = TopicOfLogs(job, lines.task.substr(job.size() + 1));
  const auto status = publisher->PublishEnvelope(topic, EnvelopeOf(from, std::move(lines)));
  if (!status.ok()) LOG(WARNING) << status;
}

}  // namespace launcher
