#include "launcher/log/task_log.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "launcher/log/log_since.h"

namespace launcher {
namespace {

constexpr std::size_t kChunk = 64 * 1024;

bool IsStdout(msg::LogStream stream) { return stream == msg::LogStream::Stdout; }

bool IsStarted(const AttemptRow& attempt) {
  return attempt.started_us != 0 || attempt.ended_us != 0;
}

// Returns the beginning of the last `*left` lines before `end`, but not an offset before `begin`.
// Decreases `*left` by the number of lines found.
std::uint64_t BeginOfLastLines(LogSegments& log, std::uint64_t begin, std::uint64_t end,
                               std::int64_t* left) {
  const auto extent = log.Look();
  if (!extent.ok()) return begin;
  end = std::min(extent->end, end);
  begin = std::max(begin, extent->begin);
  if (*left == 0 || end <= begin) return std::max(begin, end);
  for (std::uint64_t at = end; at > begin;) {
    const std::uint64_t size = std::min<std::uint64_t>(at - begin, kChunk);
    at -= size;
    const auto block = log.Read(at, size);
    if (!block.ok() || block->size() != size) return begin;
    for (std::uint64_t i = size; i-- > 0;) {
      // The newline at the very end ends the last line; it does not begin another.
      if ((*block)[i] == '\n' && at + i + 1 != end && --*left == 0) return at + i + 1;
    }
  }
  --*left;
  return begin;
}

}  // namespace

absl::StatusOr<TaskLog::Got> TaskLog::Next(const JobRow& row, msg::LogsReplyT* part) {
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

std::vector<msg::LogStream> TaskLog::Streams() const {
  if (request_->errors_only) return {msg::LogStream::Stderr};
  return {msg::LogStream::Stdout, msg::LogStream::Stderr};
}

LogSegments TaskLog::LogOf(const JobRow& row, const AttemptRow& attempt,
                           msg::LogStream stream) const {
  return LogSegments(LogPath(row, TaskOf(row), state_directory_, attempt.number, stream));
}

// Called when every byte of the attempt so far is sent. Returns true if there is a further attempt
// to send.
bool TaskLog::GoOn(const JobRow& row, const AttemptRow& attempt) {
  const bool follow = request_->follow;
  if (follow && attempt.ended_us == 0) return false;
  if (request_->attempt == 0 && (follow || request_->since_us != 0)) {
    const AttemptRow* const next = TaskOf(row).attempt(attempt_ + 1);
    if (next != nullptr && (follow || IsStarted(*next))) {
      next_ = attempt_ + 1;
      attempt_ = 0;
      return true;
    }
    // (The task may be started again.)
    if (follow && (!HasEndedIn(row) || !row.has_ended())) return false;
  }
  done_ = true;
  return false;
}

// Opens the next attempt. Returns false if it has not started: a request that follows a live job
// then waits for it; for others done_ is set.
absl::StatusOr<bool> TaskLog::OpenAttempt(const JobRow& row) {
  const TaskRow& task = TaskOf(row);
  const bool first = next_ == 0;
  const int number = first ? FirstAttempt(task) : next_;
  const AttemptRow* attempt = task.attempt(number);
  if (attempt == nullptr || !IsStarted(*attempt)) {
    if (first && request_->attempt != 0 && attempt == nullptr) {
      return absl::NotFoundError(
          absl::StrCat("task ", row.id, "/", task.name(), " has no attempt ", number));
    }
    done_ = !request_->follow || row.has_ended();
    return false;
  }
  if (first) Plan(row, number);
  attempt_ = number;
  cursors_.clear();
  const auto planned = begins_.find(number);
  for (const msg::LogStream stream : Streams()) {
    const std::uint64_t begin = planned == begins_.end()
                                    ? LogBegin(*attempt, stream)
                                    : planned->second[static_cast<std::size_t>(stream)];
    cursors_.push_back({stream, LogOf(row, *attempt, stream), begin});
  }
  return true;
}

// Returns the number of the first attempt to send; 0 if the task has no attempt yet.
int TaskLog::FirstAttempt(const TaskRow& task) const {
  if (request_->attempt != 0) return static_cast<int>(request_->attempt);
  if (task.attempts.empty()) return 0;
  if (request_->since_us == 0) return task.attempts.back().number;
  // The last attempt that had started by then; all earlier ones had ended.
  const AttemptRow* first = &task.attempts.front();
  for (const AttemptRow& attempt : task.attempts) {
    if (attempt.started_us > request_->since_us) break;
    if (attempt.started_us != 0) first = &attempt;
  }
  return first->number;
}

// Determines the start offsets in all requested attempts that exist, newest first, because last
// lines are counted backwards.
void TaskLog::Plan(const JobRow& row, int first) {
  const auto& attempts = TaskOf(row).attempts;
  std::array<std::int64_t, 2> left = {request_->last_lines, request_->last_lines};
  const int last = request_->since_us == 0 ? first : attempts.back().number;
  for (auto attempt = attempts.rbegin(); attempt != attempts.rend(); ++attempt) {
    if (attempt->number > last || !IsStarted(*attempt)) continue;
    if (attempt->number < first) break;
    Offsets& begins = begins_[attempt->number];
    for (const msg::LogStream stream : Streams()) {
      const auto at = static_cast<std::size_t>(stream);
      begins[at] = BeginOf(row, *attempt, stream);
      const bool has_offset =
          (IsStdout(stream) ? request_->stdout_offset : request_->stderr_offset) != 0;
      if (request_->last_lines < 0 || has_offset) continue;
      const std::uint64_t end = LogEnd(*attempt, stream);
      if (end <= begins[at]) continue;
      LogSegments log = LogOf(row, *attempt, stream);
      begins[at] = BeginOfLastLines(log, begins[at], end, &left[at]);
    }
  }
}

// Returns the offset at which the attempt's part begins, regardless of `last_lines`.
std::uint64_t TaskLog::BeginOf(const JobRow& row, const AttemptRow& attempt,
                               msg::LogStream stream) const {
  if (request_->since_us != 0) {
    return LogOffsetSince(row, TaskOf(row), attempt, stream, state_directory_, request_->since_us);
  }
  return std::max(LogBegin(attempt, stream),
                  IsStdout(stream) ? request_->stdout_offset : request_->stderr_offset);
}

bool TaskLog::Read(const JobRow& row, const AttemptRow& attempt, Cursor& cursor,
                   msg::LogsReplyT* part) {
  const std::uint64_t end = LogEnd(attempt, cursor.stream);
  if (cursor.offset >= end) return false;
  const std::uint64_t wanted = std::min<std::uint64_t>(end - cursor.offset, kChunk);
  auto read = cursor.log.Read(cursor.offset, wanted);
  if (absl::IsOutOfRange(read.status()) && cursor.log.first_left() < end) {
    // The bytes were removed by rotation; the reader sees the gap by the offset.
    cursor.offset = cursor.log.first_left();
    read = cursor.log.Read(cursor.offset, std::min<std::uint64_t>(end - cursor.offset, kChunk));
  }
  if (!read.ok() || read->empty()) return false;
  std::vector<std::uint8_t> data(read->begin(), read->end());
  const bool is_rest = data.size() < kChunk || cursor.offset + data.size() >= end;
  const auto newline = std::find(data.rbegin(), data.rend(), '\n');
  if (!is_rest && newline != data.rend()) data.erase(newline.base(), data.end());
  part->task = absl::StrCat(row.id, "/", TaskOf(row).name());
  part->attempt = static_cast<std::uint32_t>(attempt.number);
  part->stream = cursor.stream;
  part->offset = cursor.offset;
  part->data = std::move(data);
  sending_ = &cursor;
  return true;
}

}  // namespace launcher
