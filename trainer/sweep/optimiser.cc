#include "trainer/sweep/optimiser.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/text/json_value.h"
#include "runtime/text/printable.h"
#include "runtime/text/random_id.h"
#include "trainer/attempt/refusal.h"

namespace trainer {
namespace {

using tuning::Conversation;
using Kind = Conversation::Answer::Kind;

constexpr absl::Duration kRetry = absl::Seconds(1);
constexpr absl::Duration kGrace = absl::Seconds(5);
// A program's log is truncated at this size.
constexpr std::uint64_t kLogLimit = 64 << 20;
constexpr std::size_t kMostSaid = 500;  // Most bytes of the program's own text in a reason.

std::string WordOf(const runtime::JsonValue& line, std::string_view name) {
  const runtime::JsonValue* const word = line.Find(name);
  const bool is_word = word != nullptr && word->kind == runtime::JsonValue::Kind::kString;
  return is_word ? runtime::StringOf(*word).substr(0, kMostSaid) : "";
}

}  // namespace

std::shared_ptr<Optimiser> Optimiser::Create(Options options) {
  return std::shared_ptr<Optimiser>(new Optimiser(std::move(options)));
}

Optimiser::Optimiser(Options options)
    : options_(std::move(options)), started_(options_.started_before) {}

Optimiser::~Optimiser() { options_.lines->Forget(nonce_); }

// Requests the earlier job again, which returns that job, and stops it.
void Optimiser::EndEarlier() {
  const tuning::Engine* const engine = options_.engine();
  if (engine == nullptr || started_ == 0 || std::exchange(has_ended_earlier_, true)) return;
  nonce_ = runtime::RandomHex128();
  const auto earlier = Run(
      *engine, started_, [](const absl::StatusOr<std::string>&) {}, [](const ProgramEnd&) {});
  earlier->Stop(absl::ZeroDuration(), "another trainer runs its sweep", options_.trace);
}

void Optimiser::Ask() {
  const tuning::Engine* const engine = options_.engine();
  if (is_over_ || engine == nullptr) return;
  const bool is_other_plan = runner_ != nullptr && changes_ != engine->changes();
  if (is_other_plan) EndProgram(kGrace);
  if (runner_ == nullptr) return Start();
  if (is_held_) options_.lines->Want(nonce_);
}

void Optimiser::Stop() {
  is_over_ = true;
  if (runner_ != nullptr) EndProgram(kGrace);
  retry_timer_.Cancel();
}

std::string Optimiser::WhyItWaits() const {
  if (is_over_ || is_ready_) return "";
  return last_failure_.empty() ? "its optimiser starts"
                               : absl::StrCat("its optimiser starts again: ", last_failure_);
}

// Answers each line once and in order; the shim may send a line again.
absl::StatusOr<std::string> Optimiser::TakeLine(const RelayedLine& line) {
  const auto keep = shared_from_this();
  if (line.is_end) {
    if (runner_ != nullptr) runner_->ReportsComplete({});
    return "";
  }
  if (line.number > taken_ + 1) return absl::FailedPreconditionError("a line is missing");
  if (line.number < taken_) return "";
  if (line.number == taken_) return Reply();
  taken_ = line.number;
  reply_.reset();
  const auto json = runtime::ParseJson(line.text);
  const std::string type = json.ok() ? WordOf(*json, "t") : "";
  if (type == "fail") said_ = WordOf(*json, "error");
  if (type == "fail" || type == "log" || type == "hb") {
    reply_ = "";
    return "";
  }
  timer_.Cancel();
  if (!std::exchange(has_greeted_, true)) {
    if (type == "hello") return Reply();
    Fail("its first line is not {\"t\":\"hello\"}");
    return "";
  }
  const tuning::Engine* const engine = options_.engine();
  if (engine == nullptr) return absl::FailedPreconditionError("the sweep is not at hand");
  const Conversation::Answer answer = conversation_.Take(*engine, line.text);
  if (answer.kind == Kind::kBroken) {
    Fail(answer.text);
    return "";
  }
  is_ready_ = true;
  if (answer.kind == Kind::kSuggested) {
    failures_ = 0;
    last_failure_.clear();
  }
  if (answer.kind != Kind::kHeard) options_.on_answer(answer);
  return Reply();
}

// Returns the next line for the program; Unavailable if it has to wait.
absl::StatusOr<std::string> Optimiser::Reply() {
  if (is_over_ || runner_ == nullptr) return R"({"t":"stop"})";
  if (reply_) return *reply_;
  const tuning::Engine* const engine = options_.engine();
  is_held_ = true;
  if (engine == nullptr || engine->changes() != changes_) {
    return absl::UnavailableError("the sweep has changed");
  }
  if (const auto next = conversation_.Next(*engine)) {
    is_held_ = false;
    reply_ = *next;
    ExpectAnswer(*engine);
    return *reply_;
  }
  if (conversation_.IsStuck(*engine)) {
    Fail("it waits for results, and no trial runs that could have one");
    return "";
  }
  return absl::UnavailableError("nothing is asked now");
}

void Optimiser::ExpectAnswer(const tuning::Engine& engine) {
  const double seconds = engine.plan().external.answer_seconds;
  timer_.Start(options_.loop, absl::Seconds(seconds), [this, seconds] {
    const auto keep = shared_from_this();
    Fail(absl::StrCat("it has said nothing for ", seconds, " s"));
  });
}

std::string Optimiser::RequestId(std::int64_t number) const {
  return absl::StrCat(options_.sweep_id, "/optimiser/", number);
}

std::string Optimiser::NameOf(std::int64_t number) const {
  return absl::StrCat(options_.sweep_name, "-optimiser-", number);
}

msg::JobSpecT Optimiser::SpecOf(const tuning::Engine& engine, std::int64_t number) const {
  msg::JobSpecT job;
  job.name = NameOf(number);
  job.argv = engine.plan().external.command;
  job.environment = options_.trial.environment;
  job.environment.push_back("YARD_SWEEP=" + options_.sweep_id);
  job.working_directory = options_.trial.working_directory;
  job.restart = msg::RestartPolicy::Never;
  job.stop_grace_ms = static_cast<std::uint32_t>(absl::ToInt64Milliseconds(kGrace));
  job.log_limit_bytes = kLogLimit;
  if (options_.trial.options != nullptr && options_.trial.options->caller != nullptr) {
    job.caller = std::make_unique<msg::CallersProcessT>(*options_.trial.options->caller);
  }
  job.report_channel = std::make_unique<msg::ReportChannelT>();
  job.report_channel->socket = options_.relay;
  job.report_channel->nonce = nonce_;
  auto label = std::make_unique<msg::KeyValueT>();
  label->key = "sweep";
  label->value = options_.sweep_id;
  job.labels.push_back(std::move(label));
  return job;
}

void Optimiser::Start() {
  const tuning::Engine* const engine = options_.engine();
  if (is_over_ || engine == nullptr || runner_ != nullptr || retry_timer_.is_set()) return;
  EndEarlier();
  if (const auto stored = options_.store_start(started_ + 1); !stored.ok()) {
    LOG_EVERY_N(ERROR, 20) << "sweep " << options_.sweep_id << " waits: " << stored;
    return StartLater();
  }
  ++started_;
  nonce_ = runtime::RandomHex128();
  changes_ = engine->changes();
  conversation_ = Conversation();
  has_greeted_ = is_ready_ = is_held_ = false;
  taken_ = 0;
  reply_.reset();
  said_.clear();
  options_.lines->Add(nonce_, [this](const RelayedLine& line) { return TakeLine(line); });
  ExpectAnswer(*engine);
  const auto is_current = [weak = weak_from_this(), number = started_] {
    const auto self = weak.lock();
    return self != nullptr && self->runner_ != nullptr && self->started_ == number ? self : nullptr;
  };
  runner_ = Run(
      *engine, started_,
      [is_current](const absl::StatusOr<std::string>& job) {
        if (const auto self = is_current(); self != nullptr && !job.ok()) {
          self->TakeRefusal(job.status());
        }
      },
      [is_current](const ProgramEnd& end) {
        if (const auto self = is_current()) self->TakeEnd(end);
      });
}

std::shared_ptr<ProgramRunner> Optimiser::Run(
    const tuning::Engine& engine, std::int64_t number,
    std::function<void(const absl::StatusOr<std::string>&)> on_launched,
    std::function<void(const ProgramEnd&)> on_ended) {
  auto runner = ProgramRunner::Create(
      {.loop = options_.loop,
       .jobs = options_.jobs,
       .trace = options_.trace,
       .on_launched =
           [this, alive = weak_from_this(), number, on_launched](const auto& job) {
             const auto self = alive.lock();
             on_launched(job);
             // No other callback follows a refusal.
             if (self != nullptr && !job.ok()) runners_.erase(number);
           },
       .on_ended =
           [this, alive = weak_from_this(), number, on_ended](const ProgramEnd& end) {
             const auto self = alive.lock();
             on_ended(end);
             if (self != nullptr) runners_.erase(number);
           }});
  runners_[number] = runner;
  runner->Launch(RequestId(number), SpecOf(engine, number));
  return runner;
}

void Optimiser::StartLater() {
  retry_timer_.Start(options_.loop, kRetry, [this] {
    const auto keep = shared_from_this();
    Start();
  });
}

void Optimiser::TakeRefusal(const absl::Status& status) {
  if (!MayTryAgain(status)) return Fail(std::string(status.message()));
  // The launcher has no room now. (It may have started the job all the same.)
  Drop();
  has_ended_earlier_ = false;
  StartLater();
}

void Optimiser::TakeEnd(const ProgramEnd& end) {
  std::string why = end.success ? "it has ended by itself" : end.reason;
  const auto last = std::find_if(
      end.error_lines.rbegin(), end.error_lines.rend(),
      [](const std::string& line) { return line.find_first_not_of(" \t\r") != std::string::npos; });
  if (last != end.error_lines.rend()) absl::StrAppend(&why, ": ", last->substr(0, kMostSaid));
  Drop();
  Fail(why);
}

// Detaches from the current program.
void Optimiser::Drop() {
  timer_.Cancel();
  options_.lines->Forget(nonce_);
  runner_ = nullptr;
  is_ready_ = false;
}

void Optimiser::EndProgram(absl::Duration grace) {
  const auto runner = runner_;
  Drop();
  runner->Stop(grace, "its sweep needs it no more", options_.trace);
}

void Optimiser::Fail(std::string why) {
  if (!said_.empty()) absl::StrAppend(&why, ": ", said_);
  if (runner_ != nullptr) EndProgram(absl::ZeroDuration());
  LOG(WARNING) << "sweep " << options_.sweep_id << ", its optimiser: " << runtime::Printable(why);
  last_failure_ = why;
  const bool is_given_up = ++failures_ >= kMostFailures;
  // (The caller may be inside the relay's delivery of lines.)
  options_.loop->Post([weak = weak_from_this(), is_given_up, why] {
    const auto self = weak.lock();
    if (self == nullptr || self->is_over_) return;
    if (!is_given_up) return self->Start();
    self->is_over_ = true;
    self->options_.on_failed(
        absl::StrCat("its optimiser has failed ", self->failures_, " times in a row, last: ", why,
                     ". Its output: yard logs ", self->NameOf(self->started_)));
  });
}

}  // namespace trainer
