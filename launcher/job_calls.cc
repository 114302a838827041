#include "launcher/job_calls.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "launcher/job/job_row.h"
#include "launcher/job/supervisor.h"
#include "launcher/log/task_log.h"

namespace launcher {
namespace {

// Number of chunks that are sent before other work of the loop gets its turn.
constexpr int kChunksATurn = 8;

// The base of both calls. Runs Step() on the loop after a change, once for all changes since the
// last Step(), until Done().
class Call : public std::enable_shared_from_this<Call> {
 public:
  Call(JobCallContext context, std::string job)
      : context_(std::move(context)), job_(std::move(job)) {}
  virtual ~Call() = default;

  void Begin() {
    // The table keeps the call alive by this observer, until Done().
    observer_ = context_.table->Observe(job_, [self = shared_from_this()] { self->Wake(); });
    Step();
  }
  // Call it on the loop's thread.
  void Wake() {
    if (observer_ == 0 || std::exchange(scheduled_, true)) return;
    context_.loop->Post([self = shared_from_this()] {
      self->scheduled_ = false;
      if (self->observer_ != 0) self->Step();
    });
  }
  // Thread-safe.
  void WakeFromAnywhere() {
    context_.loop->Post([self = shared_from_this()] { self->Wake(); });
  }
  void CancelFromAnywhere() {
    context_.loop->Post([self = shared_from_this()] { self->Done(); });
  }

 protected:
  virtual void Step() = 0;
  void Done() {
    if (observer_ != 0) context_.table->Forget(std::exchange(observer_, 0));
  }
  absl::Status Gone() const { return absl::NotFoundError(absl::StrCat("there is no job ", job_)); }

  const JobCallContext context_;
  const std::string job_;

 private:
  JobTable::ObserverId observer_ = 0;
  bool scheduled_ = false;
};

class WaitCall : public Call {
 public:
  using Writer = std::shared_ptr<bus::ReplyWriter<rpc::Launcher::WaitJob>>;
  WaitCall(JobCallContext context, std::string job, Writer writer)
      : Call(std::move(context), std::move(job)), writer_(std::move(writer)) {}

 private:
  // The parts of a job whose changes are sent; its output is not one of them.
  struct Seen {
    std::vector<std::tuple<msg::TaskState, int, StopCause, bool, pid_t>> tasks;
    std::string wait;  // Why no task has started.

    bool operator==(const Seen&) const = default;
  };
  static Seen Look(const JobRow& row, const msg::JobT& message) {
    Seen seen;
    if (message.state == msg::TaskState::Pending) seen.wait = message.reason;
    for (std::size_t i = 0; i < row.tasks.size(); ++i) {
      const TaskStatus& status = row.status.tasks[i];
      const auto& attempts = row.tasks[i].attempts;
      seen.tasks.emplace_back(status.state, status.attempt, status.stop, status.ready,
                              attempts.empty() ? 0 : attempts.back().pid);
    }
    return seen;
  }

  void Step() override {
    const JobRow* row = context_.table->Row(job_);
    if (row == nullptr) {
      writer_->Finish(Gone());
      return Done();
    }
    msg::WaitJobReplyT reply;
    reply.job = std::make_unique<msg::JobT>(context_.table->Message(*row));
    Seen seen = Look(*row, *reply.job);
    if (row->has_ended()) {
      // The end is stored at the end of this turn of the loop, and sent only after that.
      if (!std::exchange(saw_the_end_, true)) return Wake();
      writer_->Finish(std::move(reply));
      return Done();
    }
    if (sent_ == seen) return;
    const absl::Status sent = writer_->SendPart(std::move(reply));
    if (sent.ok()) {
      sent_ = std::move(seen);
    } else if (absl::IsResourceExhausted(sent)) {
      writer_->WhenWritable([self = shared_from_this()] { self->WakeFromAnywhere(); });
    } else {
      Done();
    }
  }

  const Writer writer_;
  std::optional<Seen> sent_;
  bool saw_the_end_ = false;
};

class LogCall : public Call {
 public:
  using Writer = std::shared_ptr<bus::ReplyWriter<rpc::Launcher::Logs>>;
  LogCall(JobCallContext context, const JobTable::Named& named, const msg::LogsRequestT& request,
          Writer writer)
      : Call(std::move(context), named.job), request_(request), writer_(std::move(writer)) {
    const JobRow* const row = context_.table->Row(job_);
    for (std::size_t i = 0; row != nullptr && i < row->tasks.size(); ++i) {
      if (named.task != kWholeJob && named.task != static_cast<int>(i)) continue;
      if (!IsWanted(i)) continue;
      logs_.emplace_back(i, &request_, context_.state_directory);
      if (only_.empty()) only_ = absl::StrCat(job_, "/", row->tasks[i].name());
    }
  }

