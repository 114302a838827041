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

// The shim's part of the report channel (docs/report-channel.md): takes lines from the task,
// numbers them, gets each to the trainer and its answer back, over any number of broken
// connections. On the poller's thread.
//
// Every line has one place in `queue_` until it is answered, so a program gets its answers in the
// order of its lines, also those that the relay itself gives. A barrier is asked for when all
// lines before it are answered (the reports are safe then), and what follows it waits. While the
// program waits there, which it may do for long, the relay says for it that it is alive.
//
// With `attach` it speaks for a process that no launcher has started. Its first greeting asks for a
// trial, and a refusal is for good: from then on each line is answered with an error. A line
// {"t":"finish"} is for the relay itself: the process has said that it is done. It gets its answers
// to the lines before that.
class ReportRelay {
 public:
  struct Attach {
    std::uint64_t pid = 0;
    std::string request;  // A JSON object on one line.
  };
  struct Options {
    std::string trainer_socket;  // Empty: nobody collects reports; answered with an error.
    std::string nonce;
    // Why, without a trainer_socket, in that error; empty: the task is no trial.
    std::string no_reports = {};
    std::optional<Attach> attach = {};
    // With `attach`: the process says that it is done, or has closed its end and has its answers.
    std::function<void()> on_finished = {};
    // Passes the line of a barrier on; call Answered() with the answer. Unset: barriers are not
    // supported.
    std::function<void(std::uint64_t number, const std::string& line)> on_barrier = {};
    std::chrono::milliseconds first_retry{20};
    std::chrono::milliseconds longest_retry{500};
    std::chrono::milliseconds beat{2000};  // Between signs of life at a barrier.
    // Lines, and bytes of lines, without an answer at most; then the program waits.
    std::size_t window_lines = 64;
    std::size_t window_bytes = 4 << 20;
  };
  // `poller` is not owned and outlives the relay.
  ReportRelay(Poller* poller, Options options);
  ~ReportRelay();
  ReportRelay(const ReportRelay&) = delete;
  ReportRelay& operator=(const ReportRelay&) = delete;

  // A stream socket whose other end the task has (its fd 3). It counts as a reporter from its
  // first line on.
  void AddReporter(runtime::UniqueFd socket);
  // A listening socket; each connection is a reporter. One at a time may speak: another gets an
  // error line and is closed.
  void Listen(runtime::UniqueFd listener);
  // Passes the answer of the barrier of that number to the program, if it still waits there.
  void Answered(std::uint64_t number, std::string answer);
  // Passes the line of the barrier on again at which the program waits, if it does.
  void AskAgain();
  // The task is being stopped, and killed at `end`: a report that the trainer takes is answered
  // with a stop in the place of an ok.
  void Stopping(std::chrono::steady_clock::time_point end) { kill_at_ = end; }
  // No process of the task is left: passes on what it has written, then END. `done` runs once
  // the trainer has confirmed that; without a trainer as soon as everything is read.
  void TaskEnded(std::function<void()> done);
  // The process that is attached to is gone.
  void ProcessGone();
  bool finished() const { return finished_; }  // The attached process has said so.

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
      kReport,   // To be answered by the trainer.
      kBarrier,  // By the launcher.
      kAnswer,   // `text` is the answer.
    };
    ReporterId reporter;  // 0: the relay itself.
    Kind kind;
    std::uint64_t number;  // Each kind has its own; that of a report is 0 until it is sent.
    std::string text;
    bool asked = false;  // kBarrier.
  };
  enum class Link { kNone, kDown, kGreeting, kUp };

  // The trainer's answer, or the stop that takes its place.
  std::string AnswerTo(const Line& line, std::string_view answer) const;
  // False if nobody waits to be.
  bool Accept();
  void OnReporter(ReporterId id, std::uint32_t events);
  void Read(ReporterId id);
  void ReadRest(ReporterId id);
  void TakeLines(ReporterId id);
  void TakeLine(ReporterId id, std::string line);
  // The answer to a line that nobody collects.
  std::string Refusal() const;
  // Answers what is queued, and all that follows, with an error.
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
  // The barrier that was asked for; null if no barrier was. Only signs of life can be before it.
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
  ReporterId speaker_ = 0;  // 0: the first who speaks.

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
  bool was_greeted_ = false;  // So the trial is there.
  bool finished_ = false;
  bool process_gone_ = false;
  std::string refused_;  // Why, if the trainer takes nothing more.

  bool ended_ = false;
  std::function<void()> done_;
};

}  // namespace launcher

#endif  // LAUNCHER_SHIM_REPORT_RELAY_H_
