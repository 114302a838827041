#include "launcher/shim/report_relay.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "launcher/wire/relayed_line.h"
#include "launcher/wire/shim_protocol.h"
#include "runtime/process/peer.h"
#include "runtime/report_channel/relay_protocol.h"

// Always true:
// - A line is in queue_ from when it is read until it is answered. Only the first line is ever
//   answered, so a program gets its answers in the order of its lines. queue_bytes_ counts the
//   bytes of the lines.
// - A report gets its number when it is first sent; numbers increase in the order of the queue.
//   After a broken connection every report in the queue is sent again under its number, so that the
//   trainer counts it once (idempotent).
// - Back-pressure: the relay reads no more from a program while its window is full, or while the
//   program does not read its answers. So memory use does not grow with time.
// - One reporter at a time may send lines (speaker_); the line of another is answered with an
//   error.
// - END is sent after the last line, when no process of the task is left.

namespace launcher {
namespace {

constexpr std::size_t kReadChunk = 64 * 1024;
// Bytes of answers that a program has not read; beyond this no more lines are taken from it.
constexpr std::size_t kMaxUnreadAnswers = 256 * 1024;
constexpr std::size_t kMaxReporters = 16;
constexpr char kBeat[] = R"({"t":"hb"})";
constexpr std::size_t kMaxAnswer = 16 << 20;

// Escapes a text for use inside a JSON string.
std::string EscapedForJson(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\') escaped.push_back('\\');
    escaped.push_back(static_cast<unsigned char>(c) < 0x20 ? ' ' : c);
  }
  return escaped;
}

// Writes as much of `out` as the socket accepts. Returns false if the connection is broken.
bool WriteSome(int socket, std::string& out) {
  std::size_t written = 0;
  while (written < out.size()) {
    const ssize_t n =
        send(socket, out.data() + written, out.size() - written, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      written += static_cast<std::size_t>(n);
    } else if (errno != EINTR) {
      break;
    }
  }
  const bool broken = written < out.size() && errno != EAGAIN && errno != EWOULDBLOCK;
  out.erase(0, written);
  return !broken;
}

}  // namespace

ReportRelay::ReportRelay(Poller* poller, Options options)
    : poller_(poller), options_(std::move(options)), retry_(options_.first_retry) {
  if (!options_.trainer_socket.empty()) Connect();
}

ReportRelay::~ReportRelay() {
  for (const auto& [id, reporter] : reporters_) poller_->Forget(reporter.socket.get());
  if (listener_.valid()) poller_->Forget(listener_.get());
  if (trainer_.valid()) poller_->Forget(trainer_.get());
}

void ReportRelay::AddReporter(runtime::UniqueFd socket) {
  const ReporterId id = ++last_reporter_;
  const int fd = socket.get();
  reporters_[id].socket = std::move(socket);
  poller_->Watch(fd, EPOLLIN, [this, id](std::uint32_t events) { OnReporter(id, events); });
}

void ReportRelay::Listen(runtime::UniqueFd listener) {
  listener_ = std::move(listener);
  poller_->Watch(listener_.get(), EPOLLIN, [this](std::uint32_t) { Accept(); });
}

bool ReportRelay::Accept() {
  runtime::UniqueFd socket(
      accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.valid()) return false;
  if (!runtime::IsOfOurUser(socket.get())) return true;
  if (reporters_.size() < kMaxReporters) {
    AddReporter(std::move(socket));
    return true;
  }
  std::string refusal =
      ErrorLine("RESOURCE_EXHAUSTED", "too many connections to this task's report channel") + "\n";
  WriteSome(socket.get(), refusal);
  return true;
}

void ReportRelay::OnReporter(ReporterId id, std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) Flush(id);
  Reporter& reporter = reporters_.at(id);
  if ((events & (EPOLLHUP | EPOLLERR)) != 0) reporter.gone = true;
  if ((events & ~EPOLLOUT) != 0) Read(id);
  // The rest is read at once, because the next reporter may already be sending lines.
  if (reporter.gone) ReadRest(id);
  UpdateReporters();
  Pump();
  CheckEnd();
}

