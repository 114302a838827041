// Invariants:
// - Every ssh opens a connection of its own (no ControlMaster of the user's configuration), never
//   prompts, and exits with this process, because its stdin ends.
// - Only the script of the session that forwards the node's sockets starts the node.
//   No other script and no other process does.

#include "tools/yard/pool/host_keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/subprocess.h"
#include "runtime/text/printable.h"
#include "tools/yard/at/captured.h"
#include "tools/yard/at/ssh_words.h"
#include "tools/yard/pool/host_scripts.h"

namespace yard {
namespace {

constexpr absl::Duration kToPrepare = absl::Seconds(60);  // A login may run slow startup files.
constexpr absl::Duration kToCopy = absl::Minutes(15);     // Some ten megabytes.
constexpr absl::Duration kToStart = absl::Seconds(120);
constexpr absl::Duration kToReach = absl::Seconds(6);  // Host whose node is to be removed.
constexpr absl::Duration kToRemove = absl::Seconds(45);
constexpr absl::Duration kBetweenLooks = absl::Seconds(5);
constexpr absl::Duration kToEnd = absl::Seconds(2);
constexpr absl::Duration kIsWell = absl::Seconds(10);  // Then the retry pause is reset.
constexpr int kSshFailed = 255;
constexpr std::size_t kMostKept = 64 << 10;

// Returns the last line of text, printable.
std::string LastLine(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  const std::size_t end = text.rfind('\n');
  return runtime::Printable(end == text.npos ? text : text.substr(end + 1));
}

std::string ThisMachine() {
  utsname name = {};
  return uname(&name) == 0 ? absl::StrCat(name.sysname, " ", name.machine) : "";
}

// Returns a file in memory with this content, positioned at its beginning.
absl::StatusOr<runtime::UniqueFd> InMemory(std::string_view script, std::string_view payload) {
  runtime::UniqueFd file(memfd_create("pool", MFD_CLOEXEC));
  if (!file.valid()) return absl::ErrnoToStatus(errno, "cannot make a file of memory");
  for (const std::string_view part : {script, std::string_view("\n"), payload}) {
    if (absl::Status written = runtime::WriteAll(file.get(), part); !written.ok()) return written;
  }
  if (lseek(file.get(), 0, SEEK_SET) != 0) return absl::ErrnoToStatus(errno, "cannot seek");
  return file;
}

// Returns true if the descriptor is readable within `timeout`.
bool IsReadable(int fd, absl::Duration timeout) {
  pollfd ready = {.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&ready, 1, static_cast<int>(absl::ToInt64Milliseconds(timeout))) > 0;
}

// An ssh session that forwards the sockets, and whose script monitors the node.
class Session {
 public:
  static absl::StatusOr<Session> Start(const std::vector<std::string>& argv,
                                       const std::vector<std::string>& environment,
                                       std::string_view script) {
    std::array<std::array<int, 2>, 3> pipes{};
    std::array<runtime::UniqueFd, 6> ends;
    for (std::size_t i = 0; i < pipes.size(); ++i) {
      if (pipe2(pipes[i].data(), O_CLOEXEC) != 0) {
        return absl::ErrnoToStatus(errno, "cannot make a pipe");
      }
      ends[2 * i] = runtime::UniqueFd(pipes[i][0]);
      ends[2 * i + 1] = runtime::UniqueFd(pipes[i][1]);
    }
    auto process = runtime::Subprocess::Start({.argv = argv,
                                               .environment = environment,
                                               .fds = {{ends[0].get(), STDIN_FILENO},
                                                       {ends[3].get(), STDOUT_FILENO},
                                                       {ends[5].get(), STDERR_FILENO}},
                                               .new_session = true});
    if (!process.ok()) return process.status();
    Session session(*std::move(process));
    session.in_ = std::move(ends[1]);
    session.out_ = std::move(ends[2]);
    session.err_ = std::move(ends[4]);
    // The script fits into a pipe's buffer, so this does not block.
    const std::string line = absl::StrCat(std::string(script), "\n");
    (void)!write(session.in_.get(), line.data(), line.size());
    for (const int fd : {session.in_.get(), session.out_.get(), session.err_.get()}) {
      fcntl(fd, F_SETFL, O_NONBLOCK);
    }
    return session;
  }
  Session(Session&&) = default;
  Session& operator=(Session&&) = delete;
  ~Session() {
    if (!process_ || process_->Wait(absl::ZeroDuration()).ok()) return;
    in_.reset();
    if (process_->Wait(kToEnd).ok()) return;
    (void)process_->Signal(SIGKILL);
    (void)process_->Wait(kToEnd);
  }

  // Returns the first answer; an error if the session ends first, or Cancelled if `stop` is
  // readable.
  absl::StatusOr<std::string> Answer(int stop, absl::Duration timeout) {
    const absl::Time until = absl::Now() + timeout;
    for (;;) {
      if (auto answer = AnswerIn(text_)) {
        text_.clear();
        return *std::move(answer);
      }
      if (!out_.valid()) return absl::UnavailableError(WhyItEnded());
      if (absl::Now() >= until) return absl::DeadlineExceededError("it does not answer");
      if (Wait(stop, until - absl::Now())) return absl::CancelledError("it shall stop");
    }
  }
  // Asks the script to check the node. Drops the request if the pipe is full of earlier ones.
  void Ask() { (void)!write(in_.get(), "\n", 1); }

