// Invariants:
// - ssh owns the socket: creates it when the connection is up, and removes it at the end. A socket
//   that accepts connections belongs to a connection, dead or alive.
// - The greeting's file is written after an answer over the current connection. Its modification
//   time is that of the last use.
// - The lock is held while a connection is opened, so that the user enters the password only once.

#include "tools/yard/at/ssh_connection.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "runtime/text/printable.h"
#include "tools/yard/at/captured.h"
#include "tools/yard/at/ssh_words.h"
#include "tools/yard/cli/yard_version.h"

namespace yard {
namespace {

constexpr absl::Duration kGreetingAge = absl::Minutes(1);
constexpr absl::Duration kToOpen = absl::Minutes(3);    // The user may have to type a password.
constexpr absl::Duration kToGreet = absl::Seconds(30);  // A login may run slow startup files.
constexpr absl::Duration kToAnswer = absl::Seconds(3);  // Timeout of an open connection.
constexpr absl::Duration kToClose = absl::Seconds(1);
constexpr absl::Duration kBetweenLooks = absl::Milliseconds(50);
constexpr absl::Duration kSilence = absl::Seconds(2);  // Then a waiting user is told why.
constexpr int kSshFailed = 255;
// ssh creates the socket with a longer name and renames it.
constexpr std::size_t kLongestSocket = sizeof(sockaddr_un::sun_path) - 1 - 17;
constexpr std::size_t kLongestGreeting = 64 << 10;

// FNV-1a hash, the same in every process.
std::string Digest(std::string_view text) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return absl::StrFormat("%016x", hash);
}

bool TakesConnections(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  memcpy(address.sun_path, path.data(), path.size());
  const runtime::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return fd.valid() &&
         connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

}  // namespace

SshConnection::SshConnection(const Options& options)
    : options_(options), ssh_(SshWords(options.environment)) {
  std::string all;
  for (const std::string& word : ssh_) absl::StrAppend(&all, word, "\n");
  absl::StrAppend(&all, options_.place.host);
  socket_ = absl::StrCat(options_.directory, "/", Digest(all));
  lock_ = socket_ + ".lock";
  greeting_file_ =
      absl::StrCat(options_.directory, "/", Digest(absl::StrCat(all, "\n", options_.place.program)),
                   ".greeting");
}

absl::Status SshConnection::Prepare() const {
  if (socket_.size() > kLongestSocket) {
    return absl::InvalidArgumentError(
        absl::StrCat("the path of the connection's socket is too long for a unix socket: ", socket_,
                     "; next: set XDG_RUNTIME_DIR to a directory with a short path"));
  }
  const std::string above = std::filesystem::path(options_.directory).parent_path().string();
  if (absl::Status made = runtime::MakePrivateDirectory(above); !made.ok()) return made;
  return runtime::MakePrivateDirectory(options_.directory);
}

std::vector<std::string> SshConnection::Ssh(const std::vector<std::string>& options,
                                            const std::string& command) const {
  std::vector<std::string> words = ssh_;
  // ssh expands % sequences such as %h in this path.
  words.insert(words.end(), {"-S", absl::StrReplaceAll(socket_, {{"%", "%%"}})});
  for (const char* option : {"ConnectTimeout=15", "ServerAliveInterval=5", "ServerAliveCountMax=3",
                             "RemoteCommand=none", "PermitLocalCommand=no"}) {
    words.insert(words.end(), {"-o", option});
  }
  if (!options_.may_ask) words.insert(words.end(), {"-o", "BatchMode=yes"});
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--", options_.place.host});
  if (!command.empty()) words.push_back(command);
  return words;
}

bool SshConnection::IsKept() const { return TakesConnections(socket_); }

void SshConnection::ForgetGreeting() const { unlink(greeting_file_.c_str()); }

void SshConnection::Close() const {
  (void)Capture(Ssh({"-O", "exit"}, ""), {.environment = options_.environment,
                                          .shows_stderr = false,
                                          .new_session = true,
                                          .timeout = kToClose});
  unlink(socket_.c_str());
  ForgetGreeting();
}

bool SshConnection::Answers() const {
  const auto said =
      Capture(Ssh({"-T", "-n", "-o", "ControlMaster=no", "-o", "ProxyCommand=false"}, "exit 0"),
              {.environment = options_.environment,
               .shows_stderr = false,
               .new_session = true,
               .timeout = kToAnswer});
  return said.ok() && said->code == 0;
}

std::optional<Greeting> SshConnection::KnownGreeting(absl::Duration max_age) const {
  struct stat about {};
  if (stat(greeting_file_.c_str(), &about) != 0) return std::nullopt;
  const absl::Duration age = absl::Now() - absl::TimeFromTimespec(about.st_mtim);
  if (age > max_age || age < -absl::Seconds(1)) return std::nullopt;
  const auto text = runtime::ReadFile(greeting_file_, kLongestGreeting);
  if (!text.ok()) return std::nullopt;
  GreetingAnswer answer = ReadGreeting(*text);
  if (answer.kind != GreetingAnswer::Kind::kGreeting) return std::nullopt;
  return std::move(answer.greeting);
}

void SshConnection::Remember(const Greeting& greeting) const {
  // Without the file, the next command asks again.
  (void)runtime::WriteFileAtomically(greeting_file_, GreetingLine(greeting), 0600);
}

absl::Status SshConnection::Greet(bool is_kept) {
  const std::string host = runtime::Printable(options_.place.host);
  std::vector<std::string> words = {"-T", "-n", "-o", "ClearAllForwardings=yes"};
  if (is_kept) {
    words.insert(words.end(), {"-o", "ControlMaster=no"});
  } else {
    words.insert(words.end(), {"-o", "ControlMaster=auto", "-o", "ControlPersist=600"});
  }
  const auto answer = Capture(Ssh(words, GreetCommand(options_.place.program)),
                              {.environment = options_.environment,
                               .shows_stderr = !is_kept && !options_.is_quiet,
                               .new_session = is_kept,
                               .timeout = is_kept ? kToGreet : kToOpen});
  const std::string next = absl::StrCat("; next: ", TypedSsh(ssh_, options_.place.host));
  if (absl::IsNotFound(answer.status())) {
    return absl::UnavailableError(absl::StrCat("cannot reach ", host, ": ",
                                               answer.status().message(),
                                               "; next: install ssh (Debian: openssh-client)"));
  }
  if (!answer.ok()) {
    return absl::UnavailableError(
        absl::StrCat("cannot reach ", host, ": ", answer.status().message(), next, " true"));
  }
  GreetingAnswer said = ReadGreeting(answer->text);
  const std::string noise =
      runtime::Printable(std::string_view(said.noise).substr(0, said.noise.find('\n')));
  switch (said.kind) {
    case GreetingAnswer::Kind::kGreeting:
      break;
    case GreetingAnswer::Kind::kNoProgram:
      return absl::FailedPreconditionError(
          options_.place.program.empty()
              ? absl::StrCat("no yard on ", host,
                             ": it is neither on the PATH of a login shell nor in "
                             "~/.local/bin; next: install it there, or say where it is: --at ",
                             host, ":/path/to/yard")
              : absl::StrCat("no yard on ", host, ": ", options_.place.program,
                             " is no program there", next, " 'command -v yard'"));
    case GreetingAnswer::Kind::kOtherProtocol:
      return absl::FailedPreconditionError(
          absl::StrCat("the yard on ", host, " speaks version ", runtime::Printable(said.text),
                       " of --at, and this one (", kVersion, ") version ", kProtocol,
                       "; next: install the same version here and there"));
    case GreetingAnswer::Kind::kNoAnswer:
      if (!said.text.empty()) {
        return absl::FailedPreconditionError(absl::StrCat(
            "the yard on ", host, " does not know --at (it says \"", runtime::Printable(said.text),
            "\", this one is ", kVersion, "); next: install the same version there"));
      }
      if (answer->code == kSshFailed) {
        return absl::UnavailableError(
            absl::StrCat("cannot reach ", host, " by ssh, which says why above", next, " true"));
      }
      return absl::UnavailableError(absl::StrCat(
          host, " does not run commands as a shell does (exit code ", answer->code,
          noise.empty() ? "" : absl::StrCat(", it says \"", noise, "\""), ")", next, " true"));
  }
  if (!noise.empty()) {
    *options_.err
        << "yard: the shell on " << host << " prints \"" << noise
        << "\" before each command, which gets into the output of verbs; next: print it in "
           "~/.bashrc there only if the shell is interactive\n";
  }
  if (!IsPlainPath(said.greeting.program)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the path of the yard on ", host,
        " has characters that shells change: ", runtime::Printable(said.greeting.program),
        "; next: make a link there, and --at ", host, ":/path/of/the/link"));
  }
  greeting_ = std::move(said.greeting);
  Remember(greeting_);
  return absl::OkStatus();
}

