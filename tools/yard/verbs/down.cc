#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bus/schema/common_methods.h"
#include "bus/schema/launcher_methods.h"
#include "bus/schema/trainer_methods.h"
#include "tools/yard/follow.h"
#include "tools/yard/things_json.h"
#include "tools/yard/verbs/verbs.h"
#include "tools/yard/yard_state.h"

namespace yard {
namespace {

class Down : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Flag("--keep", keep_, "Leave running trials and jobs to their shims.");
    options.Add("--timeout", timeout_, "Seconds for everything to stop (default: 60).");
  }

  int Run(Context& context) override {
    deadline_ = context.clock->Monotonic() + absl::Seconds(timeout_);
    // Tasks outlive the services: somebody has to be there who stops them.
    if (auto wanted = ReadWanted(context.locations); !keep_ && wanted.ok() && wanted->has_value()) {
      if (absl::Status there = EnsureYard(context); !there.ok()) {
        return Fail(context, "down", there);
      }
    }
    if (!AnythingRuns(context)) {
      (void)RemoveWanted(context.locations);
      Say(context, "", "the yard is not up");
      return kDone;
    }
    auto client = context.client();
    if (!client.ok()) return Fail(context, "down", client.status());
    if (!keep_) {
      if (absl::Status stopped = StopWork(context, **client); !stopped.ok()) {
        return Fail(context, "down", stopped);
      }
    }
    // From here on nobody starts a service again.
    if (absl::Status removed = RemoveWanted(context.locations); !removed.ok()) {
      return Fail(context, "down", removed);
    }
    // The launcher stops the trainer and the datamanager itself.
    std::vector<std::string> services;
    for (const char* service : {"launcher", "trainer", "datamanager", "registry"}) {
      if (HolderOf(context.locations, service) != 0) services.push_back(service);
    }
    for (const std::string& service : services) {
      if (const int code = StopService(context, **client, service); code != kDone) return code;
    }
    if (!context.json) *context.out << "down\n";
    return kDone;
  }

 private:
  static bool AnythingRuns(const Context& context) {
    for (const std::string_view service : kServices) {
      if (HolderOf(context.locations, service) != 0) return true;
    }
    return false;
  }

  absl::Duration Left(const Context& context) const {
    return std::max(deadline_ - context.clock->Monotonic(), absl::ZeroDuration());
  }

  static void Say(Context& context, const std::string& what, const std::string& state) {
    if (context.json) return PrintJson(context, {{"what", what}, {"state", state}});
    *context.out << what << (what.empty() ? "" : " ") << state << "\n";
    context.out->flush();
  }

  // Asks every trial and job that runs to stop, and waits for all of them. (A service that is not
  // there is not wanted.)
  absl::Status StopWork(Context& context, bus::Client& client) {
    std::vector<std::string> trials, jobs;
    msg::TrialsRequestT all_trials;
    all_trials.live_only = true;
    if (HolderOf(context.locations, "trainer") != 0) {
      auto reply = client.Call<rpc::Trainer::Trials>(all_trials, Patient());
      if (!reply.ok()) return reply.status();
      for (const auto& trial : reply->trials) {
        // It takes no slot and can be resumed when the yard is up again.
        if (trial->state == msg::TrialState::Paused) continue;
        msg::StopTrialRequestT stop;
        stop.trial = trial->id;
        (void)client.Call<rpc::Trainer::StopTrial>(stop, Patient());
        trials.push_back(trial->id);
        Say(context, trial->id, "stopping");
      }
    }
    for (const std::string& trial : trials) {
      auto ended = FollowTrial(context, trial, ~std::uint64_t{0} >> 1, Left(context),
                               [](const auto&) { return true; });
      if (!ended.ok()) return ended.status();
    }
    msg::JobsRequestT all_jobs;
    all_jobs.live_only = true;
    if (HolderOf(context.locations, "launcher") == 0) return absl::OkStatus();
    auto reply = client.Call<rpc::Launcher::Jobs>(all_jobs, Patient());
    if (!reply.ok()) return reply.status();
    for (const auto& job : reply->jobs) {
      msg::StopJobRequestT stop;
      stop.job = job->id;
      (void)client.Call<rpc::Launcher::StopJob>(stop, Patient());
      jobs.push_back(job->id);
      Say(context, job->id, "stopping");
    }
    for (const std::string& job : jobs) {
      auto ended = FollowJob(context, job, Left(context));
      if (!ended.ok()) return ended.status();
    }
    return absl::OkStatus();
  }

  int StopService(Context& context, bus::Client& client, const std::string& service) {
    absl::Status asked;
    if (HolderOf(context.locations, service) != 0) {
      msg::ShutdownRequestT request;
      request.reason = "yard down";
      asked = client
                  .Call<rpc::Common::Shutdown>(request,
                                               {.timeout = absl::Seconds(5), .service = service})
                  .status();
    }
    if (!WaitUntilGone(context, service, Left(context))) {
      return Fail(context, "down",
                  absl::DeadlineExceededError(absl::StrCat(
                      service, " (pid ", HolderOf(context.locations, service),
                      ") has not stopped; ", asked.ok() ? "" : std::string(asked.message()))));
    }
    Say(context, service, "stopped");
    return kDone;
  }

  bool keep_ = false;
  double timeout_ = 60;
  absl::Duration deadline_;
};

}  // namespace

std::unique_ptr<Verb> MakeDown() { return std::make_unique<Down>(); }

}  // namespace yard