 private:
  explicit Session(runtime::Subprocess process)
      : process_(std::make_unique<runtime::Subprocess>(std::move(process))) {}

  // Reads the available output. Returns true if `stop` is readable.
  bool Wait(int stop, absl::Duration timeout) {
    std::array<pollfd, 3> ready = {
        {{.fd = out_.valid() ? out_.get() : -1, .events = POLLIN, .revents = 0},
         {.fd = err_.valid() ? err_.get() : -1, .events = POLLIN, .revents = 0},
         {.fd = stop, .events = POLLIN, .revents = 0}}};
    (void)poll(ready.data(), ready.size(),
               static_cast<int>(absl::ToInt64Milliseconds(timeout)) + 1);
    if (ready[1].revents != 0) Read(&err_, &errors_);
    if (ready[0].revents != 0) Read(&out_, &text_);
    return ready[2].revents != 0;
  }
  static void Read(runtime::UniqueFd* fd, std::string* text) {
    char buffer[4096];
    const ssize_t count = read(fd->get(), buffer, sizeof buffer);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (count <= 0) return fd->reset();
    if (text->size() > kMostKept) text->erase(0, text->size() - kMostKept / 2);
    text->append(buffer, static_cast<std::size_t>(count));
  }
  std::string WhyItEnded() {
    const absl::Time until = absl::Now() + kToEnd;
    while (err_.valid() && absl::Now() < until) (void)Wait(-1, until - absl::Now());
    const std::string last = LastLine(errors_);
    return last.empty() ? "the connection has ended" : last;
  }

  std::unique_ptr<runtime::Subprocess> process_;  // Null if moved from.
  runtime::UniqueFd in_, out_, err_;
  std::string text_, errors_;
};

class HostKeeper {
 public:
  explicit HostKeeper(HostKeeperOptions options)
      : options_(std::move(options)), ssh_(SshWords(options_.environment)) {}

  void Run() {
    absl::Duration pause = options_.first_pause;
    std::string why;  // Reason of the last outage, reported while it reconnects.
    while (!IsStopped(absl::ZeroDuration())) {
      Say(HostState::Phase::kConnecting, why);
      const absl::Time begin = absl::Now();
      const absl::Status ended = KeepOnce();
      if (absl::IsCancelled(ended)) break;
      why = std::string(ended.message());
      Say(HostState::Phase::kAway, why);
      if (absl::Now() - begin > kIsWell) pause = options_.first_pause;
      if (IsStopped(pause)) break;
      pause = std::min(2 * pause, options_.longest_pause);
    }
    Leave();
  }

 private:
  bool IsStopped(absl::Duration within) const { return IsReadable(options_.stop, within); }
  void Say(HostState::Phase phase, const std::string& why = "") const {
    options_.say({.phase = phase, .why = why});
  }

  std::vector<std::string> Ssh(const std::vector<std::string>& more) const {
    std::vector<std::string> words = ssh_;
    for (const char* option :
         {"BatchMode=yes", "ConnectTimeout=15", "ServerAliveInterval=5", "ServerAliveCountMax=3",
          "ControlMaster=no", "ControlPath=none", "RemoteCommand=none", "PermitLocalCommand=no",
          "ForwardAgent=no", "ForwardX11=no"}) {
      words.insert(words.end(), {"-o", option});
    }
    words.emplace_back("-T");
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", options_.host.address, kReadScript});
    return words;
  }

  // Returns the error for a failure of ssh or of the shell there, with the host and the next step.
  absl::Status Unreachable(const std::string& cause) const {
    const std::string host = runtime::Printable(options_.host.address);
    std::string next = absl::StrCat(TypedSsh(ssh_, options_.host.address), " true");
    if (absl::StrContains(cause, "Permission denied")) {
      next += ", which must ask for no password (ssh-copy-id, ssh-add)";
    } else if (absl::StrContains(cause, "Host key verification failed")) {
      next += ", once, to accept the key of the host";
    }
    return absl::UnavailableError(
        absl::StrCat("cannot reach ", host, ": ", cause, "; next: ", next));
  }
  absl::Status OfHost(const std::string& cause) const {
    return absl::UnavailableError(
        absl::StrCat(runtime::Printable(options_.host.address), ": ", cause));
  }

