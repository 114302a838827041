#include "tools/yard/verb.h"

#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "runtime/text/printable.h"
#include "tools/yard/verbs/verbs.h"
#include "tools/yard/yard_state.h"

namespace yard {

int ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kDone;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kUnimplemented:
      return kUsage;
    case absl::StatusCode::kNotFound:
      return kNotFound;
    case absl::StatusCode::kUnavailable:
      return kUnreachable;
    case absl::StatusCode::kDeadlineExceeded:
      return kTimedOut;
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kPermissionDenied:
      return kRefused;
    case absl::StatusCode::kCancelled:
      return kInterrupted;
    default:
      return kFailed;
  }
}

namespace {

// A call that nobody answers does not say why.
std::string WhyItIsSilent(const Context& context, const absl::Status& status) {
  if (!absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status)) return "";
  for (const std::string_view service : kServices) {
    const std::string why = WhyItIsSilent(context, std::string(service));
    if (!why.empty() && !absl::StrContains(status.message(), why)) return why;
  }
  return "";
}

}  // namespace

int Fail(Context& context, const char* verb, const absl::Status& status) {
  if (const std::string why = WhyItIsSilent(context, status); !why.empty()) {
    *context.err << "yard " << verb << ": " << runtime::Printable(why) << "\n";
  }
  // Several lines where it quotes a log.
  std::string_view text(status.message().data(), status.message().size());
  if (text.ends_with('\n')) text.remove_suffix(1);
  *context.err << "yard " << verb << ": " << runtime::PrintableLines(text) << "\n";
  return ExitCodeOf(status);
}

std::span<const VerbEntry> Verbs() {
  static const VerbEntry kVerbs[] = {
      {"up",
       "start the yard",
       {"yard up", "yard up --logdir ~/runs"},
       false,
       MakeUp,
       VerbEntry::Words::kOwn,
       true},
      {"down",
       "stop the yard",
       {"yard down", "yard down --keep"},
       false,
       MakeDown,
       VerbEntry::Words::kOwn,
       true},
      {"status",
       "services and what they do",
       {"yard status", "yard status --check"},
       // It looks for the yard itself, to show what there is of it.
       false,
       MakeStatus},
      {"doctor",
       "what is wrong with the yard, and how to mend it",
       {"yard doctor", "yard doctor --json"},
       false,
       MakeDoctor},
      {"run",
       "train: run a program as a trial",
       {"yard run -- python3 train.py", "yard run --grid lr=0.1,0.01 -- ./train --lr {lr}"},
       true,
       MakeRun,
       VerbEntry::Words::kProgram},
      {"launch",
       "run a job: many tasks from a file or flags",
       {"yard launch job.yaml", "yard launch --worker 2 --ps 1 -- python3 train.py"},
       // It looks for the yard once the job is known to be right.
       false,
       MakeLaunch,
       VerbEntry::Words::kProgram},
      {"ps", "trials and jobs", {"yard ps", "yard ps train"}, true, MakePs},
      {"top",
       "what runs, as it runs: processor, memory, metric, output",
       {"yard top", "yard top --once"},
       true,
       MakeTop},
      {"wait",
       "wait until trials or jobs have ended",
       {"yard wait first", "yard wait t-abcde --timeout 60"},
       true,
       MakeWait},
      {"stop",
       "stop a trial, a job or a tool",
       {"yard stop first", "yard stop tensorboard-6006"},
       true,
       MakeStop,
       VerbEntry::Words::kOwn,
       true},
      {"restart",
       "stop a job or a task and start it again",
       {"yard restart train", "yard restart j-abcde/worker-1 --grace 5"},
       true,
       MakeRestart,
       VerbEntry::Words::kOwn,
       true},
      {"signal",
       "send a signal to the tasks of a job",
       {"yard signal train USR1", "yard signal j-abcde/worker-1 SIGTERM"},
       true,
       MakeSignal,
       VerbEntry::Words::kOwn,
       true},
      {"pause",
       "take a trial off its slot, to go on later",
       {"yard pause first", "yard pause t-abcde t-fghij"},
       true,
       MakePause,
       VerbEntry::Words::kOwn,
       true},
      {"resume",
       "let a paused, stopped or failed trial go on",
       {"yard resume first", "yard resume t-abcde t-fghij"},
       true,
       MakeResume,
       VerbEntry::Words::kOwn,
       true},
      {"tell",
       "send a running trial's program an event",
       {"yard tell first '{\"lr\": 0.01}'", "yard tell t-abcde 42"},
       true,
       MakeTell,
       VerbEntry::Words::kOwn,
       true},
      {"rm",
       "forget an ended trial, a job or a run; remove its files",
       {"yard rm train", "yard rm t-abcde j-fghij"},
       true,
       MakeRm,
       VerbEntry::Words::kOwn,
       true},
      {"tensorboard",
       "show the runs in TensorBoard; start it if need be",
       {"yard tensorboard", "yard tensorboard --logdir ~/runs --port 0"},
       true,
       MakeTensorBoard,
       VerbEntry::Words::kAllWords},
      {"ui", "open the page in a browser", {"yard ui", "yard ui first"}, true, MakeUi},
      {"runs",
       "runs on disk",
       {"yard runs -n 10", "yard runs 'loss<0.1 & label:base'"},
       true,
       MakeRuns},
      {"show",
       "everything about a trial, a job or a run",
       {"yard show first", "yard show first --files"},
       true,
       MakeShow},
      {"logs",
       "output of trials, jobs and tasks",
       {"yard logs first -f", "yard logs train --since 10m --rank 0,2-3"},
       true,
       MakeLogs},
      {"watch",
       "follow a trial's reports",
       {"yard watch first", "yard watch first loss accuracy"},
       true,
       MakeWatch},
      {"plot",
       "draw metrics in the terminal",
       {"yard plot first second -m loss", "yard plot --query label:base --tags ^eval/"},
       true,
       MakePlot},
      {"compare",
       "what differs between runs",
       {"yard compare first second", "yard compare --query label:base --tags loss"},
       true,
       MakeCompare},
      {"export",
       "every point of runs, as csv or lines of JSON",
       {"yard export first > first.csv", "yard export --query label:base -m loss"},
       true,
       MakeExport},
      {"pub",
       "publish an event of your own",
       {"yard pub e/note/ '{\"text\": \"hi\"}'", "yard pub e/n/ '{{count}}' -n 100 --rate 10"},
       true,
       MakePub},
      {"sub", "receive events", {"yard sub t/", "yard sub 'm/*/loss' -n 10 --json"}, true, MakeSub},
      {"topic",
       "topics, and how much comes on them",
       {"yard topic ls e/", "yard topic hz m/ --window 5"},
       true,
       MakeTopic},
      {"call",
       "call a method of a service",
       {"yard call registry List '{}'", "yard call launcher --list"},
       true,
       MakeCall},
      {"completion",
       "a script that completes commands in your shell",
       {"yard completion bash", "yard completion fish"},
       false,
       MakeCompletion},
  };
  return kVerbs;
}

}  // namespace yard