 private:
  bool IsWanted(std::size_t rank) const {
    const auto& ranks = request_.ranks;
    return ranks.empty() || std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
  }

  void Step() override {
    for (int turn = 0; turn < kChunksATurn; ++turn) {
      const JobRow* row = context_.table->Row(job_);
      if (row == nullptr) return Finish(Gone());
      if (MustWait(*row)) return;
      bool some = false, all = true;
      for (TaskLog& log : logs_) {
        msg::LogsReplyT part;
        const auto got = log.Next(*row, &part);
        if (!got.ok()) return Finish(got.status());
        if (*got == TaskLog::Got::kSome && !Send(std::move(part), &log)) return;
        some = some || *got == TaskLog::Got::kSome;
        all = all && *got == TaskLog::Got::kAll;
      }
      if (all) return Finish(Last());
      if (!some) return;
    }
    Wake();
  }

  // True if other followers have used up the pace for now.
  bool MustWait(const JobRow& row) {
    is_paced_ = request_.follow && !row.has_ended();
    if (!is_paced_ || context_.pace->has_room()) return false;
    if (!std::exchange(waits_for_room_, true)) {
      context_.pace->WhenRoom([weak = weak_from_this()] {
        const auto self = std::static_pointer_cast<LogCall>(weak.lock());
        if (self == nullptr) return;
        self->waits_for_room_ = false;
        self->Wake();
      });
    }
    return true;
  }

  // Sends a part. Returns false if the call must wait or has ended.
  bool Send(msg::LogsReplyT part, TaskLog* log) {
    const std::size_t size = part.data.size();
    const absl::Status sent = writer_->SendPart(std::move(part));
    if (sent.ok()) {
      log->Sent(size);
      if (is_paced_) context_.pace->Spend(static_cast<std::int64_t>(size));
    } else if (absl::IsResourceExhausted(sent)) {
      writer_->WhenWritable([self = shared_from_this()] { self->WakeFromAnywhere(); });
    } else {
      Done();
    }
    return sent.ok();
  }

  // Makes the final reply, with the last attempt if a single task was requested.
  msg::LogsReplyT Last() const {
    msg::LogsReplyT reply;
    if (logs_.size() != 1 || logs_[0].attempt() == 0) return reply;
    reply.task = only_;
    reply.attempt = static_cast<std::uint32_t>(logs_[0].attempt());
    return reply;
  }

  void Finish(absl::StatusOr<msg::LogsReplyT> reply) {
    writer_->Finish(std::move(reply));
    Done();
  }

  const msg::LogsRequestT request_;
  const Writer writer_;
  std::deque<TaskLog> logs_;
  std::string only_;
  bool is_paced_ = false;
  bool waits_for_room_ = false;
};

absl::Status CheckLogsRequest(const JobRow& row, const msg::LogsRequestT& request) {
  for (const std::uint32_t rank : request.ranks) {
    if (rank < row.tasks.size()) continue;
    return absl::InvalidArgumentError(absl::StrCat("ranks: job ", row.id, " has no rank ", rank,
                                                   ", only 0 to ", row.tasks.size() - 1));
  }
  if (request.since_us == 0) return absl::OkStatus();
  if (request.attempt != 0) {
    return absl::InvalidArgumentError("since_us: it is of all attempts, and one is asked for");
  }
  if (request.stdout_offset != 0 || request.stderr_offset != 0) {
    return absl::InvalidArgumentError("since_us: offsets are asked for as well");
  }
  return absl::OkStatus();
}

template <typename CallType, typename Writer>
void Run(std::shared_ptr<CallType> call, Writer& writer) {
  writer.OnCancel([weak = std::weak_ptr<CallType>(call)] {
    if (auto strong = weak.lock()) strong->CancelFromAnywhere();
  });
  call->Begin();
}

}  // namespace

void StartWaitCall(const JobCallContext& context, const std::string& job,
                   std::shared_ptr<bus::ReplyWriter<rpc::Launcher::WaitJob>> writer) {
  Run(std::make_shared<WaitCall>(context, job, writer), *writer);
}

void StartLogCall(const JobCallContext& context, const JobTable::Named& named,
                  const msg::LogsRequestT& request,
                  std::shared_ptr<bus::ReplyWriter<rpc::Launcher::Logs>> writer) {
  if (const JobRow* const row = context.table->Row(named.job); row != nullptr) {
    if (auto status = CheckLogsRequest(*row, request); !status.ok()) return writer->Finish(status);
  }
  Run(std::make_shared<LogCall>(context, named, request, writer), *writer);
}

}  // namespace launcher
