#include "trainer/launcher_jobs.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "bus/schema/launcher_methods.h"
#include "glog/logging.h"
#include "runtime/random_id.h"

namespace trainer {
namespace {

using rpc::Launcher;

constexpr absl::Duration kCallTimeout = absl::Seconds(30);
constexpr absl::Duration kPause = absl::Milliseconds(200);

// The launcher, or the way to it, is not there for the moment.
bool MayTryAgain(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kResourceExhausted:
      return true;
    default:
      return false;
  }
}

class LauncherJobs : public JobControl {
 public:
  LauncherJobs(bus::Client* client, runtime::EventLoop* loop)
      : link_(std::make_shared<Link>(Link{client, loop})) {}
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
    TryUntilAnswered<Launcher::Launch>(link_, std::move(request), Options(request_id, trace),
                                       std::move(on_reply));
  }

  void Follow(const std::string& job,
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
    TryUntilAnswered<Launcher::WaitJob>(link_, std::move(request), std::move(options),
                                        std::move(on_reply));
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
    TryUntilAnswered<Launcher::StopJob>(
        link_, std::move(request), Options(runtime::RandomHex128(), trace), std::move(on_reply));
  }

 private:
  // Outlives this object in the callbacks of calls; `open` is used on the loop's thread only.
  struct Link {
    bus::Client* client;
    runtime::EventLoop* loop;
    bool open = true;
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
  static void TryUntilAnswered(const std::shared_ptr<Link>& link, typename M::RequestT request,
                               bus::CallOptions options,
                               std::function<void(absl::StatusOr<typename M::ReplyT>)> on_reply) {
    if (!link->open) return;
    auto again = [link, request, options, on_reply] {
      TryUntilAnswered<M>(link, request, options, on_reply);
    };
    link->client->template Start<M>(
        request, nullptr,
        [link, again, on_reply](absl::StatusOr<typename M::ReplyT> reply) {
          auto shared = std::make_shared<absl::StatusOr<typename M::ReplyT>>(std::move(reply));
          link->loop->Post([link, again, on_reply, shared] {
            if (!link->open) return;
            if (shared->ok() || !MayTryAgain(shared->status())) return on_reply(*std::move(shared));
            link->loop->RunAfter(kPause, again);
          });
        },
        options);
  }

  const std::shared_ptr<Link> link_;
};

}  // namespace

std::unique_ptr<JobControl> MakeLauncherJobs(bus::Client* client, runtime::EventLoop* loop) {
  return std::make_unique<LauncherJobs>(client, loop);
}

}  // namespace trainer