void ReportRelay::Read(ReporterId id) {
  Reporter& reporter = reporters_.at(id);
  if (reporter.at_end || reporter.closing) return;
  char chunk[kReadChunk];
  const ssize_t got = recv(reporter.socket.get(), chunk, sizeof chunk, MSG_DONTWAIT);
  const bool nothing_now = got < 0 && (errno == EAGAIN || errno == EINTR);
  if (got > 0) reporter.in.append(chunk, static_cast<std::size_t>(got));
  const bool somebody_writes = !ended_ && !reporter.gone;
  reporter.at_end = got == 0 || (got < 0 && !(nothing_now && somebody_writes));
  TakeLines(id);
}

void ReportRelay::ReadRest(ReporterId id) {
  const Reporter& reporter = reporters_.at(id);
  while (!reporter.at_end && !reporter.closing && WindowOpen(reporter)) Read(id);
}

void ReportRelay::TakeLines(ReporterId id) {
  for (;;) {
    const auto found = reporters_.find(id);
    if (found == reporters_.end() || found->second.closing) return;
    Reporter& reporter = found->second;
    if (!WindowOpen(reporter)) return;
    const auto end = reporter.in.find('\n', reporter.searched);
    if (end == std::string::npos) {
      reporter.searched = reporter.in.size();
      if (reporter.in.size() > runtime::kMaxReportLine) reporter.discarding = true;
      if (reporter.discarding) reporter.in.clear();
      if (reporter.in.empty()) reporter.searched = 0;
      return;
    }
    const bool too_long =
        std::exchange(reporter.discarding, false) || end > runtime::kMaxReportLine;
    std::string line = too_long ? std::string() : reporter.in.substr(0, end);
    reporter.in.erase(0, end + 1);
    reporter.searched = 0;
    if (!MaySpeak(id)) return;
    if (too_long) {
      AnswerLocally(id, ErrorLine("INVALID_ARGUMENT", "a line is longer than 1 MiB"));
    } else {
      TakeLine(id, std::move(line));
    }
  }
}

bool ReportRelay::MaySpeak(ReporterId id) {
  if (speaker_ == 0) speaker_ = id;
  if (speaker_ == id) return true;
  Reporter& reporter = reporters_.at(id);
  reporter.out +=
      ErrorLine("ALREADY_EXISTS", "another process of this task is its reporter") + "\n";
  reporter.closing = true;
  Flush(id);
  return false;
}

void ReportRelay::TakeLine(ReporterId id, std::string line) {
  if (options_.on_barrier && ReportLineType(line) == "barrier") {
    if (line.size() > kMaxBarrierLine) {
      return AnswerLocally(id, ErrorLine("INVALID_ARGUMENT", "a barrier is longer than 32 KiB"));
    }
    if (ended_) return;  // No process is left that waits at the barrier.
    Queue({id, Line::Kind::kBarrier, ++last_barrier_, std::move(line)});
    return Advance();
  }
  if (options_.attach && ReportLineType(line) == "finish") {
    finished_ = true;
    return options_.on_finished();
  }
  if (options_.trainer_socket.empty() || !refused_.empty()) {
    if (WantsAnswer(ReportLineType(line))) {
      AnswerLocally(id, Refusal());
    }
    return;
  }
  Queue({id, Line::Kind::kReport, 0, std::move(line)});
}

std::string ReportRelay::Refusal() const {
  // (The code tells an attached process whether it never had a trial or has lost it.)
  if (!refused_.empty()) return ErrorLine(was_greeted_ ? "CANCELLED" : "ABORTED", refused_);
  constexpr char kCode[] = "FAILED_PRECONDITION";
  if (options_.no_reports.empty()) {
    return ErrorLine(kCode, "this task is no trial: nobody collects its reports");
  }
  std::string line = ErrorLine(kCode, options_.no_reports);
  line.pop_back();
  return line + ",\"trial\":true}";
}

