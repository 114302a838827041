#include "launcher/log_record.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "bus/call/record_page.h"
#include "bus/wire/topic.h"
#include "launcher/job/job_row.h"
#include "launcher/log/line_reader.h"
#include "launcher/log/log_segments.h"
#include "launcher/log/log_since.h"

namespace launcher {
namespace {

constexpr std::size_t kAttemptsOfEnds = 100;
constexpr std::uint64_t kMaxRead = 256 << 10;

// A task of a job.
struct Place {
  const JobRow* job = nullptr;
  const TaskRow* task = nullptr;
};

// Finds the task of a topic; nullopt if the topic is not of a known job.
std::optional<Place> PlaceOf(const JobTable& table, std::string_view topic) {
  const std::string_view root = "l/";
  if (!topic.starts_with(root)) return std::nullopt;
  const std::string_view rest = topic.substr(root.size());
  const JobRow* const job = table.Row(bus::DecodeLevel(rest.substr(0, rest.find('/'))));
  if (job == nullptr) return std::nullopt;
  for (const TaskRow& task : job->tasks) {
    if (TopicOfLogs(job->id, task.name()) == topic) return Place{job, &task};
  }
  return std::nullopt;
}

struct Lane {
  std::uint64_t number = 0;
  msg::LogStream stream = msg::LogStream::Stdout;
  int attempt = 0;
  std::string path;
  std::uint64_t begin = 0, end = 0;  // The range of the attempt's output in the file.

  // Returns the end as a position, which is 0 for an empty lane.
  std::uint64_t position() const { return end > begin ? end : 0; }
};

// Finds a lane; nullopt if its file does not exist. Its end is corrected if the log was shortened.
std::optional<Lane> FindLane(const LogRecord& record, const Place& place, const AttemptRow& attempt,
                             msg::LogStream stream) {
  Lane lane;
  lane.number = LaneOf(static_cast<std::uint32_t>(attempt.number), stream);
  lane.stream = stream;
  lane.attempt = attempt.number;
  lane.path = LogPath(*place.job, *place.task, record.state_directory, attempt.number, stream);
  const bool is_stdout = stream == msg::LogStream::Stdout;
  lane.begin = is_stdout ? attempt.stdout_begin : attempt.stderr_begin;
  lane.end = is_stdout ? attempt.stdout_end : attempt.stderr_end;
  struct stat about = {};
  const bool exists = stat(lane.path.c_str(), &about) == 0;
  if (exists && !S_ISREG(about.st_mode)) return std::nullopt;
  if (exists && static_cast<std::uint64_t>(about.st_size) >= lane.end) return lane;
  // The file is shorter than the stream, so it was rotated or truncated.
  const auto extent = LogSegments(lane.path).Look();
  if (!extent.ok()) return std::nullopt;
  lane.end = std::min(lane.end, extent->end);
  return lane;
}

constexpr msg::LogStream kStreams[] = {msg::LogStream::Stdout, msg::LogStream::Stderr};

// The positions of one topic in a request, by lane.
struct Wanted {
  std::string topic;
  std::map<std::uint64_t, std::uint64_t> positions;
};

// Groups the positions of a request by topic, in the order of the request.
std::vector<Wanted> WantedBy(const msg::SinceRequestT& request) {
  std::vector<Wanted> all;
  std::map<std::string_view, std::size_t> indices;
  for (const auto& place : request.places) {
    const auto [index, is_new] = indices.try_emplace(place->topic, all.size());
    if (is_new) all.push_back({place->topic, {}});
    all[index->second].positions.try_emplace(place->lane, place->position);
  }
  return all;
}

class Answer {
 public:
  Answer(const LogRecord& record, std::int64_t since_us) : record_(record), since_us_(since_us) {}

  // Adds the events after those positions. Returns false if the page is full.
  bool Add(const Wanted& wanted) {
    const auto place = PlaceOf(*record_.table, wanted.topic);
    if (!place) return true;
    const std::uint64_t first = wanted.positions.begin()->first;
    const auto& attempts = place->task->attempts;
    const auto begin = std::lower_bound(
        attempts.begin(), attempts.end(), first / 2, [](const AttemptRow& attempt, auto number) {
          return static_cast<std::uint64_t>(attempt.number) < number;
        });
    for (auto attempt = begin; attempt != attempts.end(); ++attempt) {
      for (const msg::LogStream stream : kStreams) {
        if (LaneOf(static_cast<std::uint32_t>(attempt->number), stream) < first) continue;
        if (!AddLane(wanted, *place, *attempt, stream)) return false;
      }
    }
    return true;
  }

