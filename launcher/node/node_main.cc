// The program of a node, which runs attempts on this host for a remote launcher. Started by a user
// or a script it is the stub (node_stub.h), which starts this program again with --worker.

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "bus/access/access_file.h"
#include "bus/access/gate_link.h"
#include "bus/wire/version.h"
#include "glog/logging.h"
#include "launcher/gpu/gpu_meter.h"
#include "launcher/node/node_stub.h"
#include "launcher/node/node_worker.h"
#include "launcher/node/own_programs.h"
#include "launcher/node/slurm_place.h"
#include "launcher/node/words/node_words.h"
#include "launcher/process/process_table.h"
#include "runtime/event_loop.h"
#include "runtime/file/file.h"
#include "runtime/file/file_limit.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/exit_code.h"
#include "runtime/process/service_flags.h"
#include "runtime/process/stop_signal.h"
#include "runtime/process/usable_memory.h"
#include "runtime/text/random_id.h"
#include "runtime/text/string_view.h"

ABSL_FLAG(
    std::string, folder, "",
    "directory on a disk of this host where the node keeps its attempts; made if it is missing");
ABSL_FLAG(std::string, launcher_socket, "", "path of the unix socket where the launcher listens");
ABSL_FLAG(std::string, trainer_socket, "",
          "path of the unix socket where the trainer listens; empty: no attempt can report");
ABSL_FLAG(std::string, key, "",
          "path of this node's key, made by `yard gate allow NAME --node`: the node comes through "
          "the yard's gate, and both sockets are in its folder");
ABSL_FLAG(
    std::string, gate, "",
    "with --key: addresses of the gate to try in turns, tcp://HOST:PORT, separated by commas; "
    "empty: the one in the key file");
ABSL_FLAG(
    bool, slurm, false,
    "this is the task of a Slurm job that the yard has made: key, folder and what the node has "
    "come from the task's environment");
ABSL_FLAG(std::string, shim, "", "path of yard-shim; empty: the one beside this program");
ABSL_FLAG(std::string, address, "",
          "where other hosts reach this one; empty: the address that ssh has come to, if it has");
ABSL_FLAG(std::string, library_path, "",
          "directory of the node's shared libraries, if it was started as `ld.so --library-path "
          "DIR yard-node`, with a loader that is not this host's");
ABSL_FLAG(int, worker, 0, "used by the node itself: the pid of the stub whose worker this is");
ABSL_FLAG(std::string, node, "", "used by the node itself: the id of the node");
ABSL_FLAG(bool, leave, false, "used by the node itself: stop all attempts and end");

