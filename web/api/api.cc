#include "web/api/api.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "bus/json/trial_and_job_json.h"
#include "bus/schema/datamanager_methods.h"
#include "glog/logging.h"
#include "runtime/text/printable.h"
#include "runtime/text/string_view.h"
#include "web/api/actions.h"
#include "web/api/answers.h"
#include "web/api/export.h"
#include "web/api/log_search_answer.h"
#include "web/api/series_format.h"
#include "web/api/series_reader.h"
#include "web/api/sweep_answers.h"
#include "web/api/value_answers.h"
#include "web/events/bus_topics.h"
#include "web/events/event_streams.h"
#include "web/http/problem.h"
#include "web/page/page_files.h"

namespace web {
namespace {

using nlohmann::json;

constexpr std::uint32_t kMostEnded = 10'000;
constexpr int kMostExports = 3;

Response JsonResponse(const json& body) {
  return {.body = body.dump(-1, ' ', false, json::error_handler_t::replace) + "\n"};
}

Response JsonResponse(const absl::StatusOr<json>& body) {
  return body.ok() ? JsonResponse(*body) : ProblemOf(body.status());
}

Response NoSuchRoute() { return Problem(404, "there is nothing at this path", "see docs/page.md"); }

std::string TextOf(const Target& target, std::string_view name) {
  return std::string(target.Find(name).value_or(""));
}

// Parses a number of the query; InvalidArgument names it.
absl::StatusOr<std::size_t> NumberOf(const Target& target, std::string_view name,
                                     std::size_t standard, std::size_t most) {
  const auto text = target.Find(name);
  if (!text) return standard;
  std::size_t number = 0;
  if (!absl::SimpleAtoi(runtime::Absl(*text), &number) || number > most) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", runtime::Absl(name), "\" is no number from 0 to ", most));
  }
  return number;
}

std::vector<std::string> ListOf(const Target& target, std::string_view name) {
  const std::string text = TextOf(target, name);
  if (text.empty()) return {};
  return absl::StrSplit(text, ',', absl::SkipEmpty());
}

bool IsRead(const Request& request) { return request.method == "GET" || request.method == "HEAD"; }

bool IsView(const std::string& name) {
  constexpr std::string_view kViews[] = {"runs", "run",     "sweeps",     "sweep", "processes",
                                         "logs", "compare", "parameters", "saved"};
  return std::find(std::begin(kViews), std::end(kViews), name) != std::end(kViews);
}

// Counts an export while this object lives.
class Counted {
 public:
  explicit Counted(std::atomic<int>& count) : count_(count) { ++count_; }
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::atomic<int>& count_;
};

}  // namespace

Api::Api(Options options)
    : options_(std::move(options)),
      guard_(options_.hosts),
      runs_({.client = options_.client, .clock = options_.clock}) {}

void Api::Handle(Request request, std::shared_ptr<Reply> reply) {
  if (auto refused = guard_.Refuse(request)) return reply->Send(*std::move(refused));
  const Segments& path = request.target.segments;
  if (path.size() < 2 || path[0] != "api" || path[1] != "v1") {
    return reply->Send(AnswerFile(request));
  }
  const Segments rest(path.begin() + 2, path.end());
  if (rest == Segments{"session"}) return reply->Send(Exchange(request));
  if (auto refused = RefuseStranger(request)) return reply->Send(*std::move(refused));
  if (rest == Segments{"key"}) return reply->Send(NewKey(request));
  if (rest == Segments{"address"})
    return reply->Send(JsonResponse(json{{"address", options_.address()}}));
  if (rest == Segments{"events"}) return OpenStream(request, std::move(reply));
  Later(std::move(request), rest, std::move(reply));
}

