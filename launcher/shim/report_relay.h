#ifndef LAUNCHER_SHIM_REPORT_RELAY_H_
#define LAUNCHER_SHIM_REPORT_RELAY_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "launcher/shim/poller.h"
#include "runtime/file/unique_fd.h"
#include "runtime/timer.h"

namespace launcher {

// The shim's part of the report channel (docs/report-channel.md): reads lines from the task,
// numbers them, delivers each to the trainer and returns the answer, over any number of broken
// connections. Use on the poller's thread.
//
// Every line stays in `queue_` until it is answered, so a program gets its answers in the order of
// its lines, including those that the relay gives itself. A barrier is passed on when all lines
// before it are answered (their reports are then stored), and the lines after it wait. While the
// program waits at a barrier, possibly for long, the relay sends the trainer heartbeats in its
// place.
//
// With `attach` the relay serves a process that no launcher has started. Its first greeting
// requests a trial from the trainer, and a refusal is final: from then on each line is answered
// with an error. A line {"t":"finish"} is for the relay itself: the process is done, and gets the
// answers to all lines before it.
class ReportRelay {
 public:
  // A process that no launcher has started, and its request for a trial.
  struct Attach {
    std::uint64_t pid = 0;
    std::string request;  // A JSON object on one line.
  };
  struct Options {
    // If empty, no trainer collects reports, and reports are answered with an error.
    std::string trainer_socket;
    // Identifies the attempt (or the attached process) in the greeting to the trainer.
    std::string nonce;
    // The reason in that error; if empty, it says that the task is not a trial.
    std::string no_reports = {};
    std::optional<Attach> attach = {};
    // With `attach`: called when the process has finished, or has closed its end and received its
    // answers.
    std::function<void()> on_finished = {};
    // Passes on the line of a barrier; call Answered() with the answer. Unset if barriers are not
    // supported.
    std::function<void(std::uint64_t number, const std::string& line)> on_barrier = {};
    // Delay before the first reconnect to the trainer, which then doubles up to longest_retry.
    std::chrono::milliseconds first_retry{20};
    std::chrono::milliseconds longest_retry{500};
    std::chrono::milliseconds beat{2000};  // Interval of heartbeats at a barrier.
    // Maximum number of unanswered lines, and of their bytes; beyond it no more is read from the
    // program (back-pressure).
    std::size_t window_lines = 64;
    std::size_t window_bytes = 4 << 20;
  };
  // `poller` is not owned and outlives the relay.
  ReportRelay(Poller* poller, Options options);
  ~ReportRelay();
  ReportRelay(const ReportRelay&) = delete;
  ReportRelay& operator=(const ReportRelay&) = delete;

  // Adds a stream socket whose other end the task has as its descriptor 3. It counts as a reporter
  // from its first line on.
  void AddReporter(runtime::UniqueFd socket);
  // Accepts connections from a listening socket; each is a reporter. Only one reporter at a time
  // may send lines: another gets an error line and is closed.
  void Listen(runtime::UniqueFd listener);
  // Passes the answer to a barrier on to the program, if it still waits at the barrier `number`.
  void Answered(std::uint64_t number, std::string answer);
  // Calls on_barrier again if the program waits at a barrier.
  void AskAgain();
  // The task is being stopped and will be killed at `end`: from now on a report that the trainer
  // accepts is answered with a stop instead of an ok.
  void Stopping(std::chrono::steady_clock::time_point end) { kill_at_ = end; }
  // No process of the task is left: delivers the remaining lines, then END. Calls `done` once the
  // trainer has confirmed END; without a trainer, as soon as everything is read.
  void TaskEnded(std::function<void()> done);
  // The attached process has ended.
  void ProcessGone();
  bool finished() const { return finished_; }  // The attached process has sent {"t":"finish"}.

 private:
  using ReporterId = std::uint64_t;
  struct Reporter {
    runtime::UniqueFd socket;
    std::string in;
    std::string out;
    std::size_t searched = 0;  // Bytes of `in` known to hold no newline.
    bool discarding = false;   // In the middle of a line that is too long.
    bool at_end = false;       // Nothing more can be read.
    bool gone = false;         // Neither reads nor writes any more.
    bool closing = false;      // Closed once `out` is written.
  };
  struct Line {
    enum class Kind {
      kReport,   // The trainer answers it.
      kBarrier,  // The launcher answers it.
      kAnswer,   // `text` is the answer.
    };
    ReporterId reporter;  // 0: the relay itself.
    Kind kind;
    // Numbered within each kind; that of a report is 0 until it is first sent.
    std::uint64_t number;
    std::string text;
    bool asked = false;  // Only for kBarrier: on_barrier was called.
  };
  enum class Link { kNone, kDown, kGreeting, kUp };

  // Returns the trainer's answer, or the stop that replaces it.
  std::string AnswerTo(const Line& line, std::string_view answer) const;
  // Accepts one connection; returns false if none is pending.
  bool Accept();
  void OnReporter(ReporterId id, std::uint32_t events);
  void Read(ReporterId id);
  void ReadRest(ReporterId id);
  void TakeLines(ReporterId id);
  void TakeLine(ReporterId id, std::string line);
  // Returns the error with which a line is answered if no trainer collects reports.
  std::string Refusal() const;
  // Answers all queued lines, and all later ones, with an error.
  void RefuseAll(std::string_view reason);
  std::string_view HowItEnded() const;
  bool MaySpeak(ReporterId id);
  void Queue(Line line);
  Line TakeFirst();
  void DropBarriers(const std::function<bool(const Line&)>& which);
  void AnswerLocally(ReporterId id, std::string answer);
  void Deliver(ReporterId id, std::string_view answer);
  void Flush(ReporterId id);
  void Close(ReporterId id);
  void UpdateReporters();
  bool IsDone(ReporterId id) const;
  bool WindowOpen(const Reporter& reporter) const;
  void Advance();
  // Returns the barrier that was passed on and awaits its answer; null if no barrier does. Only
  // heartbeats can precede it in the queue.
  Line* AwaitedBarrier();
  void BeatLater();

  void Connect();
  void Disconnect();
  void OnTrainer(std::uint32_t events);
  bool ReadTrainer();
  bool OnTrainerLine(std::string_view line);
  void Pump();
  void CheckEnd();

  Poller* const poller_;
  const Options options_;
  runtime::UniqueFd listener_;
  std::map<ReporterId, Reporter> reporters_;
  ReporterId last_reporter_ = 0;
  ReporterId speaker_ = 0;  // The reporter that may send lines; 0 until one has.

  std::deque<Line> queue_;
  std::size_t queue_bytes_ = 0;
  std::uint64_t last_number_ = 0;
  std::uint64_t last_barrier_ = 0;
  runtime::LoopTimer<Poller> beat_timer_;

  Link link_ = Link::kNone;
  runtime::UniqueFd trainer_;
  std::chrono::milliseconds retry_;
  runtime::LoopTimer<Poller> retry_timer_;
  std::string trainer_in_;
  std::string trainer_out_;
  std::uint64_t sent_number_ = 0;  // Last number put into trainer_out_ on this connection.
  bool end_sent_ = false;
  std::optional<std::chrono::steady_clock::time_point> kill_at_;

  // Only with `attach`.
  bool was_greeted_ = false;  // The trainer has accepted the greeting, so the trial exists.
  bool finished_ = false;
  bool process_gone_ = false;
  std::string refused_;  // The reason, if the trainer accepts no more lines; else empty.

  bool ended_ = false;
  std::function<void()> done_;
};

}  // namespace launcher

#endif  // LAUNCHER_SHIM_REPORT_RELAY_H_