namespace {

constexpr char kProgram[] = "yard-node";
// A node of an allocation ends by itself if no launcher has welcomed it for this long.
constexpr absl::Duration kPatience = absl::Minutes(10);
constexpr std::size_t kLongestFolder = 60;  // The paths of its sockets are limited to 107 bytes.
constexpr absl::Duration kGrace = absl::Seconds(10);
// A GPU driver may be slow, or hang.
constexpr absl::Duration kGpuPatience = absl::Seconds(5);

struct Paths {
  std::string folder = {}, launcher_socket = {}, trainer_socket = {}, shim = {};
  std::string key = {};  // If not empty, the sockets are those of a GateLink.
  std::vector<std::string> gates = {};
};

// Reads --key and --gate; InvalidArgument if they are wrong.
absl::Status TakeGate(Paths* paths) {
  const std::string key = absl::GetFlag(FLAGS_key);
  for (const auto gate : absl::StrSplit(absl::GetFlag(FLAGS_gate), ',', absl::SkipEmpty())) {
    paths->gates.emplace_back(gate);
    if (absl::Status good = bus::CheckGateAddress(paths->gates.back()); !good.ok()) return good;
  }
  if (key.empty()) {
    if (paths->gates.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError("--gate is of a node with a key: --key is missing");
  }
  if (!absl::GetFlag(FLAGS_launcher_socket).empty() ||
      !absl::GetFlag(FLAGS_trainer_socket).empty()) {
    return absl::InvalidArgumentError(
        "a node with a key has sockets of its own: leave out --launcher_socket and "
        "--trainer_socket");
  }
  paths->key = runtime::AbsolutePath(key);
  // (Only the stub checks the key file. If it is missing or replaced later, the worker waits for
  // it.)
  if (absl::GetFlag(FLAGS_worker) == 0) {
    if (absl::Status good = bus::GateLink::CheckKey(paths->key); !good.ok()) return good;
  }
  paths->launcher_socket = bus::GateLink::LauncherSocket(paths->folder);
  paths->trainer_socket = bus::GateLink::TrainerSocket(paths->folder);
  return absl::OkStatus();
}

absl::StatusOr<Paths> TakePaths() {
  const std::string folder = absl::GetFlag(FLAGS_folder);
  if (folder.empty()) return absl::InvalidArgumentError("--folder is missing");
  Paths paths{.folder = runtime::AbsolutePath(folder)};
  if (absl::Status good = TakeGate(&paths); !good.ok()) return good;
  const std::string launcher = absl::GetFlag(FLAGS_launcher_socket),
                    trainer = absl::GetFlag(FLAGS_trainer_socket), shim = absl::GetFlag(FLAGS_shim);
  if (launcher.empty() && paths.key.empty()) {
    return absl::InvalidArgumentError("--launcher_socket is missing, or --key");
  }
  if (!launcher.empty()) paths.launcher_socket = runtime::AbsolutePath(launcher);
  if (!trainer.empty()) paths.trainer_socket = runtime::AbsolutePath(trainer);
  if (!shim.empty()) {
    paths.shim = runtime::AbsolutePath(shim);
    return paths;
  }
  auto found = runtime::FindBinary("launcher/yard-shim");
  if (!found.ok()) return found.status();
  paths.shim = *std::move(found);
  return paths;
}

// Returns --address, or the server's address in $SSH_CONNECTION: "CLIENT PORT SERVER PORT".
std::string OwnAddress() {
  const std::string said = absl::GetFlag(FLAGS_address);
  const char* const ssh = std::getenv("SSH_CONNECTION");
  if (!said.empty() || ssh == nullptr) return said;
  const std::vector<std::string> words = absl::StrSplit(ssh, ' ');
  return words.size() == 4 ? words[2] : "";
}

// Returns the node's place in a Slurm job; nullopt if it belongs to none.
absl::StatusOr<std::optional<launcher::SlurmPlace>> OwnPlace() {
  if (!absl::GetFlag(FLAGS_slurm)) return std::nullopt;
  auto place = launcher::ReadSlurmPlace(std::getenv, getuid());
  if (!place.ok()) return place.status();
  return *std::move(place);
}

// Creates the node's folder, with its key: the first of the place's folders that can be created.
absl::Status MakeFolder(const launcher::SlurmPlace& place) {
  const auto key = launcher::ReadSlurmKey(std::getenv);
  if (!key.ok()) return key.status();
  absl::Status last;
  for (const std::string& folder : place.folders) {
    if (folder.size() > kLongestFolder) continue;
    last = runtime::MakePrivateDirectory(folder);
    if (last.ok()) last = runtime::WriteFileAtomically(folder + "/key", *key, 0600);
    if (!last.ok()) continue;
    absl::SetFlag(&FLAGS_folder, folder);
    absl::SetFlag(&FLAGS_key, folder + "/key");
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("Slurm ", place.name, ": the node can keep its files in none of ",
                   absl::StrJoin(place.folders, ", "), ": ", last.message()));
}

// Copies yard-shim to this host's disk, so that shims start from there, if that is possible.
void UseShimHere() {
  if (!absl::GetFlag(FLAGS_shim).empty()) return;
  const auto shim = runtime::FindBinary("launcher/yard-shim");
  const auto copy = shim.ok() ? launcher::CopyProgram(*shim, absl::GetFlag(FLAGS_folder)) : shim;
  if (copy.ok()) return absl::SetFlag(&FLAGS_shim, *copy);
  fprintf(stderr, "%s: %s\n", kProgram, std::string(copy.status().message()).c_str());
}

// Removes the keys from the environment; the worker reads its key from a file.
void ForgetKeys() {
  std::vector<std::string> names;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view entry(*variable);
    if (entry.starts_with(launcher::kNodeKeyVariable))
      names.emplace_back(entry.substr(0, entry.find('=')));
  }
  for (const std::string& name : names) unsetenv(name.c_str());
}

launcher::NodeHello HostFacts(const std::optional<launcher::SlurmPlace>& place) {
  launcher::NodeHello hello{.node = absl::GetFlag(FLAGS_node),
                            .address = OwnAddress(),
                            .version = std::string(bus::kVersion),
                            .memory_bytes = runtime::UsableMemory().value_or(0)};
  char name[256] = "";
  if (gethostname(name, sizeof name - 1) == 0) hello.host = name;
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof cpus, &cpus) == 0) {
    hello.cpus = static_cast<std::uint64_t>(CPU_COUNT(&cpus));
  }
  launcher::GpuMeter meter({.patience = kGpuPatience});
  for (const auto& gpu : meter.Measure(/*with_processes=*/false).figures.gpus) {
    hello.gpus.push_back(gpu.uuid);
  }
  if (place) {
    hello.run = place->run;
    if (hello.address.empty()) hello.address = place->address;
    if (!place->address.empty()) hello.host = place->address;
    if (place->cpus != 0) hello.cpus = place->cpus;
    if (place->memory_bytes != 0) hello.memory_bytes = place->memory_bytes;
    hello.gpus = launcher::GpusOf(*place, hello.gpus);
  }
  return hello;
}

