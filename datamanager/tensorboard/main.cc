// TensorBoard's data server that keeps every point; started by TensorBoard or `yard tensorboard`.

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "datamanager/tensorboard/data_server.h"
#include "datamanager/tensorboard/loopback_sockets.h"
#include "datamanager/tensorboard/restarting_parent.h"
#include "datamanager/tensorboard/server_flags.h"
#include "datamanager/tensorboard/socket_packet.h"
#include "glog/logging.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/exit_code.h"

namespace {

using datamanager::tensorboard::ServerFlags;

// The same exit codes as TensorBoard's own server.
constexpr int kWrongFlags = 2;
constexpr int kNoPortFile = 1;
constexpr int kNoSuchLogdir = 8;
constexpr int kCannotListen = 9;

// Writes the reason to the file in which TensorBoard looks for it.
int Fail(const std::string& error_file, std::string_view why, int exit_code) {
  FILE* const file = error_file.empty() ? nullptr : fopen(error_file.c_str(), "we");
  fprintf(file == nullptr ? stderr : file, "yard-data-server: %.*s\n", static_cast<int>(why.size()),
          why.data());
  if (file != nullptr) fclose(file);
  return exit_code;
}

std::string_view Text(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

// Finds the error file in the words of a command line whose flags cannot be parsed.
std::string ErrorFileOf(const std::vector<std::string>& words) {
  constexpr std::string_view kFlag = "--error-file=";
  for (const std::string& word : words) {
    if (word.starts_with(kFlag)) return word.substr(kFlag.size());
  }
  return "";
}

// Returns this program's words for a reader in another working directory; the last value of a flag
// wins.
std::string YardLine(std::vector<std::string> words, const std::string& logdir) {
  words.push_back("--logdir=" + runtime::AbsolutePath(logdir));
  return datamanager::tensorboard::LineOf(words);
}

bool WritePort(const std::string& path, int port) {
  FILE* const file = fopen(path.c_str(), "we");
  if (file == nullptr) return false;
  const bool written = fprintf(file, "%d\n", port) > 0;
  return fclose(file) == 0 && written;
}

int RunServer(const std::string& program, const ServerFlags& flags) {
  // A terminal sends SIGINT to all processes; the parent decides when this one ends.
  signal(SIGINT, SIG_IGN);
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = flags.verbose > 0 ? google::GLOG_INFO : google::GLOG_ERROR;
  google::InitGoogleLogging(program.c_str());
  std::vector<runtime::UniqueFd> sockets;
  for (int i = 0; i < flags.inherited_sockets; ++i) sockets.emplace_back(3 + i);
  const absl::Status served = datamanager::tensorboard::Serve(flags, std::move(sockets));
  return runtime::ReportAndExitCode("yard-data-server", served);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const absl::Status entered = runtime::EnterCallersDirectory();
  if (!entered.ok()) return runtime::ReportAndExitCode("yard-data-server", entered);
  for (const std::string& word : words) {
    if (word != "--help" && word != "-h") continue;
    const std::string_view usage = datamanager::tensorboard::ServerUsage();
    fwrite(usage.data(), 1, usage.size(), stdout);
    return runtime::kExitOk;
  }
  const auto flags = datamanager::tensorboard::ParseServerFlags(words);
  if (!flags.ok()) return Fail(ErrorFileOf(words), Text(flags.status()), kWrongFlags);
  if (flags->inherited_sockets > 0) _exit(RunServer(argv[0], *flags));
  if (flags->logdir.find("://") != std::string::npos) {
    return Fail(flags->error_file,
                absl::StrCat("only directories of this machine are read, and --logdir is ",
                             flags->logdir, "; next: tensorboard --load_fast=false"),
                kNoSuchLogdir);
  }
  auto sockets = datamanager::tensorboard::ListenAt(flags->host, flags->port);
  if (!sockets.ok()) return Fail(flags->error_file, Text(sockets.status()), kCannotListen);
  // First of all: TensorBoard looks for the file after 10 ms, and then every half second.
  if (flags->port_file.empty()) {
    fprintf(stderr, "yard-data-server: listens at port %d\n", sockets->port);
  } else if (!WritePort(flags->port_file, sockets->port)) {
    return Fail(flags->error_file, absl::StrCat("cannot write ", flags->port_file), kNoPortFile);
  }
  const auto locations = runtime::Locations::FromEnvironment();
  // A data manager follows its runs, so it cannot serve a client that wants them read only once.
  const bool asks_yard = locations.ok() && flags->reload > absl::ZeroDuration();
  _exit(datamanager::tensorboard::RunServerAgainAndAgain(
      {.words = words,
       .sockets = *std::move(sockets),
       .die_after_stdin = flags->die_after_stdin,
       .yard = asks_yard ? locations->runtime_directory + "/tensorboard" : "",
       .yard_line = YardLine(words, flags->logdir)}));
}
