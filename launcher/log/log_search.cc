#include "launcher/log/log_search.h"

#include <re2/re2.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <queue>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "launcher/log/log_segments.h"
#include "launcher/log/log_since.h"
#include "launcher/wire/log_times.h"
#include "launcher/wire/shim_protocol.h"
#include "runtime/text/printable.h"
#include "runtime/text/string_view.h"

namespace launcher {
namespace {

constexpr std::uint64_t kChunk = 256 * 1024;
// Longer lines are searched in pieces.
constexpr std::size_t kMostOfALine = 64 * 1024;
constexpr std::size_t kStandardLines = 200;
constexpr std::size_t kMostPatternBytes = 4 << 10;
// RE2 rejects a pattern that compiles to more bytes.
constexpr int kMostPatternMemory = 1 << 20;
constexpr int kLinesBetweenLooks = 64;  // Lines between two calls of is_cancelled.
constexpr std::int64_t kNow = std::numeric_limits<std::int64_t>::max();

RE2::Options PatternOptions() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMostPatternMemory);
  return options;
}

// A position in the order of all lines, from the newest. The next lines are those that begin before
// `offset` of that stream, and all lines that are lower in the order.
struct Place {
  std::int64_t time_us = kNow;
  std::string task;
  std::uint32_t attempt = 0;
  std::uint32_t stream = 0;
  std::uint64_t offset = 0;

  auto StreamKey() const { return std::tie(task, attempt, stream); }
};

// Encodes a cursor: "TIME.ATTEMPT.STREAM.OFFSET.TASK".
std::string CursorOf(const Place& place) {
  return absl::StrCat(place.time_us, ".", place.attempt, ".", place.stream, ".", place.offset, ".",
                      place.task);
}

absl::StatusOr<Place> ParseCursor(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits('.', 4));
  Place place;
  if (parts.size() != 5 || !absl::SimpleAtoi(parts[0], &place.time_us) ||
      !absl::SimpleAtoi(parts[1], &place.attempt) || !absl::SimpleAtoi(parts[2], &place.stream) ||
      !absl::SimpleAtoi(parts[3], &place.offset)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cursor: ", runtime::Printable(text), " is no \"next\" of an answer"));
  }
  place.task = parts[4];
  return place;
}

// A stream that is read backwards from its end.
class Source {
 public:
  explicit Source(const SearchedStream* stream) : stream_(*stream), log_(stream->path) {}

  // Returns an upper bound of the position of its next line; before Open() an estimate that reads
  // no file.
  Place place() const {
    Place place{.task = stream_.task,
                .attempt = stream_.attempt,
                .stream = static_cast<std::uint32_t>(stream_.stream)};
    place.time_us = time_us();
    place.offset = is_open_ ? at_ + carry_.size() : stream_.end;
    return place;
  }
  std::int64_t time_us() const { return is_open_ ? TimeOf(region_) : EndTime(); }
  bool is_open() const { return is_open_; }
  const SearchedStream& stream() const { return stream_; }

  // Opens the files. Returns false if no line is left. `from` is the position at which an earlier
  // answer ended, or null.
  bool Open(const Place* from, std::int64_t since_us, std::uint64_t* read) {
    is_open_ = true;
    since_us_ = since_us;
    const auto extent = log_.Look();
    if (!extent.ok()) return false;
    begin_ = std::max(stream_.begin, extent->begin);
    at_ = std::min(stream_.end, extent->end);
    if (at_ <= begin_) return false;
    ReadTimes(read);
    region_ = times_.size() - 1;
    if (from != nullptr && !SkipTo(*from, read)) return false;
    return !IsTooOld();
  }

  struct Line {
    std::uint64_t offset = 0;
    std::string_view text;
  };
  // Reads a chunk, or the rest of the interval that place() is in, and passes its lines to `take`,
  // the newest first, until `take` returns false. Returns false if no line is left.
  bool Step(const std::function<bool(const Line&)>& take, std::uint64_t* read) {
    const std::uint64_t start = std::max(begin_, times_[region_].offset);
    if (at_ > start) {
      const std::uint64_t from = at_ - start > kChunk ? at_ - kChunk : start;
      // (One more byte shows whether a line begins there.)
      const std::uint64_t before = from > begin_ ? 1 : 0;
      auto some = log_.Read(from - before, at_ - from + before);
      if (!some.ok() || some->size() != at_ - from + before) return false;
      *read += some->size();
      const bool begins_a_line = before == 0 || some->front() == '\n';
      std::string text = some->substr(before) + carry_;
      at_ = from;
      if (!Cut(text, begins_a_line, take)) return true;
    }
    if (at_ > start) return true;
    if (region_ == 0) return false;
    --region_;
    return !IsTooOld();
  }