void ReportRelay::RefuseAll(std::string_view reason) {
  refused_ = reason.empty() ? "the trainer gives no reason" : EscapedForJson(reason);
  for (Line& line : queue_) {
    if (line.kind != Line::Kind::kReport) continue;
    queue_bytes_ -= line.text.size();
    const bool is_asked = WantsAnswer(ReportLineType(line.text));
    line.kind = Line::Kind::kAnswer;
    line.text = is_asked ? Refusal() : "";
    queue_bytes_ += line.text.size();
  }
  if (trainer_.valid()) poller_->Forget(trainer_.get());
  trainer_.reset();
  link_ = Link::kNone;
}

std::string_view ReportRelay::HowItEnded() const {
  if (!options_.attach) return {};
  if (finished_) return runtime::kEndFinished;
  return process_gone_ ? runtime::kEndGone : runtime::kEndClosed;
}

void ReportRelay::Queue(Line line) {
  queue_bytes_ += line.text.size();
  queue_.push_back(std::move(line));
}

ReportRelay::Line ReportRelay::TakeFirst() {
  Line first = std::move(queue_.front());
  queue_.pop_front();
  queue_bytes_ -= first.text.size();
  return first;
}

void ReportRelay::AnswerLocally(ReporterId id, std::string answer) {
  Queue({id, Line::Kind::kAnswer, 0, std::move(answer)});
  Advance();
}

// Handles the first lines of the queue as long as that does not involve the trainer.
void ReportRelay::Advance() {
  while (!queue_.empty() && queue_.front().kind == Line::Kind::kAnswer) {
    const Line line = TakeFirst();
    if (!line.text.empty()) Deliver(line.reporter, line.text);
  }
  if (queue_.empty() || queue_.front().kind != Line::Kind::kBarrier) return;
  Line& barrier = queue_.front();
  if (std::exchange(barrier.asked, true)) return;
  if (!options_.trainer_socket.empty()) BeatLater();
  options_.on_barrier(barrier.number, barrier.text);
}

ReportRelay::Line* ReportRelay::AwaitedBarrier() {
  const auto barrier = std::find_if(queue_.begin(), queue_.end(), [](const Line& line) {
    return line.kind == Line::Kind::kBarrier;
  });
  return barrier != queue_.end() && barrier->asked ? &*barrier : nullptr;
}

void ReportRelay::BeatLater() {
  beat_timer_.Start(poller_, options_.beat, [this] {
    if (AwaitedBarrier() == nullptr) return;
    // At most one heartbeat is in the queue, and none is queued while the trainer is not connected:
    // its time-out starts anew when it is.
    if (link_ == Link::kUp && queue_.front().kind == Line::Kind::kBarrier) {
      queue_.push_front({0, Line::Kind::kReport, 0, kBeat});
      queue_bytes_ += queue_.front().text.size();
      Pump();
    }
    BeatLater();
  });
}

void ReportRelay::Answered(std::uint64_t number, std::string answer) {
  const Line* const barrier = AwaitedBarrier();
  if (barrier == nullptr || barrier->number != number) return;
  const ReporterId id = barrier->reporter;
  DropBarriers([number](const Line& line) { return line.number == number; });
  Deliver(id, answer);
  Advance();
  UpdateReporters();
  Pump();
  CheckEnd();
}

void ReportRelay::AskAgain() {
  const Line* const barrier = AwaitedBarrier();
  if (barrier != nullptr) options_.on_barrier(barrier->number, barrier->text);
}

void ReportRelay::DropBarriers(const std::function<bool(const Line&)>& which) {
  std::erase_if(queue_, [&](const Line& line) {
    if (line.kind != Line::Kind::kBarrier || !which(line)) return false;
    queue_bytes_ -= line.text.size();
    return true;
  });
}

void ReportRelay::Deliver(ReporterId id, std::string_view answer) {
  const auto found = reporters_.find(id);
  if (found == reporters_.end()) return;
  found->second.out.append(answer).append("\n");
  Flush(id);
}

void ReportRelay::Flush(ReporterId id) {
  Reporter& reporter = reporters_.at(id);
  if (!WriteSome(reporter.socket.get(), reporter.out)) {
    // The program can read no more answers, but the lines that it has written still count.
    reporter.out.clear();
  }
}