// Serves the files of the page and /healthz. They need no token, because they reveal nothing.
Response Api::AnswerFile(const Request& request) {
  const Segments& path = request.target.segments;
  if (!IsRead(request)) return Problem(405, "this path is only read");
  if (path == Segments{"healthz"}) return {.type = "text/plain", .body = "ok\n"};
  std::string name = "index.html";
  if (path.size() == 2 && path[0] == "page") {
    name = path[1];
  } else if (!path.empty() && !IsView(path[0])) {
    return NoSuchRoute();
  }
  const auto file = FindPageFile(name);
  if (!file) return NoSuchRoute();
  return {.type = std::string(file->type), .body = std::string(file->body)};
}

// Requires a token, except on the socket, which only this user's programs can use.
std::optional<Response> Api::RefuseStranger(const Request& request) const {
  if (request.door == Door::kSocket) return std::nullopt;
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view header = request.Header("authorization");
  if (header.starts_with(kBearer) && options_.sessions->Knows(header.substr(kBearer.size()))) {
    return std::nullopt;
  }
  return Problem(401, "this needs the token of a session", "open the page by: yard ui");
}

Response Api::Exchange(const Request& request) const {
  if (request.method != "POST") return Problem(405, "a key is swapped by POST");
  const json body = json::parse(request.body, nullptr, /*allow_exceptions=*/false);
  if (!body.is_object() || !body.contains("k") || !body["k"].is_string()) {
    return Problem(400, "the body is not {\"k\": KEY}");
  }
  const auto session = options_.sessions->Exchange(body["k"].get<std::string>());
  if (!session.ok()) return ProblemOf(session.status());
  return JsonResponse(json{{"token", session->token},
                           {"expires_s", absl::ToInt64Seconds(session->life)},
                           {"role", "owner"}});
}

// Keys are given only through the socket, to the owner: a token cannot be used to get another
// one.
Response Api::NewKey(const Request& request) const {
  if (request.door != Door::kSocket) return Problem(403, "keys are given through the socket");
  if (request.method != "POST") return Problem(405, "a key is made by POST");
  const std::string address = options_.address();
  if (address.empty()) {
    return Problem(409, "the page is off", "yard down --keep && yard up --page on");
  }
  return JsonResponse(json{{"address", address}, {"key", options_.sessions->NewKey()}});
}

void Api::OpenStream(const Request& request, std::shared_ptr<Reply> reply) const {
  if (request.method != "GET") return reply->Send(Problem(405, "events are got by GET"));
  std::vector<std::string> topics;
  for (const auto& [name, value] : request.target.query) {
    if (name != "topic") continue;
    if (!IsTopic(value)) {
      return reply->Send(Problem(400, absl::StrCat("there is no topic ", value),
                                 "yard, run:NAME, sweep:ID or logs:JOB"));
    }
    topics.push_back(value);
  }
  if (topics.empty() || topics.size() > kMostTopics) {
    return reply->Send(Problem(400, absl::StrCat("name 1 to ", kMostTopics, " topics")));
  }
  options_.open_stream(std::move(topics), std::string(request.Header("last-event-id")),
                       std::move(reply));
}

void Api::Later(Request request, Segments path, std::shared_ptr<Reply> reply) {
  const absl::Status queued =
      options_.pool->Submit([this, request = std::move(request), path = std::move(path), reply] {
        if (reply->IsGone()) return absl::OkStatus();
        if (path == Segments{"export"} && request.method == "GET") {
          ExportPoints(request.target, reply);
        } else if (path == Segments{"logs"} && IsRead(request)) {
          SearchLogs(*options_.client, *options_.pool, request.target, reply);
        } else {
          reply->Send(AnswerOrFail(request, path));
        }
        return absl::OkStatus();
      });
  if (!queued.ok()) reply->Send(ProblemOf(queued));
}

// An export occupies a thread of the pool while its client reads, so only kMostExports run at
// once.
void Api::ExportPoints(const Target& target, const std::shared_ptr<Reply>& reply) {
  const auto question = ParseExportQuestion(target);
  if (!question.ok()) return reply->Send(ProblemOf(question.status()));
  const Counted counted(exports_);
  if (exports_ > kMostExports) {
    return reply->Send(Problem(429, absl::StrCat(kMostExports, " exports are under way already")));
  }
  Export(*options_.client, *question, reply);
}