  msg::SinceReplyT Take() {
    msg::SinceReplyT reply = page_.Take();
    reply.more = reply.more || stopped_;
    return reply;
  }

 private:
  bool AddLane(const Wanted& wanted, const Place& place, const AttemptRow& attempt,
               msg::LogStream stream) {
    const auto lane = FindLane(record_, place, attempt, stream);
    if (!lane) return true;
    const auto known = wanted.positions.find(lane->number);
    std::uint64_t from = known == wanted.positions.end() ? 0 : known->second;
    if (since_us_ != 0) {
      const std::uint64_t begin = std::min(LogOffsetSince(*place.job, *place.task, attempt, stream,
                                                          record_.state_directory, since_us_),
                                           lane->position());
      if (begin > std::max(from, lane->begin)) {
        if (!page_.AddBeginning(wanted.topic, lane->number, begin)) return false;
        has_event_ = true;
        from = begin;
      }
    }
    LineReader reader(lane->path, std::max(from, lane->begin));
    // A live lane ends at the end of a line, so all bytes before it count.
    while (reader.offset() < lane->end) {
      if (!MayRead(reader)) return false;
      const std::uint64_t expected = reader.offset();
      auto batch = reader.Next(lane->end, true);
      if (!batch) break;
      // Bytes that rotation has removed are in no span, so that the subscriber sees that they are
      // lost.
      if (batch->begin != expected) from = batch->begin;
      msg::EnvelopeT event =
          EnvelopeOf(from, LinesMessage(*place.job, *place.task, lane->attempt, stream, batch->end,
                                        std::move(batch->lines)));
      const msg::Span span = *event.span;
      if (!page_.Add(wanted.topic, span, std::move(event))) return false;
      has_event_ = true;
      from = batch->end;
    }
    read_ += reader.bytes_read();
    return true;
  }

  // Returns whether the page may read more. A page has at least one event, so that every page makes
  // progress.
  bool MayRead(const LineReader& reader) {
    const std::uint64_t read = read_ + reader.bytes_read();
    stopped_ = has_event_ && read + LineReader::kBatchBytes > kMaxRead;
    return !stopped_;
  }

  const LogRecord& record_;
  const std::int64_t since_us_;
  bus::SincePage page_;
  std::uint64_t read_ = 0;
  bool has_event_ = false;
  bool stopped_ = false;
};

}  // namespace

std::string TopicOfLogs(const std::string& job, const std::string& task) {
  return bus::TopicOf({"l", job, task});
}

std::uint64_t LaneOf(std::uint32_t attempt, msg::LogStream stream) {
  return 2 * std::uint64_t{attempt} + (stream == msg::LogStream::Stdout ? 0 : 1);
}

msg::EnvelopeT EnvelopeOf(std::uint64_t from, msg::LogLinesT lines) {
  msg::EnvelopeT envelope;
  envelope.span =
      std::make_unique<msg::Span>(LaneOf(lines.attempt, lines.stream), from, lines.end_offset);
  envelope.body.Set(std::move(lines));
  return envelope;
}

msg::EndsReplyT EndsOfLogs(const LogRecord& record, const msg::EndsRequestT& request) {
  std::map<std::string, Place> places;
  for (const JobRow* job : record.table->Rows()) {
    for (const TaskRow& task : job->tasks) {
      std::string topic = TopicOfLogs(job->id, task.name());
      if (!topic.starts_with(request.prefix) || topic <= request.after) continue;
      places[std::move(topic)] = {job, &task};
    }
  }
  bus::EndsPage page(request);
  for (const auto& [topic, place] : places) {
    const auto& attempts = place.task->attempts;
    const std::size_t left_out = attempts.size() - std::min(attempts.size(), kAttemptsOfEnds);
    for (std::size_t i = left_out; i < attempts.size(); ++i) {
      for (const msg::LogStream stream : kStreams) {
        const auto lane = FindLane(record, place, attempts[i], stream);
        if (lane && !page.Add(topic, lane->number, lane->position())) return page.Take();
      }
    }
  }
  return page.Take();
}

msg::SinceReplyT LogsSince(const LogRecord& record, const msg::SinceRequestT& request) {
  Answer answer(record, request.since_us);
  for (const Wanted& wanted : WantedBy(request)) {
    if (!answer.Add(wanted)) break;
  }
  return answer.Take();
}

}  // namespace launcher