// Runs the worker and returns its exit code.
absl::StatusOr<int> Work(const Paths& paths) {
  const auto place = OwnPlace();
  if (!place.ok()) return place.status();
  const pid_t stub = absl::GetFlag(FLAGS_worker);
  if (!launcher::EndWithStub(stub)) return absl::UnavailableError("its stub has ended");
  const auto stub_row = launcher::ReadProcess(stub);
  if (!stub_row) return absl::UnavailableError("its stub cannot be seen in /proc");
  if (absl::Status blocked = runtime::StopSignal::BlockInThisThread(); !blocked.ok()) {
    return blocked;
  }
  signal(SIGHUP, SIG_IGN);  // As in the stub.
  (void)runtime::RaiseFileLimit();
  // Waits for the worker of a stub that was killed, which may still be ending.
  const auto lock = runtime::LockFile(paths.folder + "/worker.lock");
  if (!lock.ok()) return lock.status();
  std::unique_ptr<bus::GateLink> link;
  if (!paths.key.empty()) {
    auto started = bus::GateLink::Start(
        {.folder = paths.folder, .key_file = paths.key, .addresses = paths.gates});
    if (!started.ok()) return started.status();
    link = *std::move(started);
  }
  const auto loop = runtime::EventLoop::Create();
  launcher::NodeHello hello = HostFacts(*place);
  // The loader also looks for the driver's library in the directory of the node's own libraries,
  // which may be on a file system that hangs, and holds the loader's lock meanwhile. So a node of
  // an allocation without GPUs tries to load it only once.
  launcher::GpuMeter::Options driver;
  if (*place && hello.gpus.empty()) driver.again = absl::InfiniteDuration();
  launcher::GpuMeter gpus(driver);
  if (*place) (void)gpus.Measure(/*with_processes=*/false);
  std::function<void(int)> leave;
  int exit_code = runtime::kExitOk;
  auto worker = launcher::NodeWorker::Create(
      {.loop = loop.get(),
       .folder = paths.folder,
       .socket_directory = paths.folder + "/sockets",
       .launcher_socket = paths.launcher_socket,
       .trainer_socket = paths.trainer_socket,
       .shim_path = paths.shim,
       .owner = stub,
       .owner_start_ticks = stub_row->start_ticks,
       .hello = std::move(hello),
       .patience = *place ? kPatience : absl::InfiniteDuration(),
       .on_unwanted =
           [&](const std::string& why) {
             if (!*place) return;
             LOG(ERROR) << "the node ends: " << why;
             exit_code = launcher::kExitUnwanted;
             leave(0);
           },
       .taken_by = *place ? "Slurm has ended " + (*place)->name : "",
       .gpus = [&](bool with_processes) { return gpus.Measure(with_processes); }});
  if (!worker.ok()) return worker.status();
  leave = [&](int) { (*worker)->Leave(*place ? (*place)->grace : kGrace, [&] { loop->Stop(); }); };
  const auto signals = runtime::StopSignal::Create(loop.get(), leave, [](int) {});
  if (!signals.ok()) return signals.status();
  if (absl::GetFlag(FLAGS_leave)) leave(0);
  loop->Run();
  worker->reset();
  return exit_code;
}