void ReportRelay::Close(ReporterId id) {
  poller_->Forget(reporters_.at(id).socket.get());
  reporters_.erase(id);
  if (speaker_ == id) speaker_ = 0;
  DropBarriers([id](const Line& line) { return line.reporter == id; });
  Advance();
  if (reporters_.empty() && !ended_ && options_.attach) options_.on_finished();
}

bool ReportRelay::WindowOpen(const Reporter& reporter) const {
  return queue_.size() < options_.window_lines && queue_bytes_ < options_.window_bytes &&
         reporter.out.size() < kMaxUnreadAnswers;
}

bool ReportRelay::IsDone(ReporterId id) const {
  const Reporter& reporter = reporters_.at(id);
  if (reporter.closing) return reporter.out.empty();
  if (!reporter.at_end || reporter.in.find('\n') != std::string::npos) return false;
  // (A process that has finished still counts the answers, up to that of its finish.)
  const bool waits_for_end = finished_ && !process_gone_;
  if ((ended_ && !waits_for_end) || reporter.gone) return true;
  // The reporter has only closed its write side, and waits for its answers.
  const auto is_its = [&](const Line& line) { return line.reporter == id; };
  return reporter.out.empty() && std::none_of(queue_.begin(), queue_.end(), is_its);
}

void ReportRelay::UpdateReporters() {
  std::vector<ReporterId> ids;
  for (const auto& [id, reporter] : reporters_) ids.push_back(id);
  for (const ReporterId id : ids) {
    TakeLines(id);
    Reporter& reporter = reporters_.at(id);
    if (IsDone(id)) {
      Close(id);
      continue;
    }
    const bool reads = !reporter.at_end && !reporter.closing && WindowOpen(reporter);
    const bool may_go = reporter.at_end && !reporter.gone;
    poller_->Change(reporter.socket.get(), (reads ? EPOLLIN : 0u) | (may_go ? EPOLLHUP : 0u) |
                                               (reporter.out.empty() ? 0u : EPOLLOUT));
  }
}

void ReportRelay::Connect() {
  link_ = Link::kDown;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, options_.trainer_socket.c_str(), sizeof(address.sun_path) - 1);
  trainer_ = runtime::UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (connect(trainer_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    trainer_.reset();
    return Disconnect();
  }
  link_ = Link::kGreeting;
  trainer_in_.clear();
  trainer_out_ =
      options_.attach && !was_greeted_
          ? runtime::RelayAttach({options_.nonce, options_.attach->pid, options_.attach->request})
          : runtime::RelayGreeting(options_.nonce);
  sent_number_ = 0;
  end_sent_ = false;
  poller_->Watch(trainer_.get(), EPOLLIN | EPOLLOUT,
                 [this](std::uint32_t events) { OnTrainer(events); });
}

void ReportRelay::Disconnect() {
  if (trainer_.valid()) poller_->Forget(trainer_.get());
  trainer_.reset();
  link_ = Link::kDown;
  trainer_in_.clear();
  trainer_out_.clear();
  if (retry_timer_.is_set()) return;
  retry_timer_.Start(poller_, retry_, [this] { Connect(); });
  retry_ = std::min(retry_ * 2, options_.longest_retry);
}

void ReportRelay::OnTrainer(std::uint32_t events) {
  if ((events & ~EPOLLOUT) != 0 && !ReadTrainer()) Disconnect();
  Advance();
  UpdateReporters();
  Pump();
  CheckEnd();
}