 private:
  struct Time {
    std::int64_t time_us = 0;
    std::uint64_t offset = 0;  // The bytes from here on were written at that time or later.
  };

  std::int64_t EndTime() const { return stream_.ended_us == 0 ? kNow : stream_.ended_us; }
  std::int64_t TimeOf(std::size_t region) const { return times_[region].time_us; }
  // True if everything in the region and before it was written before `since_us_`.
  bool IsTooOld() const {
    const bool is_last = region_ + 1 == times_.size();
    return since_us_ != 0 && (is_last ? EndTime() : TimeOf(region_ + 1)) < since_us_;
  }

  // Reads the index as regions of increasing time and offset; the first one begins with the
  // attempt.
  void ReadTimes(std::uint64_t* read) {
    times_ = {{stream_.started_us, 0}};
    const auto entries = LogTimes::Read(stream_.times_path);
    *read += entries.size() * LogTimes::kRecordBytes;
    for (const auto& entry : entries) {
      const std::int64_t time = std::min(std::max(entry.time_us, times_.back().time_us), EndTime());
      if (entry.offset < times_.back().offset || entry.offset >= at_) continue;
      if (entry.offset == times_.back().offset || time == times_.back().time_us) {
        times_.back().time_us = std::max(times_.back().time_us, time);
      } else {
        times_.push_back({time, entry.offset});
      }
    }
  }

  // Skips to a position. Returns false if no line is left after it.
  bool SkipTo(const Place& from, std::uint64_t* read) {
    const Place own = place();
    const bool is_own = own.StreamKey() == from.StreamKey();
    const auto is_over = [&](std::size_t region) {
      if (TimeOf(region) != from.time_us) return TimeOf(region) > from.time_us;
      return own.StreamKey() > from.StreamKey();
    };
    const std::size_t last = region_;
    while (is_over(region_)) {
      if (region_-- == 0) return false;
    }
    if (is_own && TimeOf(region_) == from.time_us) {
      at_ = std::min(at_, from.offset);
    } else if (region_ != last) {
      at_ = std::min(at_, EndOfLine(times_[region_ + 1].offset, read));
    }
    return at_ > begin_;
  }

  // Returns the end of the line that contains the byte before `offset`.
  std::uint64_t EndOfLine(std::uint64_t offset, std::uint64_t* read) {
    if (offset <= begin_) return offset;
    const auto some = log_.Read(offset - 1, kMostOfALine);
    if (!some.ok()) return offset;
    *read += some->size();
    const auto newline = some->find('\n');
    return newline == std::string::npos ? offset : offset + newline;
  }

  // Passes the lines of `text` to `take`; returns false if `take` has. Keeps the front part of
  // `text`, whose line begins further back, in carry_.
  bool Cut(std::string& text, bool begins_a_line, const std::function<bool(const Line&)>& take) {
    std::size_t end = text.size();
    bool has_newline = end > 0 && text[end - 1] == '\n';
    while (end > 0) {
      const std::size_t text_end = has_newline ? end - 1 : end;
      const std::size_t newline =
          text_end == 0 ? std::string::npos : text.rfind('\n', text_end - 1);
      const bool is_first = newline == std::string::npos;
      if (is_first && !begins_a_line && end <= kMostOfALine) break;
      const std::size_t begin = is_first ? 0 : newline + 1;
      if (!take({at_ + begin, std::string_view(text).substr(begin, text_end - begin)})) {
        return false;
      }
      end = begin;
      has_newline = true;
    }
    carry_ = text.substr(0, end);
    return true;
  }

  const SearchedStream& stream_;
  LogSegments log_;
  bool is_open_ = false;
  std::int64_t since_us_ = 0;
  std::uint64_t begin_ = 0;
  std::vector<Time> times_;  // Oldest first; never empty once the source is open.
  std::size_t region_ = 0;   // The region in which the next lines begin.
  std::uint64_t at_ = 0;     // Everything from this offset on was read ...
  std::string carry_;        // ... but this text, the end of a line, was not searched.
};

struct Later {
  bool operator()(const Source* a, const Source* b) const {
    const auto key = [](const Source* one) {
      const SearchedStream& stream = one->stream();
      return std::make_tuple(one->time_us(), std::string_view(stream.task), stream.attempt,
                             stream.stream);
    };
    return key(a) < key(b);
  }
};

bool MayHaveLines(const AttemptRow& attempt, msg::LogStream stream,
                  const msg::SearchLogsRequestT& request) {
  if (attempt.started_us == 0 || LogEnd(attempt, stream) <= LogBegin(attempt, stream)) return false;
  return request.since_us == 0 || attempt.ended_us == 0 || attempt.ended_us >= request.since_us;
}

