#include "launcher/alert/machine_watch.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <utility>

#include "absl/status/status.h"
#include "runtime/timer.h"

namespace launcher {
namespace {

// Returns the free space of each directory's disk. Blocks on the disk.
std::vector<DiskSpace> RoomsOf(const std::vector<std::string>& directories) {
  std::vector<DiskSpace> rooms;
  for (const std::string& directory : directories) {
    struct statvfs disk {};
    struct stat there {};
    if (statvfs(directory.c_str(), &disk) != 0 || stat(directory.c_str(), &there) != 0) continue;
    rooms.push_back({.directory = directory,
                     .device = there.st_dev,
                     .free_bytes = std::uint64_t{disk.f_bavail} * disk.f_frsize});
  }
  return rooms;
}

}  // namespace

class MachineWatch::Impl {
 public:
  explicit Impl(Options options)
      : options_(std::move(options)),
        disks_(options_.disk_floor),
        meter_(std::make_shared<GpuMeter>(options_.gpus)) {}
  ~Impl() { *alive_ = false; }

  // Runs one check on the pool; the next one is scheduled only after its result.
  void Look() {
    const absl::Status submitted =
        options_.pool->Submit([this, alive = alive_, loop = options_.loop, meter = meter_,
                               directories = options_.directories()] {
          std::vector<DiskSpace> rooms = RoomsOf(directories);
          GpuMeter::Reply gpus = meter->Measure(/*with_processes=*/false);
          auto seen = std::make_shared<std::pair<std::vector<DiskSpace>, GpuMeter::Reply>>(
              std::move(rooms), std::move(gpus));
          loop->Post([this, alive, seen] {
            if (*alive) OnSeen(seen->first, seen->second);
          });
          return absl::OkStatus();
        });
    if (!submitted.ok()) LookLater();
  }

 private:
  void OnSeen(const std::vector<DiskSpace>& rooms, const GpuMeter::Reply& gpus) {
    options_.on_news(disks_.Look(rooms));
    if (gpus.why_none.empty()) options_.on_news(gpus_.Look(gpus.figures.gpus));
    LookLater();
  }

  void LookLater() {
    timer_.Start(options_.loop, options_.every, [this] { Look(); });
  }

  const Options options_;
  DiskRule disks_;
  GpuRule gpus_;
  const std::shared_ptr<GpuMeter> meter_;
  runtime::Timer timer_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

std::unique_ptr<MachineWatch> MachineWatch::Start(Options options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  impl->Look();
  return std::unique_ptr<MachineWatch>(new MachineWatch(std::move(impl)));
}

MachineWatch::MachineWatch(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MachineWatch::~MachineWatch() = default;

}  // namespace launcher
