#include "bus/launcher_client/launcher_jobs.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "bus/call/call_retry.h"
#include "bus/schema/launcher_methods.h"
#include "glog/logging.h"
#include "runtime/text/random_id.h"
#include "runtime/text/string_view.h"

namespace bus {
namespace {

using rpc::Launcher;

constexpr absl::Duration kCallTimeout = absl::Seconds(30);

class LauncherJobs : public JobControl {
 public:
  LauncherJobs(bus::Client* client, runtime::EventLoop* loop, runtime::Clock* clock)
      : link_(std::make_shared<Link>(Link{client, loop, clock})) {}
  ~LauncherJobs() override { link_->open = false; }

  void Launch(const std::string& request_id, const std::string& trace, const msg::JobSpecT& spec,
              std::function<void(absl::StatusOr<std::string>)> done) override {
    msg::LaunchRequestT request;
    request.spec = std::make_unique<msg::JobSpecT>(spec);
    auto on_reply = [done = std::move(done)](absl::StatusOr<msg::LaunchReplyT> reply) {
      if (!reply.ok()) return done(reply.status());
      if (reply->job == nullptr || reply->job->id.empty()) {
        return done(absl::InternalError("the launcher answered without a job"));
      }
      done(reply->job->id);
    };
    AskFor<Launcher::Launch>(std::move(request), Options(request_id, trace), false,
                             std::move(on_reply));
  }

  void Follow(const std::string& job, std::function<void(const msg::JobT&)> changed,
              std::function<void(absl::StatusOr<msg::JobT>)> ended) override {
    msg::WaitJobRequestT request;
    request.job = job;
    bus::CallOptions options;
    options.wait_for_service = true;
    auto on_reply = [ended = std::move(ended)](absl::StatusOr<msg::WaitJobReplyT> reply) {
      if (!reply.ok()) return ended(reply.status());
      if (reply->job == nullptr) {
        return ended(absl::InternalError("the launcher answered without a job"));
      }
      ended(std::move(*reply->job));
    };
    auto on_part = [changed = std::move(changed)](const msg::WaitJobReplyT& part) {
      if (changed && part.job != nullptr) changed(*part.job);
    };
    AskFor<Launcher::WaitJob>(std::move(request), std::move(options), true, std::move(on_reply),
                              std::move(on_part));
  }

  void Stop(const std::string& job, absl::Duration grace, const std::string& reason,
            const std::string& trace) override {
    msg::StopJobRequestT request;
    request.job = job;
    request.grace_ms = static_cast<std::uint32_t>(absl::ToInt64Milliseconds(grace));
    request.reason = reason;
    auto on_reply = [job](absl::StatusOr<msg::StopJobReplyT> reply) {
      LOG_IF(WARNING, !reply.ok()) << "cannot stop job " << job << ": " << reply.status();
    };
    AskFor<Launcher::StopJob>(std::move(request), Options(runtime::RandomHex128(), trace), true,
                              std::move(on_reply));
  }

 private:
  // Shared with the callbacks of calls, which may outlive this object; `open` belongs to the loop's
  // thread.
  struct Link {
    bus::Client* client;
    runtime::EventLoop* loop;
    runtime::Clock* clock;
    bool open = true;
  };

  // One call with its retries; the callback that will continue it holds a reference.
  template <typename M>
  struct Asking {
    std::shared_ptr<Link> link;
    typename M::RequestT request;
    bus::CallOptions options;
    // False: "no room" ends the call instead of a retry.
    bool waits_for_room = true;
    std::function<void(absl::StatusOr<typename M::ReplyT>)> on_reply;
    std::function<void(const typename M::ReplyT&)> on_part;
    CallRetry retry = {};
    absl::Duration began = {};
  };

  static bus::CallOptions Options(const std::string& request_id, const std::string& trace) {
    bus::CallOptions options;
    options.trace = trace;
    options.timeout = kCallTimeout;
    options.request_id = request_id;
    options.wait_for_service = true;
    return options;
  }

  template <typename M>
  void AskFor(typename M::RequestT request, bus::CallOptions options, bool waits_for_room,
              std::function<void(absl::StatusOr<typename M::ReplyT>)> on_reply,
              std::function<void(const typename M::ReplyT&)> on_part = nullptr) {
    Ask<M>(std::make_shared<Asking<M>>(Asking<M>{link_, std::move(request), std::move(options),
                                                 waits_for_room, std::move(on_reply),
                                                 std::move(on_part)}));
  }

  template <typename M>
  static void Ask(std::shared_ptr<Asking<M>> call) {
    Link& link = *call->link;
    if (!link.open) return;
    call->began = link.clock->Monotonic();
    link.client->template Start<M>(
        call->request,
        [call](const typename M::ReplyT& part) {
          if (!call->on_part) return;
          auto shared = std::make_shared<typename M::ReplyT>(part);
          call->link->loop->Post([call, shared] {
            if (call->link->open) call->on_part(*shared);
          });
        },
        [call](absl::StatusOr<typename M::ReplyT> reply) {
          auto shared = std::make_shared<absl::StatusOr<typename M::ReplyT>>(std::move(reply));
          call->link->loop->Post([call, shared] { Answered<M>(call, *std::move(shared)); });
        },
        call->options);
  }

  template <typename M>
  static void Answered(std::shared_ptr<Asking<M>> call, absl::StatusOr<typename M::ReplyT> reply) {
    Link& link = *call->link;
    if (!link.open) return;
    if (reply.ok()) return call->on_reply(std::move(reply));
    const absl::Status& error = reply.status();
    const auto pause = call->retry.After(error, link.clock->Monotonic() - call->began);
    if (absl::IsResourceExhausted(error) && !call->waits_for_room) {
      if (!call->retry.in_doubt()) return call->on_reply(error);
      return call->on_reply(absl::UnavailableError(error.message()));
    }
    if (!pause) return call->on_reply(error);
    LOG_IF(WARNING, call->retry.is_news())
        << runtime::Absl(M::kInfo.name) << " of the launcher is tried again: " << error;
    link.loop->RunAfter(*pause, [call] { Ask<M>(call); });
  }

  const std::shared_ptr<Link> link_;
};

}  // namespace

std::unique_ptr<JobControl> MakeLauncherJobs(bus::Client* client, runtime::EventLoop* loop,
                                             runtime::Clock* clock) {
  return std::make_unique<LauncherJobs>(client, loop, clock);
}

}  // namespace bus
