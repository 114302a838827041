#include "web/api/answers.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/json/alert_json.h"
#include "bus/json/run_json.h"
#include "bus/json/trial_and_job_json.h"
#include "bus/json/usage_json.h"
#include "bus/schema/common_methods.h"
#include "bus/schema/datamanager_methods.h"
#include "bus/schema/launcher_methods.h"
#include "bus/schema/registry_methods.h"
#include "bus/schema/trainer_methods.h"
#include "bus/wire/version.h"
#include "web/api/log_page.h"

namespace web {
namespace {

using nlohmann::json;

// A user may load a page while a service restarts; after this the page reports the service as
// missing.
constexpr absl::Duration kPatience = absl::Seconds(10);
constexpr std::uint32_t kFailuresLookedAt = 200;
constexpr std::uint32_t kRunsOfTrials = 500;
constexpr std::uint32_t kAlertsShown = 50;
constexpr std::size_t kFirstLogLines = 50;

template <typename M>
absl::StatusOr<typename M::ReplyT> Call(bus::Client& client, const typename M::RequestT& request) {
  return client.Call<M>(request, {.timeout = kPatience});
}

void Miss(json& text, const char* service) {
  json& missing = text["missing"];
  if (std::find(missing.begin(), missing.end(), service) == missing.end()) {
    missing.push_back(service);
  }
}

json LeaseToJson(const msg::LeaseT& lease) {
  return {{"name", lease.name},
          {"instance", lease.instance},
          {"state", bus::StateName(lease.state)},
          {"pid", bus::PidToJson(lease.process != nullptr ? lease.process->pid : 0)},
          {"since", bus::TimeToJson(lease.registered_us)},
          {"version", lease.version},
          {"restarts", 0}};
}

// Adds the launcher's facts about the services that it supervises. A service without a lease is
// added with its state.
void AddKeptServices(bus::Client& client, json& text, json& services) {
  const auto kept = Call<rpc::Launcher::Services>(client, {});
  if (!kept.ok()) return Miss(text, "launcher");
  for (const auto& service : kept->services) {
    const auto known = std::find_if(services.begin(), services.end(), [&](const json& one) {
      return one["name"] == service->name && one["instance"] == "0";
    });
    if (known != services.end()) {
      (*known)["restarts"] = service->restarts;
      continue;
    }
    services.push_back({{"name", service->name},
                        {"instance", "0"},
                        {"state", service->pid == 0 ? "down" : "starting"},
                        {"pid", bus::PidToJson(service->pid)},
                        {"since", bus::TimeToJson(service->started_us)},
                        {"restarts", service->restarts},
                        {"reason", service->reason}});
  }
}

void AddServices(bus::Client& client, json& text) {
  json services = json::array();
  if (const auto leases = Call<rpc::Registry::List>(client, {}); leases.ok()) {
    for (const auto& lease : leases->leases) services.push_back(LeaseToJson(*lease));
  } else {
    Miss(text, "registry");
  }
  AddKeptServices(client, text, services);
  text["services"] = std::move(services);
}

std::map<std::string, json> RunsByTrial(bus::Client& client) {
  std::map<std::string, json> runs;
  msg::RunsRequestT request;
  request.limit = kRunsOfTrials;
  const auto page = Call<rpc::Datamanager::Runs>(client, request);
  if (!page.ok()) return runs;
  for (const auto& run : page->runs) {
    if (!run->trial.empty()) runs.emplace(run->trial, bus::RunToJson(*run));
  }
  return runs;
}

// Returns a row of the list of trials. Omits argv and error lines, which the page requests for a
// single trial only.
json TrialRow(const msg::TrialT& trial, const std::map<std::string, json>& runs) {
  json row = bus::ToJson(trial);
  for (const char* long_one : {"argv", "error_lines"}) row.erase(long_one);
  const auto run = runs.find(trial.id);
  row["run"] = run == runs.end() ? json() : run->second["run"];
  row["updated"] = run == runs.end() ? json() : run->second["updated"];
  row["last_step"] = run == runs.end() ? json() : run->second["last_step"];
  return row;
}

void AddTrials(bus::Client& client, json& text) {
  msg::TrialsRequestT request;
  request.newest_ended = kFailuresLookedAt;
  const auto trials = Call<rpc::Trainer::Trials>(client, request);
  if (!trials.ok()) return Miss(text, "trainer");
  const auto runs = RunsByTrial(client);
  json live = json::array(), failed = json::array();
  for (const auto& trial : trials->trials) {
    const bool has_ended =
        trial->state >= msg::TrialState::Done && trial->state != msg::TrialState::Paused;
    if (!has_ended) live.push_back(TrialRow(*trial, runs));
    if (trial->state == msg::TrialState::Failed) failed.push_back(TrialRow(*trial, runs));
  }
  text["live"] = std::move(live);
  text["failed"] = std::move(failed);
}

// Adds the unacknowledged alerts, newest first. Older services have no alerts.
void AddAlerts(bus::Client& client, json& text) {
  std::vector<std::unique_ptr<msg::AlertT>> alerts;
  std::uint64_t unacknowledged = 0;
  msg::AlertsRequestT request;
  request.unacknowledged_only = true;
  request.limit = kAlertsShown;
  for (const char* const owner : {"trainer", "launcher"}) {
    auto reply =
        client.Call<rpc::Common::Alerts>(request, {.timeout = kPatience, .service = owner});
    if (!reply.ok()) {
      if (!absl::IsUnimplemented(reply.status())) Miss(text, owner);
      continue;
    }
    unacknowledged += reply->unacknowledged;
    for (auto& alert : reply->alerts) alerts.push_back(std::move(alert));
  }
  std::stable_sort(alerts.begin(), alerts.end(),
                   [](const auto& a, const auto& b) { return a->time_us > b->time_us; });
  json rows = json::array();
  for (const auto& alert : alerts) {
    rows.push_back(bus::ToJson(*alert));
    rows.back().erase("lines");
  }
  text["alerts"] = std::move(rows);
  text["unacknowledged"] = unacknowledged;
}

void AddData(bus::Client& client, json& text) {
  const auto data = Call<rpc::Datamanager::DataStatus>(client, {});
  if (!data.ok()) return Miss(text, "datamanager");
  text["data"] = {{"logdir", data->logdir},           {"runs", data->runs},
                  {"counted", data->counted},         {"read_bytes", data->read_bytes},
                  {"total_bytes", data->total_bytes}, {"cached_bytes", data->cached_bytes},
                  {"scan_error", data->scan_error}};
  struct statvfs disk = {};
  if (statvfs(data->logdir.c_str(), &disk) == 0) {
    text["disk"] = {{"free", disk.f_bavail * disk.f_frsize},
                    {"total", disk.f_blocks * disk.f_frsize}};
  }
}

json ValueOf(const std::string& text) {
  json value = json::parse(text, nullptr, /*allow_exceptions=*/false);
  return value.is_discarded() ? json(text) : value;
}

// Returns the run that a trial wrote.
absl::StatusOr<msg::RunT> RunOfTrial(bus::Client& client, const std::string& trial) {
  msg::RunsRequestT request;
  do {
    auto page = Call<rpc::Datamanager::Runs>(client, request);
    if (!page.ok()) return page.status();
    for (auto& run : page->runs) {
      if (run->trial == trial) return std::move(*run);
    }
    request.after = page->next;
  } while (!request.after.empty());
  return absl::NotFoundError(absl::StrCat("no run ", trial));
}

absl::StatusOr<msg::RunT> FindRun(bus::Client& client, const std::string& name) {
  msg::RunsRequestT request;
  request.run = name;
  auto reply = Call<rpc::Datamanager::Runs>(client, request);
  if (absl::IsNotFound(reply.status()) && name.starts_with("t-")) return RunOfTrial(client, name);
  if (!reply.ok()) return reply.status();
  for (auto& run : reply->runs) {
    if (run->name == name || run->trial == name) return std::move(*run);
  }
  if (reply->runs.size() == 1) return std::move(*reply->runs.front());
  return absl::NotFoundError(absl::StrCat("no run ", name));
}

absl::Status AddParameters(bus::Client& client, const std::string& run, json& text) {
  msg::HParamsRequestT request;
  request.selection = std::make_unique<msg::SelectionT>();
  request.selection->runs = {run};
  const auto reply = Call<rpc::Datamanager::HParams>(client, request);
  if (!reply.ok()) return reply.status();
  json parameters = json::object();
  for (const auto& source : reply->runs) {
    for (const auto& one : source->hparams) {
      if (!parameters.contains(one->key)) parameters[one->key] = ValueOf(one->value);
    }
  }
  text["parameters"] = std::move(parameters);
  return absl::OkStatus();
}

void AddFiles(bus::Client& client, const std::string& run, json& text) {
  msg::FilesRequestT request;
  request.run = run;
  const auto reply = Call<rpc::Datamanager::Files>(client, request);
  if (!reply.ok()) return;
  json files = json::array();
  for (const auto& file : reply->files) files.push_back(bus::FileToJson(run, *file));
  text["files"] = std::move(files);
  text["faults"] = bus::FaultsToJson(reply->faults);
}

void AddJob(bus::Client& client, const std::string& job, json& text) {
  if (job.empty()) return;
  msg::JobsRequestT request;
  request.job = job;
  const auto reply = Call<rpc::Launcher::Jobs>(client, request);
  if (!reply.ok()) {
    if (absl::IsUnavailable(reply.status())) Miss(text, "launcher");
    return;
  }
  if (!reply->jobs.empty()) text["job"] = bus::ToJson(*reply->jobs.front());
}

absl::Status AddTrial(bus::Client& client, const std::string& id, json& text) {
  msg::TrialDetailsRequestT request;
  request.trial = id;
  request.log_lines = kFirstLogLines;
  request.environment = msg::EnvironmentView::Names;
  const auto details = Call<rpc::Trainer::TrialDetails>(client, request);
  if (!details.ok()) return details.status();
  if (details->trial == nullptr) return absl::NotFoundError(absl::StrCat("no trial ", id));
  text["trial"] = bus::ToJson(*details->trial);
  text["checkpoints"] = json::array();
  for (const auto& one : details->checkpoints) text["checkpoints"].push_back(bus::ToJson(*one));
  text["statistics"] = json::object();
  for (const auto& one : details->statistics) text["statistics"][one->name] = bus::ToJson(*one);
  text["log"] = json::array();
  for (const auto& said : details->log) {
    text["log"].push_back({{"time", bus::TimeToJson(said->time_us)}, {"text", said->text}});
  }
  text["environment"] = details->environment;
  text["max_restarts"] = details->max_restarts;
  text["seed"] = details->seed;
  if (details->options != nullptr) {
    text["provenance"] = bus::MetricsToJson(details->options->provenance);
    text["diff"] = details->options->provenance_diff;
    text["from"] = bus::TextOrNull(details->options->from);
    text["restore"] = bus::TextOrNull(details->options->restore);
    text["sweep"] = bus::TextOrNull(details->options->sweep);
  }
  AddJob(client, details->trial->job, text);
  return absl::OkStatus();
}

// Answers for a trial that has no run yet, because its first attempt has not begun.
absl::StatusOr<json> TrialWithoutRun(bus::Client& client, const std::string& name,
                                     const absl::Status& why) {
  json text = {{"run", nullptr}};
  const absl::Status added = AddTrial(client, name, text);
  if (added.ok()) return text;
  return absl::IsUnavailable(why) ? why : absl::NotFoundError(absl::StrCat("no run ", name));
}

// Returns the job that wrote the output, with the task if one is named.
absl::StatusOr<std::string> JobOf(bus::Client& client, const std::string& thing) {
  msg::JobsRequestT as_job;
  as_job.job = thing.substr(0, thing.find('/'));
  const auto jobs = Call<rpc::Launcher::Jobs>(client, as_job);
  if (jobs.ok() && jobs->jobs.size() == 1) return thing;
  if (absl::IsUnavailable(jobs.status())) return jobs.status();
  std::string trial = thing;
  if (const auto run = FindRun(client, thing); run.ok()) {
    if (run->trial.empty()) {
      return absl::NotFoundError(absl::StrCat("no trial of this yard has written the run ", thing,
                                              ": its output is not "
                                              "known"));
    }
    trial = run->trial;
  }
  msg::TrialsRequestT as_trial;
  as_trial.trial = trial;
  const auto trials = Call<rpc::Trainer::Trials>(client, as_trial);
  if (!trials.ok()) return trials.status();
  if (trials->trials.size() != 1) return absl::NotFoundError(absl::StrCat("no run ", thing));
  if (trials->trials.front()->attached_pid != 0) {
    return absl::NotFoundError(absl::StrCat("the output of ", thing, " is not kept: its program, ",
                                            "process ", trials->trials.front()->attached_pid,
                                            ", has attached itself"));
  }
  if (trials->trials.front()->job.empty()) {
    return absl::NotFoundError(absl::StrCat(thing, " has not been started yet"));
  }
  return trials->trials.front()->job;
}

}  // namespace

absl::StatusOr<json> YardAnswer(bus::Client& client) {
  json text = {{"version", std::string(bus::kVersion)}};
  AddServices(client, text);
  AddTrials(client, text);
  AddAlerts(client, text);
  AddData(client, text);
  return text;
}

absl::StatusOr<json> UsageAnswer(bus::Client& client) {
  const auto usage = Call<rpc::Launcher::Usage>(client, {});
  if (!usage.ok()) return usage.status();
  return bus::ToJson(*usage);
}

absl::StatusOr<json> RunAnswer(bus::Client& client, const std::string& name) {
  const auto run = FindRun(client, name);
  if (!run.ok()) return TrialWithoutRun(client, name, run.status());
  json text = bus::RunToJson(*run);
  if (auto added = AddParameters(client, run->name, text); !added.ok()) return added;
  AddFiles(client, run->name, text);
  if (!run->trial.empty()) {
    // The trainer drops old trials, whose runs stay on disk.
    const std::string trial = run->trial;
    json with_trial = text;
    const absl::Status added = AddTrial(client, trial, with_trial);
    if (added.ok()) {
      with_trial["trial_id"] = trial;
      return with_trial;
    }
    if (absl::IsUnavailable(added)) Miss(text, "trainer");
    text["trial_id"] = trial;
    text["trial"] = nullptr;
  }
  return text;
}

absl::StatusOr<json> TagsAnswer(bus::Client& client, const std::string& run) {
  msg::TagsRequestT request;
  request.run = run;
  json tags = json::array();
  std::string name;
  bool incomplete = false;
  do {
    const auto page = Call<rpc::Datamanager::Tags>(client, request);
    if (!page.ok()) return page.status();
    name = page->run;
    incomplete = page->incomplete;
    for (const auto& tag : page->tags) {
      json row = bus::TagToJson(page->run, *tag);
      row["scalar"] = bus::IsScalar(*tag);
      row["not_finite"] = tag->not_finite;
      row["display_name"] = tag->display_name;
      row["description"] = tag->description;
      tags.push_back(std::move(row));
    }
    request.after = page->next;
  } while (!request.after.empty());
  return json{{"run", name}, {"incomplete", incomplete}, {"tags", std::move(tags)}};
}

absl::StatusOr<json> TrialsAnswer(bus::Client& client, std::uint32_t newest_ended) {
  msg::TrialsRequestT request;
  request.live_only = newest_ended == 0;
  request.newest_ended = newest_ended;
  const auto trials = Call<rpc::Trainer::Trials>(client, request);
  if (!trials.ok()) return trials.status();
  json rows = json::array();
  for (const auto& trial : trials->trials) rows.push_back(bus::ToJson(*trial));
  return json{{"trials", std::move(rows)}};
}

absl::StatusOr<json> JobsAnswer(bus::Client& client, std::uint32_t newest_ended) {
  msg::JobsRequestT request;
  request.live_only = newest_ended == 0;
  request.newest_ended = newest_ended;
  auto reply = Call<rpc::Launcher::Jobs>(client, request);
  if (!reply.ok()) return reply.status();
  std::stable_sort(reply->jobs.begin(), reply->jobs.end(),
                   [](const auto& a, const auto& b) { return a->created_us > b->created_us; });
  json jobs = json::array();
  for (const auto& job : reply->jobs) jobs.push_back(bus::ToJson(*job));
  return json{{"jobs", std::move(jobs)}};
}

absl::StatusOr<json> JobAnswer(bus::Client& client, const std::string& job) {
  msg::JobsRequestT request;
  request.job = job;
  const auto reply = Call<rpc::Launcher::Jobs>(client, request);
  if (!reply.ok()) return reply.status();
  if (reply->jobs.size() != 1) return absl::NotFoundError(absl::StrCat("there is no job ", job));
  return bus::ToJson(*reply->jobs.front());
}

absl::StatusOr<json> LogsAnswer(bus::Client& client, const LogsQuestion& question) {
  auto job = JobOf(client, question.thing);
  if (!job.ok()) return job.status();
  if (!question.task.empty() && !absl::StrContains(*job, "/")) {
    absl::StrAppend(&*job, "/", question.task);
  }
  const std::size_t limit = std::min(question.limit, kMostLogLines);
  msg::LogsRequestT request;
  request.job = *job;
  request.errors_only = question.errors_only;
  // Without a search, the launcher sends only the lines that are shown.
  request.last_lines = question.find.empty() ? static_cast<std::int32_t>(limit) : -1;
  LogPage page({.find = question.find, .limit = limit});
  const auto take = [&](const msg::LogsReplyT& part) {
    page.Add(part);
    return true;
  };
  const auto end = client.Stream<rpc::Launcher::Logs>(request, take, {.timeout = kPatience});
  if (!end.ok()) return end.status();
  if (!end->data.empty()) take(*end);
  json text = page.Finish();
  text["job"] = job->substr(0, job->find('/'));
  return text;
}

}  // namespace web
