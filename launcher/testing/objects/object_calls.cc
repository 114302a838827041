#include "launcher/testing/objects/object_calls.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "launcher/testing/objects/object_table.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"
#include "runtime/timer.h"

namespace launcher::testing {
namespace {

constexpr absl::Duration kAnswerTime = absl::Seconds(30);

std::function<void(const ObjectRequest&, ObjectDone)>& Upstream() {
  static auto* upstream = new std::function<void(const ObjectRequest&, ObjectDone)>;
  return *upstream;
}

// The objects of this process, on a separate thread. Never deleted, since children may make
// requests until the end.
class Objects {
 public:
  static Objects& OfThisProcess() {
    static auto* objects = new Objects;
    return *objects;
  }

  void Handle(std::uint64_t client, const ObjectRequest& request, ObjectDone done) {
    loop_->Post([this, client, request, done = std::move(done)]() mutable {
      const ObjectTable::Ticket ticket = ++last_ticket_;
      waiting_.emplace(ticket, std::move(done));
      Give(table_.Handle(client, ticket, request, Now()));
    });
  }
  void Gone(std::uint64_t client, const std::string& name) {
    loop_->Post([this, client, name] { Give(table_.ClientGone(client, name)); });
  }

 private:
  Objects()
      : loop_(runtime::EventLoop::Create()), thread_("shared-objects", [this] { loop_->Run(); }) {}

  static absl::Duration Now() { return runtime::Clock::Real()->Monotonic(); }

  void Give(std::vector<ObjectTable::Answer> answers) {
    for (ObjectTable::Answer& answer : answers) {
      const auto found = waiting_.find(answer.ticket);
      if (found == waiting_.end()) continue;
      const ObjectDone done = std::move(found->second);
      waiting_.erase(found);
      done(std::move(answer.reply));
    }
    const absl::Duration next = table_.NextTimeout();
    if (next == next_) return;
    timer_.Cancel();
    next_ = next;
    if (next == absl::InfiniteDuration()) return;
    timer_.Start(loop_.get(), std::max(next - Now(), absl::ZeroDuration()), [this] {
      next_ = absl::ZeroDuration();
      Give(table_.Expire(Now()));
    });
  }

  // Used only on the thread.
  ObjectTable table_;
  std::unordered_map<ObjectTable::Ticket, ObjectDone> waiting_;
  ObjectTable::Ticket last_ticket_ = 0;
  absl::Duration next_ = absl::InfiniteDuration();
  runtime::Timer timer_;

  const std::unique_ptr<runtime::EventLoop> loop_;
  runtime::Thread thread_;
};

}  // namespace

std::uint64_t HomeOfThisProcess() {
  static const std::uint64_t home = [] {
    std::uint64_t value = 0;
    if (getrandom(&value, sizeof value, 0) != sizeof value) value = 0;
    // (Without random numbers: a pid, which may be reused, is better than 0.)
    return value == 0 ? static_cast<std::uint64_t>(getpid()) : value;
  }();
  return home;
}

std::uint64_t NewObjectClient() {
  static std::atomic<std::uint64_t> last{kOwnClient};
  return ++last;
}

void CallObject(std::uint64_t client, const ObjectRequest& request, ObjectDone done) {
  if (request.home == HomeOfThisProcess()) {
    return Objects::OfThisProcess().Handle(client, request, std::move(done));
  }
  if (Upstream()) return Upstream()(request, std::move(done));
  ObjectReply reply;
  reply.status = absl::FailedPreconditionError("the shared object is of no process of this test");
  done(std::move(reply));
}

void ObjectClientGone(std::uint64_t client, const std::string& name) {
  Objects::OfThisProcess().Gone(client, name);
}

ObjectReply CallObjectAndWait(const ObjectRequest& request) {
  struct Answer {
    runtime::Mutex mutex;
    runtime::CondVar came;
    bool is_there ABSL_GUARDED_BY(mutex) = false;
    ObjectReply reply ABSL_GUARDED_BY(mutex);
  };
  const auto answer = std::make_shared<Answer>();
  CallObject(kOwnClient, request, [answer](ObjectReply reply) {
    runtime::MutexLock lock(answer->mutex);
    answer->reply = std::move(reply);
    answer->is_there = true;
    answer->came.SignalAll();
  });
  auto* const clock = runtime::Clock::Real();
  const absl::Duration until =
      clock->Monotonic() + std::max(request.timeout, absl::ZeroDuration()) + kAnswerTime;
  runtime::MutexLock lock(answer->mutex);
  while (!answer->is_there && clock->Monotonic() < until) {
    clock->WaitUntil(answer->came, answer->mutex, until);
  }
  if (answer->is_there) return answer->reply;
  ObjectReply reply;
  reply.status = absl::UnavailableError("no answer about a shared object");
  return reply;
}

void SetObjectUpstream(
    std::function<void(const ObjectRequest& request, ObjectDone done)> upstream) {
  Upstream() = std::move(upstream);
}

}  // namespace launcher::testing
