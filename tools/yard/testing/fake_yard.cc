#include "tools/yard/testing/fake_yard.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "bus/event/hub_service.h"
#include "bus/schema/common_methods.h"
#include "bus/schema/registry_methods.h"
#include "bus/schema/trainer_methods.h"
#include "bus/wire/version.h"
#include "glog/logging.h"
#include "runtime/file/file.h"
#include "tools/yard/cli/verb.h"
#include "tools/yard/command_line.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/services/service_start.h"
#include "tools/yard/testing/lookup.h"

namespace yard {
namespace {

using runtime::MutexLock;

constexpr std::int64_t kSomeTime = 1'700'000'000'000'000;

// The directory is short because a socket's path may have at most 107 bytes.
std::string ShortDirectory() {
  char name[] = "/tmp/yard-XXXXXX";
  CHECK(mkdtemp(name) != nullptr);
  return name;
}

const auto kTrialOf = [](const auto& held) -> const msg::TrialT& { return held.trial; };
constexpr char kNoTrial[] = "no trial is called ";

std::unique_ptr<msg::LeaseT> LeaseOf(const runtime::Locations& locations,
                                     const std::string& service) {
  auto lease = std::make_unique<msg::LeaseT>();
  lease->id = 1;
  lease->name = service;
  lease->instance = "0";
  lease->endpoints = {locations.ServiceAddress(service)};
  lease->process = std::make_unique<msg::ProcessIdentityT>();
  lease->process->pid = getpid();
  lease->registered_us = kSomeTime;
  return lease;
}

}  // namespace

FakeYard::FakeYard() : directory_(ShortDirectory()) {
  context_.node = [this] { return CallerNode(); };
  context_.client = [this] { return CallerClient(); };
  context_.locations = {.runtime_directory = directory_,
                        .state_directory = directory_ + "/state",
                        .registry_address = "ipc://" + directory_ + "/registry"};
  context_.working_directory = directory_;
  context_.environment = {"PATH=/usr/bin:/bin", "HOME=/nowhere"};
  context_.interrupt = new Interrupt([] {});
  CHECK(runtime::MakePrivateDirectory(context_.locations.state_directory).ok());
  pool_ = runtime::ThreadPool::Create(&coordinator_, {.name = "fake", .threads = 4});
}

FakeYard::~FakeYard() {
  client_.reset();
  caller_node_.reset();
  {
    MutexLock lock(mutex_);
    held_.clear();
  }
  services_.clear();
  hub_.reset();
  (void)coordinator_.RequestStop();
  pool_.reset();
  node_.reset();
  delete context_.interrupt;
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

void FakeYard::AddTrial(const std::string& id, const std::string& name, msg::TrialState state) {
  MutexLock lock(mutex_);
  Held held;
  held.trial.id = id;
  held.trial.name = name;
  held.trial.state = state;
  held.trial.argv = {"train", "--lr", "0.1"};
  held.trial.log_directory = directory_ + "/runs/" + name;
  held.trial.attempt = 1;
  held.trial.created_us = kSomeTime;
  trials_.push_back(std::move(held));
}

void FakeYard::AddReport(const std::string& trial, const std::string& metrics) {
  MutexLock lock(mutex_);
  for (Held& held : trials_) {
    if (held.trial.id != trial) continue;
    msg::ResultRowT row;
    row.row = held.rows.size() + 1;
    row.step = row.training_iteration = static_cast<std::int64_t>(row.row);
    row.wall_time_us = kSomeTime;
    row.metrics = metrics;
    held.rows.push_back(row);
    held.trial.reports = row.row;
    held.trial.last_metrics = metrics;
  }
}

void FakeYard::SetDetails(const std::string& trial, msg::TrialDetailsReplyT details) {
  MutexLock lock(mutex_);
  for (Held& held : trials_) {
    if (held.trial.id == trial) held.details = details;
  }
}

void FakeYard::FailTrial(const std::string& trial, const std::string& reason,
                         std::vector<std::string> error_lines) {
  MutexLock lock(mutex_);
  for (Held& held : trials_) {
    if (held.trial.id != trial) continue;
    held.trial.state = msg::TrialState::Failed;
    held.trial.reason = reason;
    held.trial.error_lines = error_lines;
  }
}

msg::RunTrialRequestT FakeYard::last_run() {
  MutexLock lock(mutex_);
  return last_run_;
}

std::size_t FakeYard::listed() {
  MutexLock lock(mutex_);
  return listed_;
}

std::vector<absl::Duration> FakeYard::names_waits() {
  MutexLock lock(mutex_);
  return names_waits_;
}

std::vector<std::string> FakeYard::stopped() {
  MutexLock lock(mutex_);
  return stopped_;
}

absl::Status FakeYard::Check(const std::string& service) const {
  const auto found = broken_.find(service);
  return found == broken_.end() ? absl::OkStatus() : found->second;
}

bool FakeYard::IsLeftOut(const std::string& service) const {
  return std::find(left_out_.begin(), left_out_.end(), service) != left_out_.end();
}

bus::Service& FakeYard::Serve(const std::string& name) {
  auto lock = runtime::LockFile(context_.locations.LockPath(name));
  CHECK(lock.ok()) << lock.status();
  locks_.push_back(*std::move(lock));
  auto& service = services_[name];
  service = std::make_unique<bus::Service>(
      node_.get(),
      bus::Service::Options{
          .name = name, .endpoint = context_.locations.ServiceAddress(name), .pool = pool_.get()});
  msg::StatsReplyT stats;
  stats.service = name;
  stats.version = std::string(bus::kVersion);
  if (const auto set = stats_.find(name); set != stats_.end()) stats = std::move(set->second);
  if (name == silent_) {
    service->HandleAsync<rpc::Common::Stats>([this](auto writer, const auto&) {
      MutexLock lock(mutex_);
      held_.push_back([writer](const absl::Status& status) { writer->Finish(status); });
    });
  } else {
    service->Handle<rpc::Common::Stats>(
        [this, name, stats](const bus::CallContext&,
                            const auto&) -> absl::StatusOr<msg::StatsReplyT> {
          if (absl::Status broken = Check(name); !broken.ok()) return broken;
          return stats;
        });
  }
  if (const auto names = names_.find(name); names != names_.end()) {
    service->Handle<rpc::Common::Names>(
        [this, names](const bus::CallContext& call, const msg::NamesRequestT& request) {
          {
            MutexLock lock(mutex_);
            names_waits_.push_back(call.deadline - node_->clock()->Monotonic());
          }
          msg::NamesReplyT reply;
          for (const std::string& text : names->second) {
            auto known = std::make_unique<msg::NameT>();
            known->name = text;
            known->kind = request.kind;
            reply.names.push_back(std::move(known));
          }
          return absl::StatusOr<msg::NamesReplyT>(std::move(reply));
        });
  }
  return *service;
}

void FakeYard::Start() {
  auto node = bus::Node::Create({.name = "registry", .locations = context_.locations});
  CHECK(node.ok()) << node.status();
  node_ = *std::move(node);
  auto hub = bus::Hub::Create(node_.get(), bus::Hub::DefaultAddresses(context_.locations));
  CHECK(hub.ok()) << hub.status();
  hub_ = *std::move(hub);
  if (!IsLeftOut("registry")) ServeRegistry();
  if (!IsLeftOut("launcher")) ServeLauncher();
  if (!IsLeftOut("trainer")) ServeTrainer();
  if (!IsLeftOut("datamanager")) ServeDatamanager();
  if (!IsLeftOut("web")) Serve("web");
  for (auto& [name, service] : services_) CHECK(service->Start().ok()) << name;
}

void FakeYard::ServeRegistry() {
  using rpc::Registry;
  bus::Service& service = Serve("registry");
  service.Handle<Registry::Lookup>([this](const bus::CallContext&, const auto& request) {
    msg::LookupReplyT reply;
    if (services_.count(request.name) > 0) {
      reply.leases.push_back(LeaseOf(context_.locations, request.name));
    }
    return reply;
  });
  service.Handle<Registry::List>(
      [this](const bus::CallContext&, const auto&) -> absl::StatusOr<msg::ListReplyT> {
        if (absl::Status broken = Check("registry"); !broken.ok()) return broken;
        msg::ListReplyT reply;
        for (const auto& [name, unused] : services_) {
          if (std::count(unregistered_.begin(), unregistered_.end(), name) > 0) continue;
          reply.leases.push_back(LeaseOf(context_.locations, name));
        }
        return reply;
      });
  bus::AddHubMethods(&service, hub_.get(), node_->clock());
}

template <typename Reply>
absl::StatusOr<Reply> FakeYard::Changed(const std::string& verb, const std::string& trial,
                                        std::optional<msg::TrialState> state,
                                        const std::string& refusal) {
  MutexLock lock(mutex_);
  const auto found = FindThingIn(trials_, trial, kTrialOf, kNoTrial);
  if (!found.ok()) return found.status();
  msg::TrialT& held = trials_[*found].trial;
  if (held.state == msg::TrialState::Done && !refusal.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("cannot ", absl::Substitute(refusal, held.id),
                                                      ": it has ended (",
                                                      msg::EnumNameTrialState(held.state), ")"));
  }
  asked_.push_back(absl::StrCat(verb, " ", held.id));
  if (state) held.state = *state;
  Reply reply;
  reply.trial = std::make_unique<msg::TrialT>(held);
  return reply;
}

void FakeYard::ServeTrainer() {
  using rpc::Trainer;
  bus::Service& service = Serve("trainer");
  service.Handle<Trainer::RunTrial>(
      [this](const bus::CallContext&, const auto& request) -> absl::StatusOr<msg::RunTrialReplyT> {
        if (absl::Status broken = Check("trainer"); !broken.ok()) return broken;
        MutexLock lock(mutex_);
        last_run_ = request;
        if (trials_.empty()) return absl::InternalError("the test has no trial to run");
        msg::RunTrialReplyT reply;
        reply.trial = std::make_unique<msg::TrialT>(trials_.front().trial);
        return reply;
      });
  service.Handle<Trainer::Trials>(
      [this](const bus::CallContext&, const auto& request) -> absl::StatusOr<msg::TrialsReplyT> {
        if (absl::Status broken = Check("trainer"); !broken.ok()) return broken;
        MutexLock lock(mutex_);
        msg::TrialsReplyT reply;
        if (request.trial.empty()) {
          std::vector<const msg::TrialT*> all;
          for (const Held& held : trials_) all.push_back(&held.trial);
          reply.trials = ListedOf(all, request);
          listed_ += reply.trials.size();
          return reply;
        }
        const auto found = FindThingIn(trials_, request.trial, kTrialOf, kNoTrial);
        if (!found.ok()) return found.status();
        reply.trials.push_back(std::make_unique<msg::TrialT>(trials_[*found].trial));
        return reply;
      });
  service.Handle<Trainer::StopTrial>(
      [this](const bus::CallContext&, const auto& request) -> absl::StatusOr<msg::StopTrialReplyT> {
        MutexLock lock(mutex_);
        const auto found = FindThingIn(trials_, request.trial, kTrialOf, kNoTrial);
        if (!found.ok()) return found.status();
        stopped_.push_back(trials_[*found].trial.id);
        trials_[*found].trial.state = msg::TrialState::Stopped;
        trials_[*found].trial.ended_us = kSomeTime + static_cast<std::int64_t>(stopped_.size());
        return msg::StopTrialReplyT();
      });
  service.Handle<Trainer::PauseTrial>(
      [this](const bus::CallContext&,
             const auto& request) -> absl::StatusOr<msg::PauseTrialReplyT> {
        return Changed<msg::PauseTrialReplyT>("pause", request.trial, msg::TrialState::Paused,
                                              "pause trial $0");
      });
  service.Handle<Trainer::ResumeTrial>(
      [this](const bus::CallContext&,
             const auto& request) -> absl::StatusOr<msg::ResumeTrialReplyT> {
        return Changed<msg::ResumeTrialReplyT>("resume", request.trial, msg::TrialState::Pending,
                                               "resume trial $0");
      });
  service.Handle<Trainer::RemoveTrial>(
      [this](const bus::CallContext&,
             const auto& request) -> absl::StatusOr<msg::RemoveTrialReplyT> {
        auto reply = Changed<msg::RemoveTrialReplyT>("remove", request.trial, std::nullopt);
        if (!reply.ok()) return reply;
        reply->trial->log_directory = absl::StrCat(logdir(), "/.trash/", reply->trial->id);
        MutexLock lock(mutex_);
        std::erase_if(trials_, [&](const Held& held) { return held.trial.id == reply->trial->id; });
        return reply;
      });
  service.Handle<Trainer::TellTrial>(
      [this](const bus::CallContext&, const auto& request) -> absl::StatusOr<msg::TellTrialReplyT> {
        auto reply = Changed<msg::TellTrialReplyT>("tell " + request.event + " to", request.trial,
                                                   std::nullopt, "tell trial $0 anything");
        if (reply.ok()) reply->number = 7;
        return reply;
      });
  service.Handle<Trainer::TrialDetails>(
      [this](const bus::CallContext&,
             const auto& request) -> absl::StatusOr<msg::TrialDetailsReplyT> {
        MutexLock lock(mutex_);
        const auto found = FindThingIn(trials_, request.trial, kTrialOf, kNoTrial);
        if (!found.ok()) return found.status();
        msg::TrialDetailsReplyT reply = trials_[*found].details;
        reply.trial = std::make_unique<msg::TrialT>(trials_[*found].trial);
        if (request.log_lines < reply.log.size()) {
          reply.log.erase(reply.log.begin(), reply.log.end() - request.log_lines);
        }
        return reply;
      });
  ServeSweeps(&service);
  service.HandleAsync<Trainer::FollowTrial>([this](auto writer, const auto& request) {
    MutexLock lock(mutex_);
    const auto found = FindThingIn(trials_, request.trial, kTrialOf, kNoTrial);
    if (!found.ok()) return writer->Finish(found.status());
    Held& held = trials_[*found];
    if (held.trial.state == msg::TrialState::Paused) {
      msg::FollowTrialReplyT part;
      part.trial = std::make_unique<msg::TrialT>(held.trial);
      (void)writer->SendPart(std::move(part));
      return writer->Finish(absl::UnavailableError("a paused trial goes on some day"));
    }
    for (const auto& row : held.rows) {
      if (row.row <= request.from_row) continue;
      msg::FollowTrialReplyT part;
      part.trial = std::make_unique<msg::TrialT>(held.trial);
      part.rows.push_back(std::make_unique<msg::ResultRowT>(row));
      (void)writer->SendPart(std::move(part));
    }
    if (request.follow && !HasEnded(held.trial.state)) held.trial.state = msg::TrialState::Done;
    msg::FollowTrialReplyT end;
    end.trial = std::make_unique<msg::TrialT>(held.trial);
    writer->Finish(std::move(end));
  });
}

absl::StatusOr<bus::Node*> FakeYard::CallerNode() {
  MutexLock lock(caller_mutex_);
  if (caller_node_ == nullptr) {
    auto node = bus::Node::Create({.name = "yard", .locations = context_.locations});
    if (!node.ok()) return node.status();
    caller_node_ = *std::move(node);
  }
  return caller_node_.get();
}

absl::StatusOr<bus::Client*> FakeYard::CallerClient() {
  auto node = CallerNode();
  if (!node.ok()) return node.status();
  MutexLock lock(caller_mutex_);
  if (client_ == nullptr) client_ = std::make_unique<bus::Client>(*node);
  return client_.get();
}

FakeYard::Output FakeYard::Run(std::vector<std::string> words) {
  std::ostringstream out, err;
  CommandLine line;
  Output output;
  output.code = ParseCommandLine(std::move(words), out, err, &line);
  if (line.verb != nullptr) {
    Context context = context_;  // Several commands may run in parallel.
    context.out = out_ != nullptr ? out_ : &out;
    context.err = err_ != nullptr ? err_ : &err;
    context.json = line.json;
    context.rest = line.rest;
    const absl::Status ensured = line.entry->needs_yard ? EnsureYard(context) : absl::OkStatus();
    output.code = ensured.ok() ? line.verb->Run(context) : Fail(context, line.entry->name, ensured);
  }
  output.out = out.str();
  output.err = err.str();
  return output;
}

}  // namespace yard