std::optional<SshConnection> SshConnection::IfOpen(const Options& options) {
  SshConnection connection(options);
  if (!connection.IsKept()) return std::nullopt;
  auto known = connection.KnownGreeting(absl::InfiniteDuration());
  if (!known.has_value()) return std::nullopt;
  connection.greeting_ = *std::move(known);
  return connection;
}

absl::StatusOr<SshConnection> SshConnection::Open(const Options& options) {
  SshConnection connection(options);
  if (absl::Status ready = connection.Prepare(); !ready.ok()) return ready;
  const auto take_known = [&connection] {
    if (!connection.IsKept()) return false;
    auto known = connection.KnownGreeting(kGreetingAge);
    if (!known.has_value()) return false;
    connection.greeting_ = *std::move(known);
    utimensat(AT_FDCWD, connection.greeting_file_.c_str(), nullptr, 0);
    return true;
  };
  if (take_known()) return connection;
  const absl::Time start = absl::Now();
  absl::StatusOr<runtime::UniqueFd> lock = runtime::LockFile(connection.lock_);
  for (bool told = false; absl::IsAlreadyExists(lock.status());) {
    if (absl::Now() - start > kToOpen) return lock.status();
    if (!told && absl::Now() - start > kSilence) {
      told = true;
      *options.err << "yard: waits for another yard, which opens the connection to "
                   << runtime::Printable(options.place.host) << std::endl;
    }
    absl::SleepFor(kBetweenLooks);
    lock = runtime::LockFile(connection.lock_);
  }
  if (!lock.ok()) return lock.status();
  if (take_known()) return connection;
  if (connection.IsKept()) {
    const absl::Status greeted = connection.Answers()
                                     ? connection.Greet(true)
                                     : absl::UnavailableError("the connection has died");
    if (greeted.ok()) return connection;
    if (absl::IsFailedPrecondition(greeted)) return greeted;
    connection.Close();
  }
  if (absl::Status greeted = connection.Greet(false); !greeted.ok()) return greeted;
  return connection;
}

}  // namespace yard
