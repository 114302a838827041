// A trainer with one sweep, without a bus, that kills itself with SIGKILL:
//   crashing_sweep DIRECTORY POINT COUNT PLAN
// when it reaches POINT for the COUNT-th time (COUNT 0: never). PLAN is the sweep's plan, with a
// parameter x. The programs of its trials run in this process and, in DIRECTORY/jobs, outlive it:
// each reports six times and then ends, or ends after it was told to. Programs of a population save
// before each report. Only one program advances at a time, when the trainer is idle, so that events
// have one order. An external optimiser runs in this process too; its suggestions follow from all
// that it was told. After the sweep's end, prints each of its events, without what differs between
// runs, and the end of each trial with the number of its checkpoints on disk.

#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "bus/launcher_client/job_control.h"
#include "bus/schema/launcher_generated.h"
#include "bus/schema/trainer_generated.h"
#include "glog/logging.h"
#include "runtime/event_loop.h"
#include "trainer/report/line_receiver.h"
#include "trainer/store/trial_store.h"
#include "trainer/sweep/optimiser_lines.h"
#include "trainer/sweep/sweeps.h"
#include "trainer/table/trials.h"

namespace {

constexpr int kSteps = 6;
constexpr int kSlots = 3;

// A launcher with the programs that it has started. Both outlive trainers in a file with lines
// "launched JOB X NONCE" (X is "-" for an optimiser), "line JOB" (a line was answered), "told JOB"
// (to stop or pause) and "ended JOB".
class Programs : public bus::JobControl {
 public:
  Programs(runtime::EventLoop* loop, const std::string& directory, bool saves)
      : loop_(loop), path_(directory + "/jobs"), saves_(saves) {
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) Take(line);
  }
  void Launch(const std::string& request_id, const std::string&, const msg::JobSpecT& spec,
              std::function<void(absl::StatusOr<std::string>)> done) override {
    const std::string job = "j-" + request_id;
    if (!programs_.contains(job)) {
      std::string x = spec.argv.front() == "optimiser" ? "-" : "0";
      for (const std::string& word : spec.argv) {
        if (absl::StartsWith(word, "--x=")) x = word.substr(4);
      }
      Note(absl::StrCat("launched ", job, " ", x, " ", spec.report_channel->nonce));
    }
    loop_->Post([=] { done(job); });
  }
  void Follow(const std::string& job, std::function<void(const msg::JobT&)>,
              std::function<void(absl::StatusOr<msg::JobT>)> ended) override {
    programs_.at(job).follower = std::move(ended);
    if (programs_.at(job).ended) TellOfTheEnd(job);
  }
  void Stop(const std::string& job, absl::Duration, const std::string&,
            const std::string&) override {
    if (!programs_.at(job).ended) Note("ended " + job);
    TellOfTheEnd(job);
  }

  // Returns the number of trial programs that have not ended.
  std::uint64_t Live() const {
    std::uint64_t live = 0;
    for (const auto& [job, program] : programs_) {
      live += !program.ended && !program.is_optimiser && program.follower ? 1 : 0;
    }
    return live;
  }
  // Ends a program that was told to end, because others may wait for its slot. True if there was
  // one.
  bool Leave(trainer::LineReceiver& lines) {
    for (const auto& [job, program] : programs_) {
      if (program.ended || !program.told || !program.follower) continue;
      StepOne(job, lines);
      return true;
    }
    return false;
  }
  // Advances the program with the fewest lines by one line.
  void Step(trainer::LineReceiver& lines) {
    std::string least;
    for (const auto& [job, program] : programs_) {
      if (program.ended || program.is_optimiser || !program.follower) continue;
      const auto rank = [](const Program& one) { return std::pair(one.lines, one.launched); };
      if (least.empty() || rank(program) < rank(programs_.at(least))) least = job;
    }
    if (!least.empty()) StepOne(least, lines);
  }
  // Advances each optimiser by one line, if it can.
  void Talk(trainer::LineReceiver& lines) {
    for (auto& [job, program] : programs_) {
      if (!program.ended && program.is_optimiser && program.follower) TalkOne(program, lines);
    }
  }

