#include "web/api/export.h"

#include <cstddef>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/schema/datamanager_methods.h"
#include "nlohmann/json.hpp"
#include "runtime/mutex.h"
#include "runtime/text/string_view.h"
#include "web/http/problem.h"

namespace web {
namespace {

using nlohmann::json;
using Format = bus::ExportStyle::Format;

// Limit of the wait for a client. The server itself closes the connection of a client that reads
// nothing for half a minute.
constexpr absl::Duration kPatience = absl::Seconds(60);
constexpr std::size_t kMostWaiting = 2 << 20;
constexpr std::size_t kAlignment = 8;

absl::Status ReadStep(std::string_view name, std::string_view text, std::int64_t* step) {
  if (absl::SimpleAtoi(runtime::Absl(text), step)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("\"", runtime::Absl(name), "\" is no step"));
}

absl::Status ReadFormat(const std::string& name, ExportQuestion& question) {
  question.rows = bus::ParseExportFormat(name);
  if (question.rows || name == "columns") return absl::OkStatus();
  return absl::InvalidArgumentError("\"format\" is neither csv, jsonl nor columns");
}

msg::ReadScalarsRequestT RequestFor(const ExportQuestion& question) {
  msg::ReadScalarsRequestT request;
  request.selection = std::make_unique<msg::SelectionT>();
  request.selection->runs = question.runs;
  request.selection->query = question.query;
  request.selection->tags = question.tags;
  request.selection->first_step = question.first_step;
  request.selection->last_step = question.last_step;
  request.selection->whole = true;
  return request;
}

std::string_view TypeOf(const ExportQuestion& question) {
  if (!question.rows) return kColumnsType;
  return *question.rows == Format::kCsv ? "text/csv; charset=utf-8" : "application/x-ndjson";
}

template <typename T>
void AppendBytes(const std::vector<T>& values, std::size_t count, std::string& body) {
  body.append(reinterpret_cast<const char*>(values.data()), count * sizeof(T));
}

void AppendNumber(std::size_t number, std::string& body) {
  const auto narrow = static_cast<std::uint32_t>(number);
  body.append(reinterpret_cast<const char*>(&narrow), sizeof narrow);
}

// Writes parts, and blocks while the client has not read them.
class Writer {
 public:
  Writer(const ExportQuestion& question, std::shared_ptr<Reply> reply)
      : question_(question), reply_(std::move(reply)) {}

  // Returns false if the client has disconnected.
  bool Write(const msg::ReadScalarsReplyT& part) {
    std::string body = Begin();
    for (const auto& series : part.series) {
      if (question_.rows) {
        bus::AppendRows({.format = *question_.rows},
                        {.run = series->run,
                         .tag = series->tag,
                         .steps = series->steps,
                         .wall_times = series->wall_times,
                         .values = series->values},
                        &body);
      } else {
        AppendColumnBlock(*series, body);
      }
    }
    reply_->Write(std::move(body));
    return WaitForRoom();
  }
  void End() {
    std::string body = Begin();
    if (!question_.rows) body += ColumnsEnd();
    reply_->Write(std::move(body));
    reply_->End();
  }
  bool has_begun() const { return has_begun_; }

 private:
  // Starts the response, and returns the text before the first part.
  std::string Begin() {
    if (std::exchange(has_begun_, true)) return "";
    reply_->Begin({.type = std::string(TypeOf(question_))});
    return question_.rows ? std::string(bus::ExportHeader(*question_.rows)) : ColumnsHeader();
  }

  bool WaitForRoom() {
    if (reply_->Waiting() <= kMostWaiting) return !reply_->IsGone();
    const auto state = std::make_shared<State>();
    reply_->OnProgress([state] {
      const runtime::MutexLock lock(state->mutex);
      state->progressed = true;
      state->changed.SignalAll();
    });
    const runtime::MutexLock lock(state->mutex);
    while (!state->progressed) {
      if (!state->changed.WaitWithTimeout(state->mutex, kPatience)) return false;
    }
    return !reply_->IsGone();
  }

  struct State {
    runtime::Mutex mutex;
    runtime::CondVar changed;
    bool progressed ABSL_GUARDED_BY(mutex) = false;
  };
  const ExportQuestion& question_;
  const std::shared_ptr<Reply> reply_;
  bool has_begun_ = false;
};

}  // namespace

absl::StatusOr<ExportQuestion> ParseExportQuestion(const Target& target) {
  ExportQuestion question;
  for (const auto& [name, value] : target.query) {
    absl::Status read;
    if (name == "run") {
      question.runs.push_back(value);
    } else if (name == "tag") {
      question.tags.push_back(value);
    } else if (name == "q") {
      question.query = value;
    } else if (name == "from") {
      read = ReadStep(name, value, &question.first_step);
    } else if (name == "to") {
      read = ReadStep(name, value, &question.last_step);
    } else if (name == "format") {
      read = ReadFormat(value, question);
    } else {
      read = absl::InvalidArgumentError(
          absl::StrCat("there is no \"", name, "\": only run, tag, q, from, to, format"));
    }
    if (!read.ok()) return read;
  }
  return question;
}

std::string ColumnsHeader() { return std::string("YSC1\0\0\0\0", kAlignment); }

void AppendColumnBlock(const msg::ScalarsReplyT& points, std::string& body) {
  std::string text = json({{"run", points.run}, {"tag", points.tag}})
                         .dump(-1, ' ', false, json::error_handler_t::replace);
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  const std::size_t count = points.steps.size();
  AppendNumber(text.size(), body);
  AppendNumber(count, body);
  body += text;
  AppendBytes(points.steps, count, body);
  AppendBytes(points.wall_times, count, body);
  AppendBytes(points.values, count, body);
}

std::string ColumnsEnd() { return std::string(kAlignment, 0); }

void Export(bus::Client& client, const ExportQuestion& question,
            const std::shared_ptr<Reply>& reply) {
  Writer writer(question, reply);
  const auto end = client.Stream<rpc::Datamanager::ReadScalars>(
      RequestFor(question), [&](const msg::ReadScalarsReplyT& part) { return writer.Write(part); },
      {.timeout = absl::InfiniteDuration(), .wait_for_service = true});
  // A response without End() closes its connection, so that no client takes a part for the whole.
  if (!end.ok() && !writer.has_begun()) return reply->Send(ProblemOf(end.status()));
  if (end.ok() && writer.Write(*end)) writer.End();
}

}  // namespace web
