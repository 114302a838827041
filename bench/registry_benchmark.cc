// Compares the registry with TensorBoard's manager: reading the same info files, finding a live
// tool, and reporting a death. Prints a table, or JSON with --json.

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/comparison_app.h"
#include "bench/peer_comparison.h"
#include "bench/peers.h"
#include "bus/call/client.h"
#include "bus/schema/registry_methods.h"
#include "bus/thread/node.h"
#include "registry/info/cache_key.h"
#include "registry/info/info_directory.h"
#include "registry/info/instance_info.h"
#include "registry/tool/instance_view.h"
#include "registry/tool/tool_probe.h"
#include "runtime/event_loop.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/process_identity.h"
#include "runtime/process/subprocess.h"

namespace bench {
namespace {

using Kind = PeerComparison::Limit::Kind;
using rpc::Registry;

constexpr absl::Duration kLong = absl::Seconds(60);
constexpr int kReuses = 200;
constexpr char kReadByManager[] = R"py(
import time
from tensorboard import manager
def once():
    begin = time.perf_counter()
    found = manager.get_all()
    return time.perf_counter() - begin, len(found)
once()
print(sorted(once()[0] for _ in range(3))[1])
)py";

// Returns the median time, in milliseconds, of some rounds of `work`.
template <typename Work>
double MedianMs(int rounds, const Work& work) {
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    const absl::Time begin = absl::Now();
    work();
    times.push_back(absl::ToDoubleMilliseconds(absl::Now() - begin));
  }
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  return times[static_cast<std::size_t>(rounds / 2)];
}