 private:
  struct Program {
    double x = 0;
    std::string nonce;
    std::int64_t lines = 0;
    std::size_t launched = 0;  // How many programs were launched before.
    bool told = false, ended = false, is_optimiser = false;
    // An optimiser sends `line` next; `heard` is a hash of what it received.
    std::string line = R"({"t":"hello"})";
    std::uint32_t heard = 1;
    std::function<void(absl::StatusOr<msg::JobT>)> follower = {};
  };
  void Take(const std::string& line) {
    std::istringstream words(line);
    std::string what, job;
    words >> what >> job;
    Program& program = programs_[job];
    if (what == "launched") {
      std::string x;
      words >> x >> program.nonce;
      program.is_optimiser = x == "-";
      program.launched = programs_.size();
      program.x = std::atof(x.c_str());
    }
    if (what == "line") ++program.lines;
    if (what == "told") program.told = true;
    if (what == "ended") program.ended = true;
  }
  void Note(const std::string& line) {
    std::ofstream(path_, std::ios::app) << line << "\n";
    Take(line);
  }
  static void TalkOne(Program& program, trainer::LineReceiver& lines) {
    const auto key = lines.Greet(program.nonce);
    if (!key.ok()) return;
    const auto answer = lines.Receive({{*key, program.lines + 1, program.line, false}}).front();
    if (!answer.ok()) return;  // There is no question.
    ++program.lines;
    for (const char c : *answer) program.heard = program.heard * 31 + static_cast<unsigned char>(c);
    const bool asks = absl::StrContains(*answer, R"("t":"ask")");
    program.line =
        asks ? absl::StrFormat(R"({"t":"config","config":{"x":0.%d,"y":"%s"}})", program.heard % 10,
                               program.heard / 10 % 2 == 0 ? "a" : "b")
        : absl::StrContains(*answer, R"("t":"start")") ? R"({"t":"ready"})"
                                                       : R"({"t":"ok"})";
  }
  // Returns true if the next line is no report but saves a checkpoint.
  bool Save(const std::string& job, const trainer::AttemptKey& attempt,
            trainer::LineReceiver& lines) {
    const std::int64_t said = programs_.at(job).lines;
    if (!saves_ || said % 3 == 2) return false;
    constexpr char kBegin[] = R"({"t":"ckpt_begin"})";
    const std::int64_t begin = said - said % 3 + 1;
    const auto begun = lines.Receive({{attempt, begin, kBegin, false}}).front();
    CHECK(begun.ok()) << begun.status();
    if (said % 3 == 1 && absl::StrContains(*begun, "\"path\"")) {
      const std::size_t at = begun->find("\"path\":\"") + 8;
      const std::string path = begun->substr(at, begun->find('"', at) - at);
      std::ofstream(path + "/w") << "w";
      const auto saved = lines.Receive(
          {{attempt, begin + 1, absl::StrCat(R"({"t":"ckpt_end","path":")", path, "\"}"), false}});
      CHECK(saved.front().ok()) << saved.front().status();
    }
    Note("line " + job);
    return true;
  }
  void StepOne(const std::string& job, trainer::LineReceiver& lines) {
    Program& program = programs_.at(job);
    const auto attempt = lines.Greet(program.nonce);
    if (!attempt.ok()) return;
    const std::int64_t length = saves_ ? 3 : 1;
    if (program.told || program.lines >= kSteps * length) {
      (void)lines.Receive({{*attempt, program.lines, "", true}});
      Note("ended " + job);
      return TellOfTheEnd(job);
    }
    if (Save(job, *attempt, lines)) return;
    const std::int64_t step = program.lines / length + 1;
    const double loss = (program.x - 0.3) * (program.x - 0.3) + 1.0 / static_cast<double>(step);
    const std::string text =
        absl::StrFormat(R"({"t":"report","step":%d,"seq":%d,"m":{"loss":%.17g,"cost":%.17g}})",
                        step, step, loss, 1 - program.x);
    const auto answers = lines.Receive({{*attempt, program.lines + 1, text, false}});
    CHECK(answers.front().ok()) << answers.front().status();
    const bool leaves = absl::StrContains(*answers.front(), R"("t":"stop")") ||
                        absl::StrContains(*answers.front(), R"("t":"pause")");
    if (leaves) Note("told " + job);
    Note("line " + job);
  }
  void TellOfTheEnd(const std::string& job) {
    loop_->Post([this, job] {
      auto& follower = programs_.at(job).follower;
      if (!follower) return;
      const auto ended = std::exchange(follower, {});
      msg::JobT end;
      end.id = job;
      end.state = msg::TaskState::Exited;
      end.tasks.push_back(std::make_unique<msg::TaskT>());
      auto last = std::make_unique<msg::AttemptT>();
      last->shim_lost = true;  // Nobody waits for more reports then.
      end.tasks.back()->attempts.push_back(std::move(last));
      ended(std::move(end));
    });
  }

  runtime::EventLoop* const loop_;
  const std::string path_;
  const bool saves_;
  std::map<std::string, Program> programs_;
};

