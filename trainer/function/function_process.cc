#include "trainer/function/function_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/file/unique_fd.h"
#include "runtime/text/json_value.h"
#include "runtime/text/string_view.h"
#include "trainer/checkpoint/checkpoint_directory.h"
#include "trainer/function/function_checkpoint.h"

namespace trainer {
namespace {

using runtime::JsonValue;

// An answer repeats data that the trainer accepted before, so it may exceed the size of one line
// up.
constexpr runtime::JsonOptions kAnswerLimits = {.depth = 64, .values = 1'000'000};

std::string Text(const JsonValue* value) {
  return value != nullptr && value->kind == JsonValue::Kind::kString ? runtime::StringOf(*value)
                                                                     : "";
}

// An answer of the trainer, parsed and owned.
struct AnswerLine {
  std::string text;  // `json` refers to it.
  JsonValue json;
  std::string type;
};

absl::Status Strange(std::string_view text) {
  return absl::InternalError(absl::StrCat("the trainer's answer is not understood: ",
                                          runtime::Quote(text.substr(0, 200))));
}

// Parses an answer; an error of the trainer becomes an error status.
absl::StatusOr<std::unique_ptr<AnswerLine>> Parse(std::string text) {
  auto line = std::make_unique<AnswerLine>();
  line->text = std::move(text);
  auto json = runtime::ParseJson(line->text, kAnswerLimits);
  if (!json.ok() || json->kind != JsonValue::Kind::kObject) return Strange(line->text);
  line->json = *std::move(json);
  line->type = Text(line->json.Find("t"));
  if (line->type != "error") return line;
  const std::string why = Text(line->json.Find("error"));
  return absl::FailedPreconditionError(
      absl::StrCat("the trainer refuses it: ", why.empty() ? line->text : why));
}

// Syncs the files in this process, so that the trainer's own sync, which delays other trials, is
// short. Ignores errors: the trainer reports a bad file itself.
void SyncTree(const std::string& directory) {
  std::error_code error;
  auto entry = std::filesystem::recursive_directory_iterator(directory, error);
  for (; !error && entry != std::filesystem::recursive_directory_iterator();
       entry.increment(error)) {
    const runtime::UniqueFd fd(
        open(entry->path().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (fd.valid()) (void)fsync(fd.get());
  }
}

absl::Status Prefixed(const std::string& prefix, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(prefix, ": ", status.message()));
}

}  // namespace

FunctionProcess::FunctionProcess(TrainableFunction function, ProgramChannel channel,
                                 Options options)
    : function_(std::move(function)),
      options_(std::move(options)),
      channel_(std::move(channel)),
      progress_(ResultSource()) {}

FunctionProcess::~FunctionProcess() {
  if (const auto running = session()) {
    running->RequestStop();
    running->Close();
  }
}

std::shared_ptr<FunctionSession> FunctionProcess::session() const {
  runtime::MutexLock lock(mutex_);
  return session_;
}

void FunctionProcess::RequestStop() {
  {
    runtime::MutexLock lock(mutex_);
    stop_requested_ = true;
  }
  if (const auto running = session()) running->RequestStop();
}

absl::Status FunctionProcess::Run() {
  const absl::Status ended = RunToTheEnd();
  // If the trainer refused a report, the function is still parked in it.
  if (still_runs()) {
    session()->RequestStop();
    thread_->Join(options_.end_timeout);
  }
  return ended;
}

absl::Status FunctionProcess::RunToTheEnd() {
  const auto welcome = SayHello();
  if (!welcome.ok()) return welcome.status();
  if (auto started = Start(*welcome); !started.ok()) return Fail(started);
  for (;;) {
    auto event = Await(absl::InfiniteDuration());
    if (!event.ok()) return event.status();
    if (event->kind != FunctionSession::Event::Kind::kReport) return Finish(*event);
    if (auto ended = Deliver(*std::move(event))) return *ended;
  }
}

absl::StatusOr<FunctionProcess::Welcome> FunctionProcess::SayHello() {
  if (auto sent = channel_.Send(absl::StrCat(R"({"t":"hello","v":1,"pid":)", getpid(), "}"));
      !sent.ok()) {
    return sent;
  }
  auto text = channel_.Receive();
  if (!text.ok()) return text.status();
  const auto line = Parse(*std::move(text));
  if (!line.ok()) return line.status();
  const JsonValue& json = (*line)->json;
  const JsonValue* const config = json.Find("config");
  const JsonValue* const iteration = json.Find("iteration");
  if ((*line)->type != "welcome" || config == nullptr) return Strange((*line)->text);
  Welcome welcome;
  auto values = NamedValues::FromJson(config->raw);
  if (!values.ok()) return Prefixed("the configuration", values.status());
  welcome.config = *std::move(values);
  welcome.checkpoint = Text(json.Find("checkpoint"));
  if (iteration != nullptr) welcome.iteration = std::max<std::int64_t>(0, iteration->integer);
  welcome.trial = {Text(json.Find("trial")), Text(json.Find("name")), options_.run_directory};
  return welcome;
}

absl::Status FunctionProcess::Start(const Welcome& welcome) {
  std::optional<Checkpoint> newest;
  CheckpointMetadata counters;
  counters.iteration = welcome.iteration;
  if (!welcome.checkpoint.empty()) {
    auto loaded = LoadCheckpoint(welcome.checkpoint);
    if (!loaded.ok()) return Prefixed("the checkpoint to start from", loaded.status());
    newest = *std::move(loaded);
    if (const auto directory = FindCheckpointDirectory(welcome.checkpoint); directory.ok()) {
      counters = ReadMetadata(*directory).value_or(counters);
    }
  }
  if (const auto warning = CheckpointWarning(function_); warning && options_.is_first_attempt) {
    if (auto logged = Log(*warning); !logged.ok()) return logged;
  }
  ResultSource source;
  source.trial_id = welcome.trial.id;
  source.pid = getpid();
  progress_ = TrainingProgress(std::move(source));
  progress_.Restore(counters);
  auto session =
      std::make_shared<FunctionSession>(welcome.trial, std::move(newest), options_.clock);
  const auto config = std::make_shared<const NamedValues>(welcome.config);
  {
    runtime::MutexLock lock(mutex_);
    session_ = session;
    if (stop_requested_) session->RequestStop();
  }
  try {
    // The thread owns everything that the function can reach, because it may outlive this object.
    thread_ =
        std::make_unique<runtime::Thread>(function_.name, [session, config, run = function_.run] {
          session->Run([&](Reporter& reporter) { return run(*config, reporter); });
        });
  } catch (const std::system_error& refused) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot start its thread: ", refused.what()));
  }
  return absl::OkStatus();
}

absl::Status FunctionProcess::Log(std::string_view text) {
  return channel_.Send(absl::StrCat(R"({"t":"log","text":)", runtime::Quote(text), "}"));
}

absl::StatusOr<FunctionSession::Event> FunctionProcess::Await(absl::Duration deadline) {
  const runtime::Clock* const real = runtime::Clock::Real();
  const bool beats = options_.heartbeat > absl::ZeroDuration();
  for (;;) {
    const absl::Duration left = deadline - real->Monotonic();
    auto event = session()->Await(beats ? std::min(left, options_.heartbeat) : left);
    if (event.ok() || left <= options_.heartbeat || !beats) return event;
    if (auto sent = channel_.Send(R"({"t":"hb"})"); !sent.ok()) return sent;
  }
}

std::optional<absl::Status> FunctionProcess::Deliver(FunctionSession::Event event) {
  Result result = progress_.Count(std::move(event.values), event.time, options_.clock->Now());
  const auto ends = EndsAt(function_, result);
  if (!ends.ok()) return Fail(ends.status());
  if (*ends && !result.done) {
    // Writes the reason of the end to the trial's log.
    Log(absl::StrCat("the stop function of ", function_.name, " ends the trial at iteration ",
                     result.training_iteration))
        .IgnoreError();
  }
  const bool done = result.done || *ends;
  const std::vector<Saved> saved = session()->TakeSaved();
  auto answer = Report(std::move(result.reported), done, saved);
  if (!answer.ok()) return Fail(answer.status());
  session()->AddEvents(std::move(answer->events));
  if (answer->grace || done) return Unwind(answer->grace.value_or(options_.end_timeout));
  session()->Resume();
  return std::nullopt;
}

absl::StatusOr<FunctionProcess::Answer> FunctionProcess::Report(NamedValues values, bool done,
                                                                const std::vector<Saved>& saved) {
  for (std::size_t i = 0; i + 1 < saved.size(); ++i) {
    // Checkpoints of values are named after the report's iteration, so only the last one is kept.
    if (saved[i].as_values && saved.back().as_values) {
      RemoveCheckpoint(saved[i].temporary).IgnoreError();
    } else if (auto committed = Commit(saved[i]); !committed.ok()) {
      return committed.status();
    }
  }
  std::string line = absl::StrCat(R"({"t":"report","seq":)", ++seq_);
  if (done) absl::StrAppend(&line, R"(,"done":true)");
  if (!saved.empty()) {
    SyncTree(saved.back().temporary);
    absl::StrAppend(&line, R"(,"ckpt":)", runtime::Quote(saved.back().temporary));
  }
  absl::StrAppend(&line, R"(,"m":)", values.ToJson(), "}");
  auto answer = Ask(line);
  if (!answer.ok()) return Prefixed(absl::StrCat("report ", seq_), answer.status());
  if (auto newest = session()->newest(); newest && !saved.empty()) {
    // A stop may carry no path; the checkpoint's path then follows from its name.
    newest->directory =
        !answer->path.empty()
            ? answer->path
            : absl::StrCat(
                  options_.run_directory, "/",
                  CheckpointName(saved.back().step.value_or(progress_.training_iteration())));
    session()->SetNewest(std::move(newest));
  }
  return answer;
}

absl::StatusOr<std::string> FunctionProcess::Commit(const Saved& saved) {
  SyncTree(saved.temporary);
  auto answer =
      Ask(absl::StrCat(R"({"t":"ckpt_end","path":)", runtime::Quote(saved.temporary), "}"));
  if (!answer.ok()) return Prefixed("cannot commit a checkpoint", answer.status());
  return std::move(answer->path);
}

absl::StatusOr<FunctionProcess::Answer> FunctionProcess::Ask(const std::string& line) {
  if (auto sent = channel_.Send(line); !sent.ok()) return sent;
  auto text = channel_.Receive();
  if (!text.ok()) return text.status();
  const auto parsed = Parse(*std::move(text));
  if (!parsed.ok()) return parsed.status();
  const AnswerLine& said = **parsed;
  Answer answer;
  if (said.type == "stop") {
    const JsonValue* const grace = said.json.Find("grace_s");
    const double seconds = grace != nullptr && grace->IsNumber() ? grace->number : 0;
    answer.grace = absl::Seconds(std::clamp(seconds, 0.0, 1e9));
  } else if (said.type != "ok") {
    return Strange(said.text);
  }
  answer.path = Text(said.json.Find("path"));
  if (const JsonValue* const events = said.json.Find("events")) {
    for (const JsonValue& event : events->items)
      answer.events.emplace_back(runtime::CompactJson(event));
  }
  return answer;
}

absl::Status FunctionProcess::Unwind(absl::Duration timeout) {
  session()->RequestStop();
  const absl::Duration deadline = runtime::Clock::Real()->Monotonic() + timeout;
  for (;;) {
    auto event = Await(deadline);
    if (absl::IsDeadlineExceeded(event.status())) {
      return absl::DeadlineExceededError(
          absl::StrCat("function ", function_.name, " still runs ", absl::FormatDuration(timeout),
                       " after it was to stop: it has to report or to return"));
    }
    if (!event.ok()) return event.status();
    if (event->kind != FunctionSession::Event::Kind::kReport) return Finish(*event);
    LOG(WARNING) << "a report of function " << function_.name
                 << " came after it was to stop: it is not logged";
  }
}

absl::Status FunctionProcess::Finish(const FunctionSession::Event& end) {
  thread_->Join();
  absl::Status kept;
  for (const Saved& saved : session()->TakeSaved()) kept.Update(Commit(saved).status());
  const bool failed = end.kind == FunctionSession::Event::Kind::kFailed;
  if (failed && !kept.ok()) LOG(WARNING) << kept;
  const absl::Status why = failed ? end.error : kept;
  return why.ok() ? why : Fail(why);
}

absl::Status FunctionProcess::Fail(const absl::Status& why) {
  const absl::Status error = Prefixed(absl::StrCat("function ", function_.name, " failed"), why);
  channel_.SendFailure(runtime::Std(error.message()));
  return error;
}

}  // namespace trainer
