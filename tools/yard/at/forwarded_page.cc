#include "tools/yard/at/forwarded_page.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <iostream>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "runtime/file/unique_fd.h"
#include "runtime/process/subprocess.h"
#include "runtime/text/printable.h"
#include "runtime/text/string_view.h"
#include "tools/yard/at/captured.h"
#include "tools/yard/at/remote_command.h"
#include "tools/yard/at/remote_run.h"
#include "tools/yard/cli/verb_exit_code.h"
#include "tools/yard/page/browser.h"

namespace yard {
namespace {

constexpr absl::Duration kToShow = absl::Minutes(2);  // A TensorBoard may have to start first.
constexpr absl::Duration kToForward = absl::Seconds(10);
constexpr absl::Duration kFirstPause = absl::Seconds(1), kLongestPause = absl::Seconds(15);
constexpr absl::Duration kIsWell =
    absl::Minutes(1);  // A connection that lasted this long was good, so the retry pause is reset.
constexpr std::size_t kShownBytes = 200;

// A verb's command line for JSON output, and the key of the address in that JSON.
struct Shown {
  std::vector<std::string> words;
  const char* key;
};
Shown AsJson(const std::vector<std::string>& words) {
  Shown shown = {.words = {words[0], "--json"}, .key = words[0] == "ui" ? "address" : "url"};
  const auto dashes = std::find(words.begin(), words.end(), "--");
  if (words[0] == "tensorboard" && dashes == words.end() && words.size() > 1) {
    shown.words.emplace_back("--");  // All words are TensorBoard's.
  }
  for (auto word = words.begin() + 1; word != words.end(); ++word) {
    if (word < dashes && (*word == "--json" || (words[0] == "ui" && *word == "--print"))) continue;
    shown.words.push_back(*word);
  }
  return shown;
}

bool Has(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Returns true if `text` has only letters, digits and characters of `others`.
bool HasOnly(std::string_view text, std::string_view others) {
  return std::all_of(text.begin(), text.end(), [others](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           others.find(c) != std::string_view::npos;
  });
}

// Returns `wanted` if that port of 127.0.0.1 is free, else another free port; 0 if no port is free.
int FreePort(int wanted) {
  for (const int port : {wanted, 0}) {
    const runtime::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    const int reuse = 1;
    setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
    if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
        listen(fd.get(), 1) == 0 &&
        getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0) {
      return ntohs(address.sin_port);
    }
  }
  return 0;
}

// Returns true if the port answers within seconds. An ssh server that forbids forwarding accepts
// the connection and then closes it.
bool Answers(int port) {
  const runtime::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  constexpr std::string_view kRequest = "GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n";
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      send(fd.get(), kRequest.data(), kRequest.size(), MSG_NOSIGNAL) < 0) {
    return false;
  }
  pollfd ready = {.fd = fd.get(), .events = POLLIN, .revents = 0};
  char byte = 0;
  return poll(&ready, 1, static_cast<int>(absl::ToInt64Milliseconds(kToForward))) > 0 &&
         recv(fd.get(), &byte, 1, 0) == 1;
}

// Delivers Ctrl-C as a descriptor, which then stays readable.
class UntilInterrupt {
 public:
  explicit UntilInterrupt(Interrupt* interrupt)
      : interrupt_(interrupt), event_(eventfd(0, EFD_CLOEXEC)) {
    interrupt_->Handle([this] {
      const std::uint64_t one = 1;
      (void)!write(event_.get(), &one, sizeof one);
    });
  }
  ~UntilInterrupt() { interrupt_->Handle({}); }
  UntilInterrupt(const UntilInterrupt&) = delete;
  UntilInterrupt& operator=(const UntilInterrupt&) = delete;