Response Api::AnswerOrFail(const Request& request, const Segments& path) {
  try {
    return Answer(request, path);
  } catch (const std::exception& error) {
    // A library threw; no request may end the service.
    LOG(ERROR) << "a request of /api/v1/" << (path.empty() ? "" : runtime::Printable(path[0]))
               << " fails: " << error.what();
    return Problem(500, "the request fails", kSeeTheLog);
  }
}

Response Api::Answer(const Request& request, const Segments& path) {
  if (request.method == "POST" && path == Segments{"series"}) return Series(request);
  if (request.method == "POST" && path == Segments{"importance"}) {
    return JsonResponse(ImportanceAnswer(*options_.client, request.body));
  }
  if (request.method == "POST" && path.size() == 3) {
    return path[0] == "views" ? ChangeView(request, path[1], path[2]) : Act(request, path);
  }
  if (!IsRead(request)) {
    return path.size() == 1 || path.size() == 2 ? Problem(405, "this path is only read")
                                                : NoSuchRoute();
  }
  if (path == Segments{"yard"}) return JsonResponse(YardAnswer(*options_.client));
  if (path == Segments{"views"}) return JsonResponse(ViewsAnswer());
  if (path == Segments{"usage"}) return JsonResponse(UsageAnswer(*options_.client));
  if (path == Segments{"runs"}) return Runs(request.target);
  if (path == Segments{"sweeps"}) return JsonResponse(SweepsAnswer(*options_.client));
  if (path.size() == 2 && path[0] == "sweeps") {
    return JsonResponse(SweepAnswer(*options_.client, path[1]));
  }
  if (path == Segments{"trials"}) return Trials(request.target);
  if (path == Segments{"jobs"}) return Jobs(request.target);
  if (path.size() == 2 && path[0] == "jobs") {
    return JsonResponse(JobAnswer(*options_.client, path[1]));
  }
  if (path.size() == 2 && (path[0] == "runs" || path[0] == "trials")) {
    return JsonResponse(RunAnswer(*options_.client, path[1]));
  }
  if (path.size() == 3 && path[0] == "runs" && path[2] == "tags") {
    return JsonResponse(TagsAnswer(*options_.client, path[1]));
  }
  if (path.size() == 3 && path[0] == "runs") {
    if (path[2] == "values") {
      return JsonResponse(ValuesAnswer(*options_.client, path[1], request.target));
    }
    if (path[2] == "blob") return Blob(request.target, path[1]);
    if (path[2] == "graph") {
      return JsonResponse(GraphAnswer(*options_.client, path[1], request.target));
    }
    if (path[2] == "lineage") return JsonResponse(LineageAnswer(*options_.client, path[1]));
  }
  const bool has_output =
      path.size() == 3 && (path[0] == "runs" || path[0] == "trials" || path[0] == "jobs");
  if (has_output && path[2] == "logs") return Logs(request.target, path[1]);
  return NoSuchRoute();
}

Response Api::Runs(const Target& target) {
  RunsQuestion question{.query = TextOf(target, "q"),
                        .sort = TextOf(target, "sort"),
                        .columns = ListOf(target, "cols")};
  // "cols" is a list with commas; a tag that contains a comma gets a "col" of its own.
  for (const auto& [name, value] : target.query) {
    if (name == "col") question.columns.push_back(value);
  }
  if (question.columns.size() > kMostRunColumns) {
    return Problem(400, absl::StrCat("more than ", kMostRunColumns, " columns"));
  }
  const auto limit = NumberOf(target, "limit", question.limit, kMostRows);
  if (!limit.ok()) return ProblemOf(limit.status());
  question.limit = *limit;
  constexpr std::size_t kMostRuns = 100'000'000;
  const auto first = NumberOf(target, "cursor", 0, kMostRuns);
  if (!first.ok()) return ProblemOf(first.status());
  question.first = *first;
  return JsonResponse(runs_.Read(question));
}