bool ReportRelay::ReadTrainer() {
  char chunk[kReadChunk];
  const ssize_t got = recv(trainer_.get(), chunk, sizeof chunk, MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (got == 0) return false;
  trainer_in_.append(chunk, static_cast<std::size_t>(got));
  std::size_t taken = 0;
  for (;;) {
    const auto end = trainer_in_.find('\n', taken);
    if (end == std::string::npos) break;
    if (!OnTrainerLine(std::string_view(trainer_in_).substr(taken, end - taken))) return false;
    if (!refused_.empty()) return true;
    taken = end + 1;
  }
  trainer_in_.erase(0, taken);
  return trainer_in_.size() <= kMaxAnswer;
}

bool ReportRelay::OnTrainerLine(std::string_view line) {
  if (options_.attach) {
    auto reason = runtime::ReasonOfOver(line);
    if (!reason && link_ == Link::kGreeting) reason = runtime::ReasonOfRefusal(line);
    if (reason) {
      RefuseAll(*reason);
      return true;
    }
  }
  if (link_ == Link::kGreeting) {
    if (line != runtime::kGreeted) return false;
    link_ = Link::kUp;
    was_greeted_ = true;
    return true;
  }
  if (line == runtime::kEnded && end_sent_) {
    poller_->Forget(trainer_.get());
    trainer_.reset();
    link_ = Link::kNone;
    return true;
  }
  const auto answer = runtime::ParseRelayAnswer(line);
  // Reports are answered in order, so a valid answer is for the first line of the queue.
  if (!answer || queue_.empty() || queue_.front().kind != Line::Kind::kReport ||
      queue_.front().number != answer->number || answer->number > sent_number_) {
    return false;
  }
  retry_ = options_.first_retry;
  const Line first = TakeFirst();
  if (!answer->text.empty()) Deliver(first.reporter, AnswerTo(first, answer->text));
  Advance();
  return true;
}

std::string ReportRelay::AnswerTo(const Line& line, std::string_view answer) const {
  if (!kill_at_ || ReportLineType(line.text) != "report") return std::string(answer);
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      *kill_at_ - std::chrono::steady_clock::now());
  const double grace_s = static_cast<double>(std::max<std::int64_t>(left.count(), 0)) / 1000;
  std::string stop = StopInPlaceOf(answer, grace_s);
  return stop.empty() ? std::string(answer) : stop;
}

void ReportRelay::Pump() {
  if (link_ != Link::kUp && link_ != Link::kGreeting) return;
  if (!WriteSome(trainer_.get(), trainer_out_)) return Disconnect();
  for (Line& line : queue_) {
    if (link_ != Link::kUp || !trainer_out_.empty()) break;
    if (line.kind == Line::Kind::kBarrier) break;
    if (line.kind != Line::Kind::kReport) continue;
    if (line.number == 0) line.number = ++last_number_;
    if (line.number <= sent_number_) continue;
    trainer_out_ = runtime::RelayLine(line.number, line.text);
    sent_number_ = line.number;
    if (!WriteSome(trainer_.get(), trainer_out_)) return Disconnect();
  }
  if (link_ == Link::kUp && ended_ && reporters_.empty() && queue_.empty() && !end_sent_) {
    end_sent_ = true;
    trainer_out_ += runtime::RelayEnd(last_number_, HowItEnded());
    if (!WriteSome(trainer_.get(), trainer_out_)) return Disconnect();
  }
  poller_->Change(trainer_.get(), EPOLLIN | (trainer_out_.empty() ? 0u : EPOLLOUT));
}

void ReportRelay::TaskEnded(std::function<void()> done) {
  ended_ = true;
  done_ = std::move(done);
  if (listener_.valid()) {
    // A connection made just before the end may have left its lines in the backlog.
    for (std::size_t i = 0; i < kMaxReporters && Accept(); ++i) {
    }
    poller_->Forget(listener_.get());
    listener_.reset();
  }
  std::vector<ReporterId> ids;
  for (const auto& [id, reporter] : reporters_) ids.push_back(id);
  for (const ReporterId id : ids) {
    ReadRest(id);
  }
  DropBarriers([](const Line&) { return true; });
  Advance();
  UpdateReporters();
  Pump();
  CheckEnd();
}

void ReportRelay::ProcessGone() {
  process_gone_ = true;
  if (!ended_) return;
  UpdateReporters();
  Pump();
  CheckEnd();
}

void ReportRelay::CheckEnd() {
  if (!ended_ || !done_ || !reporters_.empty() || !queue_.empty() || link_ != Link::kNone) return;
  std::exchange(done_, nullptr)();
}

}  // namespace launcher