  // Waits until `fd` (-1 for none) is readable or the timeout expires. Returns true after an
  // interrupt.
  bool Wait(int fd, absl::Duration timeout) const {
    pollfd fds[] = {{.fd = event_.get(), .events = POLLIN, .revents = 0},
                    {.fd = fd, .events = POLLIN, .revents = 0}};
    const bool is_endless = timeout == absl::InfiniteDuration();
    poll(fds, 2, is_endless ? -1 : static_cast<int>(absl::ToInt64Milliseconds(timeout)));
    return fds[0].revents != 0;
  }

 private:
  Interrupt* const interrupt_;
  const runtime::UniqueFd event_;
};

class ForwardedPort {
 public:
  ForwardedPort(const std::vector<std::string>& environment, int port, const HttpAddress& there)
      : environment_(environment),
        forward_(absl::StrCat("127.0.0.1:", port, ":", there.host, ":", there.port)) {}

  bool Begin(const SshConnection& connection, bool shows_stderr) const {
    const auto done = Tell(connection, "forward", shows_stderr);
    return done.ok() && done->code == 0;
  }
  void End(const SshConnection& connection) const { (void)Tell(connection, "cancel", false); }

 private:
  absl::StatusOr<Captured> Tell(const SshConnection& connection, const char* what,
                                bool shows_stderr) const {
    return Capture(connection.Ssh({"-O", what, "-L", forward_}, ""), {.environment = environment_,
                                                                      .shows_stderr = shows_stderr,
                                                                      .new_session = true,
                                                                      .timeout = kToForward});
  }

  const std::vector<std::string> environment_;
  const std::string forward_;
};

// A session that ends with the connection, or when the descriptor kept here is closed.
struct Held {
  runtime::Subprocess session;
  runtime::UniqueFd open;
};
absl::StatusOr<Held> Hold(const SshConnection& connection,
                          const std::vector<std::string>& environment) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "cannot make a pipe");
  const runtime::UniqueFd reader(fds[0]);
  runtime::UniqueFd writer(fds[1]);
  // Uses only the kept connection, which forwards the port. If ssh opened a new one instead, nobody
  // would notice that the port leads nowhere.
  auto session = runtime::Subprocess::Start(
      {.argv = connection.Ssh(
           {"-T", "-o", "ControlMaster=no", "-o", "ProxyCommand=false", "-o", "LogLevel=QUIET"},
           HoldCommand(connection.greeting())),
       .environment = environment,
       .fds = {{reader.get(), STDIN_FILENO}},
       .new_session = true});
  if (!session.ok()) return session.status();
  return Held{.session = *std::move(session), .open = std::move(writer)};
}

int Failed(std::string_view verb, const absl::Status& status) {
  std::cerr << "yard " << verb << ": " << runtime::PrintableLines(runtime::Std(status.message()))
            << "\n";
  return kNoConnection;
}

// Shows the local address; on a terminal, also how to end the forwarding.
void Show(const std::string& address, const std::vector<std::string>& words,
          const SshConnection::Options& options) {
  if (Has(words, "--json")) {
    std::cout << nlohmann::json{{"address", address}}.dump() << std::endl;
    return;
  }
  std::cout << runtime::Printable(address) << std::endl;
  const bool opens = isatty(STDOUT_FILENO) == 1 && !Has(words, "--print") &&
                     HasScreen(options.environment) &&
                     OpenInBrowser(options.directory, options.environment, address);
  std::cerr << (words[0] == "ui" && !opens ? "opens once, within a minute; " : "")
            << "forwarded to " << runtime::Printable(options.place.host) << " until Ctrl-C\n";
}

}  // namespace

bool ShowsAddress(const std::vector<std::string>& words) {
  if (words.empty() || (words[0] != "ui" && words[0] != "tensorboard")) return false;
  return !Has(words, "--help") && !Has(words, "-h");
}