// A folder with info files, a registry that watches it, and this process as the live tool.
class Bench {
 public:
  explicit Bench(int files) : files_(files) {
    char name[] = "/tmp/regb-XXXXXX";
    directory_ = mkdtemp(name);
    locations_ = {.runtime_directory = directory_ + "/yard",
                  .state_directory = directory_ + "/state",
                  .registry_address = "ipc://" + directory_ + "/yard/registry"};
  }
  ~Bench() {
    client_.reset();
    node_.reset();
    if (registry_) {
      (void)registry_->Signal(SIGKILL);
      (void)registry_->Wait(kLong);
    }
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  absl::Status Prepare() {
    const registry::InfoDirectory directory(directory_);
    if (absl::Status listening = Listen(); !listening.ok()) return listening;
    for (int i = 0; i < files_; ++i) {
      const bool alive = i == 0;
      registry::InstanceInfo info{.version = "2.21.0",
                                  .start_time = absl::ToUnixSeconds(absl::Now()),
                                  .pid = alive ? getpid() : (1 << 24) + i,
                                  .port = alive ? port_ : 1024 + i,
                                  .path_prefix = "",
                                  .logdir = absl::StrCat("/runs/", i),
                                  .db = "",
                                  .cache_key = *registry::CacheKey("/", Arguments(i))};
      if (absl::Status written = directory.Write(info, "2.21.0"); !written.ok()) return written;
    }
    return StartRegistry();
  }

  absl::StatusOr<double> ReadAll() {
    const registry::InfoDirectory directory(directory_);
    std::size_t found = 0;
    const double ms = MedianMs(5, [&] { found = directory.GetAll()->size(); });
    if (found != static_cast<std::size_t>(files_)) return absl::InternalError("files are missing");
    return 1000 / ms;
  }

  // Returns the rate of queries while the kernel reports every change; each query copies everything
  // known.
  absl::StatusOr<double> ReadView() {
    const auto loop = runtime::EventLoop::Create();
    registry::InstanceView view({.loop = loop.get(),
                                 .probe = registry::ToolProbe::Kernel(),
                                 .temporary_directory = directory_,
                                 .uid = getuid(),
                                 .changed = {}});
    std::vector<registry::InstanceInfo> all;
    const double ms = MedianMs(101, [&] {
      all.clear();
      for (const auto& [name, entry] : view.Entries()) all.push_back(entry.file.info);
    });
    if (all.size() != static_cast<std::size_t>(files_)) {
      return absl::InternalError("files are missing");
    }
    return 1000 / ms;
  }

  absl::StatusOr<double> ReadByManager() {
    const auto python = FindPeer("tensorboard", "bin/python");
    if (!python.ok()) return python.status();
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return absl::InternalError("cannot make a pipe");
    const runtime::UniqueFd read_end(ends[0]);
    runtime::UniqueFd write_end(ends[1]);
    auto process = runtime::Subprocess::Start({.argv = {*python, "-c", kReadByManager},
                                               .program = *python,
                                               .environment = {"TMPDIR=" + directory_},
                                               .working_directory = "/",
                                               .fds = {{write_end.get(), 1}}});
    if (!process.ok()) return process.status();
    write_end.reset();
    std::string text(100, '\0');
    const ssize_t size = read(read_end.get(), text.data(), text.size());
    const auto ended = process->Wait(kLong);
    double seconds = 0;
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    if (!ended.ok() || !ended->ok() || !absl::SimpleAtod(text, &seconds)) {
      return absl::InternalError("TensorBoard's manager could not read the files");
    }
    return 1 / seconds;
  }

  absl::StatusOr<double> Reuse() {
    msg::StartOrReuseRequestT request;
    request.arguments = Arguments(0);
    request.environment = {"TMPDIR=" + directory_, "PATH=/usr/bin"};
    request.working_directory = "/";
    absl::Status failed;
    const double ms = MedianMs(kReuses, [&] {
      const auto reply = client_->Call<Registry::StartOrReuse>(request);
      if (!reply.ok()) failed = reply.status();
      if (reply.ok() && reply->outcome != msg::StartOutcome::Reused) {
        failed = absl::InternalError("the live tool was not reused");
      }
    });
    if (!failed.ok()) return failed;
    return ms;
  }

  // From the kill of a registered process to the event that reports its death.
  absl::StatusOr<double> Death() {
    auto victim = runtime::Subprocess::Start({.argv = {"/bin/sleep", "1000"},
                                              .program = "/bin/sleep",
                                              .environment = {},
                                              .working_directory = "/"});
    if (!victim.ok()) return victim.status();
    if (absl::Status registered = Register(victim->pid()); !registered.ok()) return registered;
    msg::WatchRequestT watch;
    watch.prefix = "victim/";
    absl::Time killed, told;
    const auto end = client_->Stream<Registry::Watch>(watch,
                                                      [&](const msg::WatchReplyT& part) {
                                                        if (part.snapshot) {
                                                          killed = absl::Now();
                                                          return victim->Signal(SIGKILL).ok();
                                                        }
                                                        told = absl::Now();
                                                        return false;
                                                      },
                                                      {.timeout = kLong});
    (void)victim->Wait(kLong);
    if (told < killed || !absl::IsCancelled(end.status())) {
      return absl::InternalError("nothing was told of the death");
    }
    return absl::ToDoubleMilliseconds(told - killed);
  }

 private:
  static std::vector<std::string> Arguments(int i) {
    return {"--logdir", absl::StrCat("/runs/", i)};
  }

  absl::Status Listen() {
    listener_ = runtime::UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (bind(listener_.get(), any, size) != 0 || listen(listener_.get(), 1) != 0 ||
        getsockname(listener_.get(), any, &size) != 0) {
      return absl::InternalError("cannot listen on a port");
    }
    port_ = ntohs(address.sin_port);
    return absl::OkStatus();
  }

  absl::Status StartRegistry() {
    const auto program = runtime::FindBinary("registry/registry");
    if (!program.ok()) return program.status();
    auto process = runtime::Subprocess::Start(
        {.argv = {*program},
         .program = *program,
         .environment = {"XDG_RUNTIME_DIR=" + directory_, "YARD_STATE=" + directory_ + "/state",
                         "TMPDIR=" + directory_},
         .working_directory = directory_});
    if (!process.ok()) return process.status();
    registry_ = std::make_unique<runtime::Subprocess>(std::move(*process));
    auto node = bus::Node::Create({.name = "bench", .locations = locations_});
    if (!node.ok()) return node.status();
    node_ = std::move(*node);
    client_ = std::make_unique<bus::Client>(node_.get());
    return client_->Call<Registry::List>({}, {.timeout = kLong, .wait_for_service = true}).status();
  }

  absl::Status Register(pid_t pid) {
    const auto identity = runtime::IdentityOf(pid);
    if (!identity.ok()) return identity.status();
    msg::RegisterRequestT request;
    request.lease = std::make_unique<msg::LeaseT>();
    request.lease->name = "victim";
    request.lease->instance = "0";
    request.lease->nonce = static_cast<std::uint64_t>(pid);
    request.lease->process = std::make_unique<msg::ProcessIdentityT>();
    request.lease->process->pid_namespace = identity->pid_namespace;
    request.lease->process->boot_id = identity->boot_id;
    request.lease->process->pid = identity->pid;
    request.lease->process->start_ticks = identity->start_ticks;
    return client_->Call<Registry::Register>(request).status();
  }

  const int files_;
  std::string directory_;
  runtime::Locations locations_;
  runtime::UniqueFd listener_;
  int port_ = 0;
  std::unique_ptr<runtime::Subprocess> registry_;
  std::unique_ptr<bus::Node> node_;
  std::unique_ptr<bus::Client> client_;
};

absl::Status AddAll(PeerComparison& comparison, Bench* bench, int files) {
  if (absl::Status prepared = bench->Prepare(); !prepared.ok()) return prepared;
  comparison.Add("TensorBoard's manager", [=] { return bench->ReadByManager(); });
  comparison.Add("files", [=] { return bench->ReadAll(); });
  comparison.Add("view", [=] { return bench->ReadView(); });
  comparison.Add("reuse", [=] { return bench->Reuse(); });
  comparison.Add("death", [=] { return bench->Death(); });
  const std::string of_files = absl::StrCat(" of ", files, " info files");
  comparison.Compare("reading" + of_files, "lists/s", "files", "TensorBoard's manager",
                     {Kind::kRatioAtLeast, 4});
  comparison.Compare("the watched view" + of_files, "lists/s", "view", "TensorBoard's manager",
                     {Kind::kRatioAtLeast, 100});
  comparison.Compare("reuse of a live tool, over the bus", "ms", "reuse", "",
                     {Kind::kValueAtMost, 2});
  comparison.Compare("kill -9 to the watch event", "ms", "death", "", {Kind::kValueAtMost, 100});
  return absl::OkStatus();
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::ComparisonApp app("registry_benchmark",
                           "Measures the registry beside TensorBoard's manager.");
  int files = 1000;
  app.options()
      .add_option("--files", files, "Info files in the directory")
      ->check(CLI::PositiveNumber);
  std::unique_ptr<bench::Bench> bench;
  return app.Run(argc, argv, [&](bench::PeerComparison& comparison) {
    bench = std::make_unique<bench::Bench>(files);
    return bench::AddAll(comparison, bench.get(), files);
  });
}