Response Api::Trials(const Target& target) const {
  const auto ended = NumberOf(target, "ended", 100, kMostEnded);
  if (!ended.ok()) return ProblemOf(ended.status());
  return JsonResponse(TrialsAnswer(*options_.client, static_cast<std::uint32_t>(*ended)));
}

Response Api::Jobs(const Target& target) const {
  const auto ended = NumberOf(target, "ended", 100, kMostEnded);
  if (!ended.ok()) return ProblemOf(ended.status());
  return JsonResponse(JobsAnswer(*options_.client, static_cast<std::uint32_t>(*ended)));
}

Response Api::Logs(const Target& target, const std::string& thing) const {
  const auto limit = NumberOf(target, "limit", 200, kMostLogLines);
  if (!limit.ok()) return ProblemOf(limit.status());
  return JsonResponse(LogsAnswer(*options_.client, {.thing = thing,
                                                    .task = TextOf(target, "task"),
                                                    .find = TextOf(target, "grep"),
                                                    .limit = *limit,
                                                    .errors_only = target.Find("stderr") == "1"}));
}

Response Api::Blob(const Target& target, const std::string& run) const {
  auto blob = BlobAnswer(*options_.client, run, target);
  return blob.ok() ? *std::move(blob) : ProblemOf(blob.status());
}

Response Api::Series(const Request& request) const {
  const auto question = ParseSeriesQuestion(request.body);
  if (!question.ok()) return ProblemOf(question.status());
  auto body = AnswerSeries(*options_.client, *question);
  if (!body.ok()) return ProblemOf(body.status());
  return {.type = std::string(kSeriesType), .body = *std::move(body)};
}

// Returns the log directory, by which saved views are stored.
absl::StatusOr<std::string> Api::LogDirectory() const {
  constexpr absl::Duration kPatience = absl::Seconds(10);
  const auto status = options_.client->Call<rpc::Datamanager::DataStatus>(
      {}, {.timeout = kPatience, .wait_for_service = true});
  if (!status.ok()) return status.status();
  return status->logdir;
}

absl::StatusOr<json> Api::ViewsAnswer() const {
  const auto logdir = LogDirectory();
  if (!logdir.ok()) return logdir.status();
  json views = json::array();
  for (const SavedView& view : options_.views->List(*logdir)) {
    views.push_back({{"name", view.name},
                     {"address", view.address},
                     {"saved", bus::TimeToJson(absl::ToUnixMicros(view.saved))}});
  }
  return json{{"logdir", *logdir}, {"views", std::move(views)}};
}

Response Api::ChangeView(const Request& request, const std::string& name,
                         const std::string& action) const {
  const auto logdir = LogDirectory();
  if (!logdir.ok()) return ProblemOf(logdir.status());
  absl::Status done;
  if (action == "set") {
    const json body = json::parse(request.body, nullptr, /*allow_exceptions=*/false);
    if (!body.is_object() || !body.contains("address") || !body["address"].is_string()) {
      return Problem(400, "the body is not {\"address\": ADDRESS}");
    }
    done = options_.views->Save(*logdir, name, body["address"].get<std::string>());
  } else if (action == "rm") {
    done = options_.views->Remove(*logdir, name);
  } else {
    return NoSuchRoute();
  }
  LOG(INFO) << "page: " << action << " view " << runtime::Printable(name) << ": "
            << (done.ok() ? "done" : done.ToString());
  return done.ok() ? JsonResponse(ViewsAnswer()) : ProblemOf(done);
}

Response Api::Act(const Request& request, const Segments& path) const {
  const json body = json::parse(request.body, nullptr, /*allow_exceptions=*/false);
  const auto done = DoAction(*options_.client, path[0], path[1], path[2], body);
  LOG(INFO) << "page: " << runtime::Printable(path[2]) << " " << runtime::Printable(path[0]) << " "
            << runtime::Printable(path[1]) << ", by the "
            << (request.door == Door::kSocket ? "socket" : "port") << ": "
            << (done.ok() ? "done" : done.status().ToString());
  return JsonResponse(done);
}

}  // namespace web
