#include "launcher/job_calls.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "launcher/job_row.h"
#include "launcher/log_segments.h"
#include "launcher/supervisor.h"

namespace launcher {
namespace {

constexpr std::size_t kChunk = 64 * 1024;
// Chunks before others of the loop get their turn.
constexpr int kChunksATurn = 8;

// What both calls share: runs Step() on the loop after each change, once however many there
// were, until Done().
class Call : public std::enable_shared_from_this<Call> {
 public:
  Call(JobCallContext context, std::string job)
      : context_(std::move(context)), job_(std::move(job)) {}
  virtual ~Call() = default;

  void Begin() {
    // The table holds the call alive through this; Done() lets it go.
    observer_ = context_.table->Observe(job_, [self = shared_from_this()] { self->Wake(); });
    Step();
  }
  // On the loop's thread.
  void Wake() {
    if (observer_ == 0 || std::exchange(scheduled_, true)) return;
    context_.loop->Post([self = shared_from_this()] {
      self->scheduled_ = false;
      if (self->observer_ != 0) self->Step();
    });
  }
  // On any thread.
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
  // What makes a job another one to look at; its output does not.
  using Seen = std::vector<std::tuple<msg::TaskState, int, StopCause, bool, pid_t>>;
  static Seen Look(const JobRow& row) {
    Seen seen;
    for (std::size_t i = 0; i < row.tasks.size(); ++i) {
      const TaskStatus& status = row.status.tasks[i];
      const auto& attempts = row.tasks[i].attempts;
      seen.emplace_back(status.state, status.attempt, status.stop, status.ready,
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
    if (row->has_ended()) {
      writer_->Finish(std::move(reply));
      return Done();
    }
    if (sent_ == Look(*row)) return;
    const absl::Status sent = writer_->SendPart(std::move(reply));
    if (sent.ok()) {
      sent_ = Look(*row);
    } else if (absl::IsResourceExhausted(sent)) {
      writer_->WhenWritable([self = shared_from_this()] { self->WakeFromAnywhere(); });
    } else {
      Done();
    }
  }

  const Writer writer_;
  std::optional<Seen> sent_;
};

// The output of one task, from attempt to attempt: which bytes are to be sent next.
class TaskLog {
 public:
  enum class Got {
    kSome,
    kNothing,  // For now.
    kAll,
  };
  TaskLog(std::size_t task, const msg::LogsRequestT* request, std::string state_directory)
      : task_(task), request_(request), state_directory_(std::move(state_directory)) {}

  // Fills `part`; Sent() moves on behind it. NotFound if there is no attempt of the wanted number.
  absl::StatusOr<Got> Next(const JobRow& row, msg::LogsReplyT* part) {
    while (!done_) {
      if (attempt_ == 0) {
        const auto opened = OpenAttempt(row);
        if (!opened.ok()) return opened.status();
        if (!*opened) break;
      }
      const AttemptRow* const attempt = TaskOf(row).attempt(attempt_);
      for (std::size_t i = 0; i < cursors_.size(); ++i) {
        Cursor& cursor = cursors_[next_cursor_++ % cursors_.size()];
        if (Read(row, *attempt, cursor, part)) return Got::kSome;
      }
      if (!GoOn(row, *attempt)) break;
    }
    return done_ ? Got::kAll : Got::kNothing;
  }
  void Sent(std::uint64_t bytes) { sending_->offset += bytes; }

  int attempt() const { return attempt_; }

 private:
  struct Cursor {
    msg::LogStream stream;
    LogSegments log;
    std::uint64_t offset = 0;
  };

  const TaskRow& TaskOf(const JobRow& row) const { return row.tasks[task_]; }
  bool HasEndedIn(const JobRow& row) const { return HasEnded(row.status.tasks[task_].state); }

  // Every byte of the attempt so far is sent. True if there is another attempt to go on with.
  bool GoOn(const JobRow& row, const AttemptRow& attempt) {
    if (request_->follow && attempt.ended_us == 0) return false;
    if (request_->follow && request_->attempt == 0) {
      if (TaskOf(row).attempt(attempt_ + 1) != nullptr) {
        next_ = attempt_ + 1;
        attempt_ = 0;
        return true;
      }
      // (Its job may start it again.)
      if (!HasEndedIn(row) || !row.has_ended()) return false;
    }
    done_ = true;
    return false;
  }

  // False if it has to wait for the attempt, or there is none.
  absl::StatusOr<bool> OpenAttempt(const JobRow& row) {
    const bool first = next_ == 0;
    const TaskRow& task = TaskOf(row);
    int number = first ? static_cast<int>(request_->attempt) : next_;
    if (number == 0 && !task.attempts.empty()) number = task.attempts.back().number;
    const AttemptRow* attempt = task.attempt(number);
    const bool started = attempt != nullptr && (attempt->started_us != 0 || attempt->ended_us != 0);
    if (!started) {
      if (first && request_->attempt != 0 && attempt == nullptr) {
        return absl::NotFoundError(
            absl::StrCat("task ", row.id, "/", task.name(), " has no attempt ", number));
      }
      done_ = !request_->follow || row.has_ended();
      return false;
    }
    attempt_ = number;
    cursors_.clear();
    cursors_.push_back(Open(row, *attempt, msg::LogStream::Stdout, attempt->stdout_begin,
                            first ? request_->stdout_offset : 0, first));
    cursors_.push_back(Open(row, *attempt, msg::LogStream::Stderr, attempt->stderr_begin,
                            first ? request_->stderr_offset : 0, first));
    return true;
  }

  Cursor Open(const JobRow& row, const AttemptRow& attempt, msg::LogStream stream,
              std::uint64_t begin, std::uint64_t wanted, bool first) const {
    const std::string path = LogPath(row, TaskOf(row), state_directory_, attempt.number, stream);
    Cursor cursor{stream, LogSegments(path), std::max(begin, wanted)};
    if (first && wanted == 0 && request_->last_lines >= 0) {
      cursor.offset = LastLines(cursor, attempt, begin);
    }
    return cursor;
  }

  // Where the output of an attempt that has ended ends. (Of a live one nobody knows.)
  static std::uint64_t End(const AttemptRow& attempt, const Cursor& cursor) {
    if (attempt.ended_us == 0) return std::numeric_limits<std::uint64_t>::max();
    return cursor.stream == msg::LogStream::Stdout ? attempt.stdout_end : attempt.stderr_end;
  }

  // Where the last lines of the stream begin.
  std::uint64_t LastLines(Cursor& cursor, const AttemptRow& attempt, std::uint64_t begin) const {
    const auto extent = cursor.log.Look();
    if (!extent.ok()) return begin;
    const std::uint64_t end = std::min(extent->end, End(attempt, cursor));
    begin = std::max(begin, extent->begin);
    if (request_->last_lines == 0) return std::max(begin, end);
    std::int64_t left = request_->last_lines;
    for (std::uint64_t at = end; at > begin;) {
      const std::uint64_t size = std::min<std::uint64_t>(at - begin, kChunk);
      at -= size;
      const auto block = cursor.log.Read(at, size);
      if (!block.ok() || block->size() != size) return begin;
      for (std::uint64_t i = size; i-- > 0;) {
        // The newline at the very end ends the last line; it does not begin another.
        if ((*block)[i] == '\n' && at + i + 1 != end && --left == 0) return at + i + 1;
      }
    }
    return begin;
  }

  bool Read(const JobRow& row, const AttemptRow& attempt, Cursor& cursor, msg::LogsReplyT* part) {
    const std::uint64_t end = End(attempt, cursor);
    if (cursor.offset >= end) return false;
    const std::uint64_t wanted = std::min<std::uint64_t>(end - cursor.offset, kChunk);
    auto read = cursor.log.Read(cursor.offset, wanted);
    if (absl::IsOutOfRange(read.status()) && cursor.log.first_left() < end) {
      // Rotated away: the reader sees by the offset that there is a hole.
      cursor.offset = cursor.log.first_left();
      read = cursor.log.Read(cursor.offset, std::min<std::uint64_t>(end - cursor.offset, kChunk));
    }
    if (!read.ok() || read->empty()) return false;
    std::vector<std::uint8_t> data(read->begin(), read->end());
    const bool more_may_come = request_->follow && attempt.ended_us == 0;
    const bool is_rest = data.size() < kChunk || cursor.offset + data.size() >= end;
    const auto newline = std::find(data.rbegin(), data.rend(), '\n');
    if ((more_may_come || !is_rest) && (newline != data.rend() || data.size() < kChunk)) {
      data.erase(newline.base(), data.end());
    }
    if (data.empty()) return false;
    part->task = absl::StrCat(row.id, "/", TaskOf(row).name());
    part->attempt = static_cast<std::uint32_t>(attempt.number);
    part->stream = cursor.stream;
    part->offset = cursor.offset;
    part->data = std::move(data);
    sending_ = &cursor;
    return true;
  }

  const std::size_t task_;
  const msg::LogsRequestT* const request_;
  const std::string state_directory_;
  int attempt_ = 0;  // 0: to be opened.
  int next_ = 0;     // Attempt to go on with; 0: the request's.
  std::vector<Cursor> cursors_;
  std::size_t next_cursor_ = 0;
  Cursor* sending_ = nullptr;
  bool done_ = false;
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
      logs_.emplace_back(i, &request_, context_.state_directory);
      if (only_.empty()) only_ = absl::StrCat(job_, "/", row->tasks[i].name());
    }
  }

 private:
  void Step() override {
    for (int turn = 0; turn < kChunksATurn; ++turn) {
      const JobRow* row = context_.table->Row(job_);
      if (row == nullptr) return Finish(Gone());
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

  // False if the call has to wait, or is over.
  bool Send(msg::LogsReplyT part, TaskLog* log) {
    const std::size_t size = part.data.size();
    const absl::Status sent = writer_->SendPart(std::move(part));
    if (sent.ok()) {
      log->Sent(size);
    } else if (absl::IsResourceExhausted(sent)) {
      writer_->WhenWritable([self = shared_from_this()] { self->WakeFromAnywhere(); });
    } else {
      Done();
    }
    return sent.ok();
  }

  // Says of a single task what was its last attempt.
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
};

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
  Run(std::make_shared<LogCall>(context, named, request, writer), *writer);
}

}  // namespace launcher