  // Runs a script to its end and returns its output.
  absl::StatusOr<std::string> RunScript(const std::string& script, std::string_view payload,
                                        absl::Duration timeout, int stop) const {
    const auto input = InMemory(script, payload);
    if (!input.ok()) return input.status();
    const auto said = Capture(Ssh({"-o", "ClearAllForwardings=yes", "-o",
                                   payload.empty() ? "Compression=no" : "Compression=yes"}),
                              {.environment = options_.environment,
                               .keeps_stderr = true,
                               .input = input->get(),
                               .cancel = stop,
                               .new_session = true,
                               .timeout = timeout});
    if (absl::IsCancelled(said.status())) return said.status();
    if (absl::IsNotFound(said.status())) {
      return Unreachable("there is no ssh on this machine (Debian: openssh-client)");
    }
    if (!said.ok()) return Unreachable(std::string(said.status().message()));
    if (said->code == kSshFailed || !AnswerIn(said->text)) {
      const std::string last = LastLine(said->errors);
      return Unreachable(!last.empty() ? last
                         : said->code == kSshFailed
                             ? "ssh fails"
                             : absl::StrCat("it does not run commands as a shell does; it says \"",
                                            LastLine(said->text), "\""));
    }
    return said->text;
  }

  absl::StatusOr<Prepared> Prepare(const Bundle& bundle) const {
    const auto text = RunScript(PrepareScript(options_.key, bundle), "", kToPrepare, options_.stop);
    if (!text.ok()) return text.status();
    auto prepared = ReadPrepared(*text);
    if (!prepared.ok()) return OfHost(std::string(prepared.status().message()));
    if (prepared->machine != ThisMachine()) {
      return OfHost(absl::StrCat("it is ", prepared->machine, ", and programs of this machine (",
                                 ThisMachine(), ") do not run there"));
    }
    return prepared;
  }

  absl::Status Copy(const Bundle& bundle, const std::string& directory) const {
    Say(HostState::Phase::kCopying);
    const auto text =
        RunScript(CopyScript(directory, bundle), PayloadOf(bundle), kToCopy, options_.stop);
    if (!text.ok()) return text.status();
    const auto answer = AnswerIn(*text);
    if (answer == kCopied) return absl::OkStatus();
    return OfHost(absl::StrCat("cannot copy yard-node: ", answer.value_or("")));
  }

  // Connects, and maintains the connection until it breaks.
  absl::Status KeepOnce() {
    const auto sockets = options_.set_node();
    if (!sockets.ok()) return sockets.status();
    std::string directory, digest;
    {
      const auto bundle = options_.read_bundle();
      if (!bundle.ok()) return bundle.status();
      auto prepared = Prepare(*bundle);
      if (!prepared.ok()) return prepared.status();
      if (!prepared->has_bundle && prepared->pid == 0) {
        absl::Status copied = Copy(*bundle, prepared->directory);
        if (!copied.ok()) return copied;
      }
      directory = prepared->directory;
      digest = bundle->digest;
    }
    return Hold(*sockets, directory, digest);
  }

  absl::Status Hold(const NodeSockets& sockets, const std::string& directory,
                    const std::string& digest) {
    auto session = Session::Start(Ssh({"-R", absl::StrCat(directory, "/l:", sockets.launcher), "-R",
                                       absl::StrCat(directory, "/t:", sockets.trainer)}),
                                  options_.environment, HoldScript(directory, digest));
    if (!session.ok()) return session.status();
    const auto up = session->Answer(options_.stop, kToStart);
    if (absl::IsCancelled(up.status())) return up.status();
    if (!up.ok()) return Unreachable(std::string(up.status().message()));
    if (!absl::StartsWith(*up, absl::StrCat(kUp, " "))) return OfHost(*up);
    Say(HostState::Phase::kConnected);
    for (;;) {
      const auto answer = session->Answer(options_.stop, kBetweenLooks);
      if (absl::IsCancelled(answer.status())) {
        // Leaves while still connected, so that the launcher receives the ends of the node's
        // attempts.
        LeaveBy(/*is_there=*/true);
        return answer.status();
      }
      if (answer.ok()) return OfHost("yard-node has ended there");
      if (!absl::IsDeadlineExceeded(answer.status())) {
        return Unreachable(std::string(answer.status().message()));
      }
      session->Ask();
    }
  }

  void Leave() {
    if (!has_left_) LeaveBy(/*is_there=*/false);
  }

  // `is_there`: the host has just answered, so it is not probed first.
  void LeaveBy(bool is_there) {
    has_left_ = true;
    Say(HostState::Phase::kLeaving);
    absl::StatusOr<std::string> text = std::string();
    if (!is_there) text = RunScript(HelloScript(), "", kToReach, -1);
    if (text.ok()) text = RunScript(RemoveScript(options_.key), "", kToRemove, -1);
    const std::string answer = text.ok() ? AnswerIn(*text).value_or("") : "";
    if (answer == kRemoved) return Say(HostState::Phase::kLeft);
    Say(HostState::Phase::kLeft,
        absl::StrCat("yard-node and its directory yard-", options_.key,
                     " ($TMPDIR of there, /tmp, /var/tmp or $HOME) may be left on ",
                     runtime::Printable(options_.host.address), ": ",
                     text.ok() ? answer : std::string(text.status().message())));
  }

  const HostKeeperOptions options_;
  const std::vector<std::string> ssh_;
  bool has_left_ = false;
};

}  // namespace

void RunHostKeeper(HostKeeperOptions options) { HostKeeper(std::move(options)).Run(); }

}  // namespace yard