int RunWorker(const Paths& paths) {
  FLAGS_logtostderr = true;
  google::InitGoogleLogging(kProgram);
  const auto worked = Work(paths);
  return worked.ok() ? *worked : runtime::ReportAndExitCode(kProgram, worked.status());
}

std::vector<std::string> WorkerWords(const Paths& paths) {
  std::vector<std::string> words = {
      absl::StrCat("--worker=", getpid()), absl::StrCat("--node=", runtime::RandomHex128()),
      absl::StrCat("--folder=", paths.folder), absl::StrCat("--shim=", paths.shim),
      absl::StrCat("--address=", OwnAddress())};
  if (absl::GetFlag(FLAGS_slurm)) words.emplace_back("--slurm");
  if (paths.key.empty()) {
    words.push_back(absl::StrCat("--launcher_socket=", paths.launcher_socket));
    words.push_back(absl::StrCat("--trainer_socket=", paths.trainer_socket));
  } else {
    words.push_back(absl::StrCat("--key=", paths.key));
    words.push_back(absl::StrCat("--gate=", absl::StrJoin(paths.gates, ",")));
  }
  return words;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) != "--version") continue;
    printf("%s %s\n", kProgram, std::string(bus::kVersion).c_str());
    return runtime::kExitOk;
  }
  if (const absl::Status entered = runtime::EnterCallersDirectory(); !entered.ok()) {
    return runtime::ReportAndExitCode(kProgram, entered);
  }
  runtime::ParseFlags(
      kProgram, "Runs attempts on this host for a launcher elsewhere, until SIGTERM.", argc, argv);
  const auto place = OwnPlace();
  if (const auto end = runtime::EndAfterCheck(kProgram, place.status())) return *end;
  if (*place) launcher::LoadOwnProgram();
  if (*place && absl::GetFlag(FLAGS_worker) == 0) {
    if (const auto end = runtime::EndAfterCheck(kProgram, MakeFolder(**place))) return *end;
    ForgetKeys();
    UseShimHere();
  }
  const auto paths = TakePaths();
  if (const auto end = runtime::EndAfterCheck(kProgram, paths.status())) return *end;
  if (absl::GetFlag(FLAGS_worker) != 0) return RunWorker(*paths);
  std::vector<std::string> words = WorkerWords(*paths);
  if (const std::string libraries = absl::GetFlag(FLAGS_library_path); !libraries.empty()) {
    // The loader is the program that this process executes.
    words.insert(words.begin(), {"--library-path", runtime::AbsolutePath(libraries),
                                 runtime::AbsolutePath(argv[0])});
  }
  return launcher::RunNodeStub({.folder = paths->folder, .worker_words = std::move(words)});
}
