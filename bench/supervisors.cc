#include "bench/supervisors.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bench/peers.h"
#include "bench/stamps.h"
#include "runtime/process/subprocess.h"

namespace bench {
namespace {

constexpr absl::Duration kLong = absl::Seconds(60);
constexpr char kPath[] = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
// Pause until a peer notices that its programs are up.
constexpr absl::Duration kSettle = absl::Milliseconds(500);

// A folder and the processes in it, until the end of a measurement.
class PeerRun {
 public:
  PeerRun()
      : directory_(NewFolder()), stamps_(std::make_unique<StampFile>(directory_ + "/stamps")) {}
  ~PeerRun() {
    End();
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  PeerRun(const PeerRun&) = delete;
  PeerRun& operator=(const PeerRun&) = delete;

  const std::string& directory() const { return directory_; }
  StampFile& stamps() { return *stamps_; }
  pid_t pid() const { return process_->pid(); }
  absl::Duration begin() const { return begin_; }

  absl::Status Start(std::vector<std::string> argv) {
    const std::string program = argv[0];
    begin_ = MonotonicNow();
    auto process =
        runtime::Subprocess::Start({.argv = std::move(argv),
                                    .program = program,
                                    .environment = {absl::StrCat("PATH=", kPath),
                                                    "HOME=" + directory_, "TMPDIR=" + directory_},
                                    .working_directory = directory_,
                                    .new_session = true});
    if (!process.ok()) return process.status();
    process_ = std::make_unique<runtime::Subprocess>(std::move(*process));
    return absl::OkStatus();
  }
  absl::Status Ask() { return process_->Signal(SIGTERM); }

 private:
  void End() {
    if (process_ == nullptr) return;
    (void)Ask();
    if (!process_->Wait(absl::Seconds(20)).ok()) {
      (void)process_->SignalGroup(SIGKILL);
      (void)process_->Wait(kLong);
    }
    // (A peer may leave its programs behind.)
    for (const Stamp& stamp : stamps_->Read()) {
      std::error_code gone;
      const auto exe =
          std::filesystem::read_symlink(absl::StrCat("/proc/", stamp.pid, "/exe"), gone);
      if (!gone && exe.filename() == "stamp") kill(stamp.pid, SIGKILL);
    }
  }

  const std::string directory_;
  const std::unique_ptr<StampFile> stamps_;
  std::unique_ptr<runtime::Subprocess> process_;
  absl::Duration begin_;
};

absl::StatusOr<std::string> Find(const std::string& program, const std::string& how) {
  auto found = runtime::FindProgram(program, kPath, "/");
  if (found.ok()) return found;
  return absl::NotFoundError("not installed: " + how);
}

absl::Status StartSupervisord(PeerRun* run, int programs) {
  const auto supervisord = Find("supervisord", "apt-get install supervisor");
  if (!supervisord.ok()) return supervisord.status();
  const auto stamp = StampProgram();
  if (!stamp.ok()) return stamp.status();
  const std::string path = run->directory() + "/supervisord.conf";
  std::ofstream file(path);
  file << "[supervisord]\nnodaemon=true\nminfds=" << 4 * programs + 64
       << "\nlogfile=" << run->directory() << "/log\npidfile=" << run->directory()
       << "/pid\nchildlogdir=" << run->directory() << "\nidentifier=bench\n";
  for (int i = 0; i < programs; ++i) {
    file << "[program:p" << i << "]\ncommand=" << *stamp << " " << run->stamps().path()
         << " stay\nautorestart=true\nstartsecs=0\n";
  }
  file.close();
  return run->Start({*supervisord, "-n", "-s", "-c", path});
}

// Creates a folder for each service, with its `run` script.
absl::Status StartS6(PeerRun* run, int services) {
  const auto svscan = Find("s6-svscan", "apt-get install s6");
  if (!svscan.ok()) return svscan.status();
  const auto stamp = StampProgram();
  if (!stamp.ok()) return stamp.status();
  const std::string scan = run->directory() + "/scan";
  for (int i = 0; i < services; ++i) {
    const std::string folder = absl::StrCat(scan, "/p", i);
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/run")
        << "#!/bin/sh\nexec " << *stamp << " " << run->stamps().path() << " stay\n";
    chmod((folder + "/run").c_str(), 0755);
  }
  return run->Start({*svscan, scan});
}

// Kills the programs that ran at the beginning, one at a time.
absl::StatusOr<absl::Duration> KillEach(PeerRun* run, int programs) {
  auto stamps = run->stamps().Await(static_cast<std::size_t>(programs), kLong);
  if (!stamps.ok()) return stamps.status();
  absl::SleepFor(kSettle);
  std::vector<double> took;
  for (int i = 0; i < programs; ++i) {
    const absl::Duration begin = MonotonicNow();
    kill((*stamps)[static_cast<std::size_t>(i)].pid, SIGKILL);
    const auto now = run->stamps().Await(
        static_cast<std::size_t>(programs) + static_cast<std::size_t>(i) + 1, kLong);
    if (!now.ok()) return now.status();
    took.push_back(absl::ToDoubleSeconds(now->back().when - begin));
  }
  return absl::Seconds(Median(took));
}

}  // namespace

absl::StatusOr<Supervisord> MeasureSupervisord(int programs) {
  PeerRun run;
  if (absl::Status started = StartSupervisord(&run, programs); !started.ok()) return started;
  const auto stamps = run.stamps().Await(static_cast<std::size_t>(programs), kLong);
  if (!stamps.ok()) return stamps.status();
  Supervisord figures;
  figures.all_started = Last(*stamps) - run.begin();
  figures.first_to_last = Last(*stamps) - stamps->front().when;
  absl::SleepFor(kSettle);
  figures.resident_kilobytes = ResidentKilobytes(run.pid());
  LivingProcesses living(*stamps);
  const absl::Duration begin = MonotonicNow();
  if (absl::Status asked = run.Ask(); !asked.ok()) return asked;
  if (absl::Status ended = living.AwaitEnd(kLong); !ended.ok()) return ended;
  figures.stopped = MonotonicNow() - begin;
  return figures;
}

absl::StatusOr<absl::Duration> SupervisordRestart(int kills) {
  PeerRun run;
  if (absl::Status started = StartSupervisord(&run, kills); !started.ok()) return started;
  return KillEach(&run, kills);
}

absl::StatusOr<absl::Duration> S6Restart(int kills) {
  PeerRun run;
  if (absl::Status started = StartS6(&run, kills); !started.ok()) return started;
  return KillEach(&run, kills);
}

absl::StatusOr<absl::Duration> TorchrunRestart(int kills) {
  constexpr std::size_t kGang = 4;
  const auto torchrun =
      Find(FindPeer("torch", "bin/torchrun").value_or("torchrun"), "tools/peers torch");
  if (!torchrun.ok()) return torchrun.status();
  const auto stamp = StampProgram();
  if (!stamp.ok()) return stamp.status();
  PeerRun run;
  // (In version 1.13 with Python 3.11, redirects and tee must not be 0.)
  const absl::Status started =
      run.Start({*torchrun, "--standalone", "--redirects", "1", "--tee", "1", "--max_restarts",
                 "100", "--nproc_per_node", absl::StrCat(kGang), "--no_python", *stamp,
                 run.stamps().path(), "stay"});
  if (!started.ok()) return started;
  auto stamps = run.stamps().Await(kGang, kLong);
  std::vector<double> took;
  for (int i = 0; i < kills && stamps.ok(); ++i) {
    absl::SleepFor(kSettle);
    const std::size_t before = stamps->size();
    const absl::Duration begin = MonotonicNow();
    kill(stamps->back().pid, SIGKILL);
    stamps = run.stamps().Await(before + kGang, kLong);
    if (stamps.ok()) took.push_back(absl::ToDoubleSeconds(Last(*stamps) - begin));
  }
  if (!stamps.ok()) return stamps.status();
  return absl::Seconds(Median(took));
}

}  // namespace bench