std::unique_ptr<msg::FoundLineT> Found(const Source& source, const Source::Line& line) {
  auto found = std::make_unique<msg::FoundLineT>();
  const SearchedStream& stream = source.stream();
  found->task = stream.task;
  found->attempt = stream.attempt;
  found->stream = stream.stream;
  found->offset = line.offset;
  found->time_us = source.time_us();
  const std::string_view text = line.text.substr(0, kMostFoundLineBytes);
  found->text.assign(text.begin(), text.end());
  return found;
}

}  // namespace

void AddSearchedStreams(const JobRow& job, int task, const std::string& state_directory,
                        const msg::SearchLogsRequestT& request,
                        std::vector<SearchedStream>* streams) {
  for (std::size_t i = 0; i < job.tasks.size(); ++i) {
    if (task >= 0 && static_cast<std::size_t>(task) != i) continue;
    const TaskRow& row = job.tasks[i];
    for (const AttemptRow& attempt : row.attempts) {
      for (const auto stream : {msg::LogStream::Stdout, msg::LogStream::Stderr}) {
        const bool is_error = stream == msg::LogStream::Stderr;
        if ((request.errors_only && !is_error) || (request.output_only && is_error)) continue;
        if (!MayHaveLines(attempt, stream, request)) continue;
        const auto times = is_error ? kStderrTimesFile : kStdoutTimesFile;
        streams->push_back(
            {.task = absl::StrCat(job.id, "/", row.name()),
             .attempt = static_cast<std::uint32_t>(attempt.number),
             .stream = stream,
             .started_us = attempt.started_us,
             .ended_us = attempt.ended_us,
             .begin = LogBegin(attempt, stream),
             .end = LogEnd(attempt, stream),
             .path = LogPath(job, row, state_directory, attempt.number, stream),
             .times_path = absl::StrCat(AttemptFolder(job, row, state_directory, attempt.number),
                                        "/", runtime::Absl(times))});
      }
    }
  }
}

absl::StatusOr<msg::SearchLogsReplyT> SearchStreams(const std::vector<SearchedStream>& streams,
                                                    const msg::SearchLogsRequestT& request,
                                                    const std::function<bool()>& is_cancelled,
                                                    std::size_t most_bytes) {
  if (request.pattern.size() > kMostPatternBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("pattern: it is longer than ", kMostPatternBytes, " bytes"));
  }
  const RE2 pattern(request.pattern, PatternOptions());
  if (!pattern.ok()) return absl::InvalidArgumentError(absl::StrCat("pattern: ", pattern.error()));
  std::optional<Place> from;
  if (!request.cursor.empty()) {
    auto place = ParseCursor(request.cursor);
    if (!place.ok()) return place.status();
    from = *std::move(place);
  }
  const std::size_t limit =
      std::min<std::size_t>(request.limit == 0 ? kStandardLines : request.limit, kMostFoundLines);

  std::vector<std::unique_ptr<Source>> sources;
  std::priority_queue<Source*, std::vector<Source*>, Later> next;
  for (const SearchedStream& stream : streams) {
    if (from && stream.started_us > from->time_us) continue;
    sources.push_back(std::make_unique<Source>(&stream));
    next.push(sources.back().get());
  }
  msg::SearchLogsReplyT reply;
  std::size_t found_bytes = 0;
  bool has_searched = false;
  while (!next.empty()) {
    if (is_cancelled()) return absl::CancelledError("the caller has gone");
    Source* const source = next.top();
    // (Each answer makes progress by at least one chunk, however much was read of the indexes.)
    if (has_searched && reply.read_bytes >= most_bytes) {
      reply.next = CursorOf(source->place());
      break;
    }
    next.pop();
    if (!source->is_open()) {
      if (source->Open(from ? &*from : nullptr, request.since_us, &reply.read_bytes)) {
        next.push(source);
      }
      continue;
    }
    has_searched = true;
    bool is_full = false, has_left = false;
    int looked_at = 0;
    const auto take = [&](Source::Line line) {
      if (++looked_at % kLinesBetweenLooks == 0) has_left = is_cancelled();
      if (has_left) return false;
      if (line.text.ends_with('\r')) line.text.remove_suffix(1);
      if (!RE2::PartialMatch(re2::StringPiece(line.text.data(), line.text.size()), pattern)) {
        return true;
      }
      reply.lines.push_back(Found(*source, line));
      found_bytes += reply.lines.back()->text.size();
      is_full = reply.lines.size() >= limit || found_bytes >= kMostFoundBytes;
      return !is_full;
    };
    const Place place = source->place();
    const bool has_more = source->Step(take, &reply.read_bytes);
    if (has_left) return absl::CancelledError("the caller has gone");
    if (is_full) {
      Place end = place;
      end.offset = reply.lines.back()->offset;
      reply.next = CursorOf(end);
      break;
    }
    if (has_more) next.push(source);
  }
  return reply;
}

}  // namespace launcher