HttpAddress ParseHttpAddress(std::string_view text) {
  constexpr std::string_view kHttp = "http://";
  if (!text.starts_with(kHttp)) return {};
  text.remove_prefix(kHttp.size());
  const std::size_t slash = std::min(text.find_first_of("/?#"), text.size());
  const std::string_view place = text.substr(0, slash);
  const std::size_t colon = place.rfind(':');
  std::uint32_t port = 0;
  if (colon == std::string_view::npos || colon == 0 ||
      !absl::SimpleAtoi(runtime::Absl(place.substr(colon + 1)), &port) || port == 0 ||
      port > 65535) {
    return {};
  }
  const std::string_view host = place.substr(0, colon);
  const std::string_view path = text.substr(slash);
  if (!HasOnly(host, "-._[]:") || !HasOnly(path, "-._~%/?#&=:+,@")) return {};
  return {.host = std::string(host), .port = std::to_string(port), .path = std::string(path)};
}

int ForwardPage(const SshConnection::Options& options, const std::vector<std::string>& words,
                Interrupt* interrupt) {
  const std::string& verb = words[0];
  auto connection = SshConnection::Open(options);
  if (!connection.ok()) return Failed(verb, connection.status());
  const Shown shown = AsJson(words);
  const auto said = CaptureThere(*connection, shown.words,
                                 {.environment = options.environment, .timeout = kToShow});
  if (!said.ok()) return Failed(verb, said.status());
  if (said->code != 0) return said->code;
  const auto json = nlohmann::json::parse(said->text, nullptr, false);
  const std::string address =
      json.is_object() && json.contains(shown.key) && json[shown.key].is_string()
          ? json[shown.key].get<std::string>()
          : "";
  const HttpAddress there = ParseHttpAddress(address);
  int port = 0;
  if (there.port.empty() || !absl::SimpleAtoi(there.port, &port)) {
    return Failed(verb, absl::InternalError(absl::StrCat(
                            "the yard on ", options.place.host,
                            " tells no address of the page: ", said->text.substr(0, kShownBytes))));
  }
  port = FreePort(port);
  const ForwardedPort forwarded(options.environment, port, there);
  if (port == 0 || !forwarded.Begin(*connection, true)) {
    return Failed(verb, absl::UnavailableError(
                            absl::StrCat("ssh cannot forward port ", port, " of this machine to ",
                                         there.host, ":", there.port, " of ", options.place.host,
                                         "; its words stand above; next: try again")));
  }
  if (!Answers(port)) {
    forwarded.End(*connection);
    return Failed(
        verb, absl::UnavailableError(absl::StrCat("nothing answers through ssh at ", there.host,
                                                  ":", there.port, " of ", options.place.host,
                                                  "; next: see that the server of ssh there allows "
                                                  "it to forward ports (AllowTcpForwarding)")));
  }
  const UntilInterrupt interrupted(interrupt);
  Show(absl::StrCat("http://127.0.0.1:", port, there.path.empty() ? "/" : there.path), words,
       options);
  SshConnection::Options again = options;
  again.may_ask = false;
  absl::Duration pause = kFirstPause;
  for (;;) {
    const absl::Time begin = absl::Now();
    auto held = Hold(*connection, options.environment);
    if (!held.ok()) return Failed(verb, held.status());
    if (interrupted.Wait(held->session.pidfd(), absl::InfiniteDuration())) break;
    std::cerr << "yard " << verb << ": the connection to " << runtime::Printable(options.place.host)
              << " broke; connecting again" << std::endl;
    if (absl::Now() - begin > kIsWell) pause = kFirstPause;
    again.is_quiet = false;  // ssh reports once why it cannot connect.
    for (bool is_told = false;;) {
      if (interrupted.Wait(-1, pause)) return kInterrupted;
      pause = std::min(2 * pause, kLongestPause);
      connection = SshConnection::Open(again);
      again.is_quiet = true;
      if (!connection.ok()) continue;
      if (forwarded.Begin(*connection, false)) break;
      if (std::exchange(is_told, true)) continue;
      std::cerr << "yard " << verb << ": ssh connects again, and cannot forward port " << port
                << " of this machine: another program may use it now; trying again" << std::endl;
    }
    std::cerr << "yard " << verb << ": connected again" << std::endl;
  }
  forwarded.End(*connection);
  return kInterrupted;
}

}  // namespace yard