int CheckpointsIn(const std::string& run) {
  int count = 0;
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(run, error)) {
    count += absl::StartsWith(file.path().filename().string(), "checkpoint_") ? 1 : 0;
  }
  return count;
}

void Print(trainer::TrialStore& store, trainer::Sweeps& sweeps, const std::string& id,
           const std::string& logdir) {
  const absl::Status read = store.ForEachSweepEvent(1, [](const trainer::SweepEventRow& row) {
    // (The text of a start event is the trial's id.)
    std::printf("%d %d %d %d %g %.17g %d %d %s %s\n", static_cast<int>(row.seq),
                static_cast<int>(row.kind), static_cast<int>(row.trial),
                static_cast<int>(row.number), row.resource, row.value,
                static_cast<int>(row.decided), static_cast<int>(row.end), row.others.c_str(),
                row.kind == 3 ? "" : row.text.c_str());
    return absl::OkStatus();
  });
  CHECK(read.ok()) << read;
  const auto details = sweeps.Details(id);
  CHECK(details.ok()) << details.status();
  for (const auto& trial : details->trials) {
    std::printf("%d %s %s %.17g %s\n", static_cast<int>(trial->number), trial->config.c_str(),
                msg::EnumNameSweepStage(trial->stage), trial->value, trial->reason.c_str());
    const int checkpoints = CheckpointsIn(absl::StrCat(logdir, "/", trial->name));
    if (checkpoints > 0) std::printf("checkpoints %d\n", checkpoints);
    if (!trial->breaks.empty()) std::printf("breaks %s\n", trial->breaks.c_str());
  }
  for (const std::uint64_t number : details->sweep->front) {
    std::printf("front %d\n", static_cast<int>(number));
  }
}

}  // namespace

int main(int argc, char** argv) {
  google::InitGoogleLogging(argv[0]);
  FLAGS_logtostderr = true;
  CHECK(argc == 5);
  const std::string directory = argv[1];
  const std::function<void(std::string_view)> fault = [&,
                                                       hits = 0](std::string_view point) mutable {
    if (point == argv[2] && ++hits == std::atoi(argv[3])) kill(getpid(), SIGKILL);
  };
  const auto loop = runtime::EventLoop::Create();
  auto store = trainer::TrialStore::Open(directory + "/trainer.db");
  CHECK(store.ok()) << store.status();
  Programs programs(loop.get(), directory, absl::StrContains(argv[4], "pbt"));
  trainer::OptimiserLines lines;
  auto sweeps = trainer::Sweeps::Open({.loop = loop.get(),
                                       .store = store->get(),
                                       .jobs = &programs,
                                       .lines = &lines,
                                       .logdir = directory,
                                       .relay = directory + "/relay",
                                       .fault = fault});
  CHECK(sweeps.ok()) << sweeps.status();
  auto trials = trainer::Trials::Open({.loop = loop.get(),
                                       .store = store->get(),
                                       .jobs = &programs,
                                       .logdir = directory,
                                       .relay = directory + "/relay",
                                       .hostname = "host",
                                       .slots = kSlots,
                                       .judge = sweeps->get(),
                                       .fault = fault});
  CHECK(trials.ok()) << trials.status();
  lines.SetTrials(trials->get());
  std::string id;
  const std::function<void()> turn = [&] {
    programs.Talk(lines);
    const msg::SweepT now = *(*sweeps)->Get(id);
    const bool is_quiet =
        now.trials >= now.parallel && now.waiting == 0 && now.running == programs.Live();
    if (!programs.Leave(lines) && is_quiet) programs.Step(lines);
    if (now.ended_us != 0) {
      Print(**store, **sweeps, id, directory);
      std::fflush(stdout);
      _exit(0);
    }
    loop->Post(turn);
  };
  loop->Post([&] {
    (*trials)->Resume();
    (*sweeps)->Resume(trials->get());
    msg::RunSweepRequestT request;
    request.name = "study";
    request.plan = argv[4];
    request.trial = std::make_unique<msg::RunTrialRequestT>();
    request.trial->argv = {"prog", "${args}"};
    request.trial->working_directory = "/";
    const auto sweep = (*sweeps)->Run("the request", request, "");
    CHECK(sweep.ok()) << sweep.status();
    id = sweep->id;
    turn();
  });
  loop->Run();
}
