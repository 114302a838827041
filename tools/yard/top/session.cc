#include "tools/yard/top/session.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/file/unique_fd.h"
#include "tools/yard/cli/interrupt.h"
#include "tools/yard/top/feed.h"
#include "tools/yard/top/keys.h"
#include "tools/yard/top/model.h"
#include "tools/yard/top/screen.h"
#include "tools/yard/top/terminal.h"
#include "tools/yard/top/view.h"

namespace yard::top {
namespace {

// If no sequence follows an ESC within this time, it was a key.
constexpr int kEscapeMs = 50;
constexpr int kPollMs = 1000;

// Wakes the session for events other than keys: new facts, a new size, an interrupt.
class Wake {
 public:
  Wake() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  int fd() const { return fd_.get(); }
  void Up() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t ignored = write(fd(), &one, sizeof one);
  }
  void Drain() const {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t ignored = read(fd(), &count, sizeof count);
  }

 private:
  const runtime::UniqueFd fd_;
};

// Records interrupts and wakes the session, for as long as it lives.
class Interruption {
 public:
  Interruption(Interrupt* interrupt, const Wake& wake) : interrupt_(interrupt) {
    interrupt_->Handle([this, &wake] {
      has_come_ = true;
      wake.Up();
    });
  }
  ~Interruption() { interrupt_->Handle({}); }
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  bool has_come() const { return has_come_; }

 private:
  Interrupt* const interrupt_;
  std::atomic<bool> has_come_ = false;
};

class Session {
 public:
  Session(Context& context, const std::string& metric)
      : context_(context), interruption_(context.interrupt, wake_), model_(metric) {}

  absl::Status Run() {
    // The feed outlives the terminal, so the shell's screen is restored before pending calls are
    // given up.
    auto feed = Feed::Start(context_, {.on_news = [this] { wake_.Up(); }});
    if (!feed.ok()) return feed.status();
    feed_ = *std::move(feed);
    auto terminal = Terminal::Open(context_.in, STDOUT_FILENO, wake_.fd());
    if (!terminal.ok()) return terminal.status();
    terminal_ = *std::move(terminal);
    while (!end_.has_value()) {
      if (const absl::Status drawn = Show(); !drawn.ok()) return drawn;
      Await();
    }
    return *end_;
  }

 private:
  absl::Status Show() {
    const auto [width, height] = terminal_->Size();
    Screen wanted = Draw(model_, {.width = width, .height = height, .zone = context_.zone()});
    const std::string bytes =
        Difference(shown_.has_value() ? &*shown_ : nullptr, wanted, context_.color);
    shown_ = std::move(wanted);
    return terminal_->Write(bytes);
  }

  // Waits for keys or news, for a second at most.
  void Await() {
    pollfd fds[] = {{.fd = context_.in, .events = POLLIN, .revents = 0},
                    {.fd = wake_.fd(), .events = POLLIN, .revents = 0}};
    if (poll(fds, 2, keys_.is_open() ? kEscapeMs : kPollMs) < 0) return;  // A signal came.
    if (fds[1].revents != 0) TakeNews();
    if (fds[0].revents != 0) {
      Read();
      while (const auto key = keys_.Next()) Press(*key);
    } else if (keys_.is_open() && fds[1].revents == 0) {
      if (const auto key = keys_.Close()) Press(*key);
    }
    feed_->Look(model_.subject());
    if (interruption_.has_come()) end_ = absl::CancelledError("interrupted");
  }

  void TakeNews() {
    wake_.Drain();
    if (auto facts = feed_->TakeFacts(); facts != nullptr) model_.Take(std::move(facts));
    if (std::string said = feed_->TakeSaid(); !said.empty()) model_.Say(std::move(said));
  }

  void Read() {
    char bytes[4096];
    const ssize_t got = read(context_.in, bytes, sizeof bytes);
    if (got > 0) {
      keys_.Add({bytes, static_cast<std::size_t>(got)});
    } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
      end_ = absl::CancelledError("the terminal is gone");
    }
  }

  void Press(const Key& key) {
    const Order order = model_.Press(key);
    switch (order.kind) {
      case Order::Kind::kNone:
        return;
      case Order::Kind::kQuit:
        end_ = absl::OkStatus();
        return;
      case Order::Kind::kInterrupt:
        end_ = absl::CancelledError("interrupted");
        return;
      case Order::Kind::kSuspend:
        terminal_->Suspend();
        shown_.reset();
        return;
      case Order::Kind::kRedraw:
        shown_.reset();
        return;
      case Order::Kind::kStop:
      case Order::Kind::kRestart:
        feed_->Do(order);
        return;
    }
  }

  Context& context_;
  const Wake wake_;
  const Interruption interruption_;
  Model model_;
  KeyReader keys_;
  std::optional<Screen> shown_;
  std::optional<absl::Status> end_;
  std::unique_ptr<Feed> feed_;
  std::unique_ptr<Terminal> terminal_;  // Declared last, so that it is restored first.
};

}  // namespace

absl::Status RunSession(Context& context, const std::string& metric) {
  return Session(context, metric).Run();
}

}  // namespace yard::top
