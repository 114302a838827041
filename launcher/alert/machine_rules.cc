#include "launcher/alert/machine_rules.h"

#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/text/byte_size.h"
#include "runtime/text/shell_word.h"
#include "runtime/text/string_view.h"

namespace launcher {
namespace {

constexpr int kLooks = 2;

}  // namespace

absl::StatusOr<std::uint64_t> ParseBytes(std::string_view text) {
  static constexpr std::string_view kUnits = "KMGTP";
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  std::string_view unit = text.substr(end);
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  double number = 0;
  const std::size_t power = unit.empty() ? 0 : kUnits.find(unit[0]) + 1;
  const std::string_view rest = power == 0 ? unit : unit.substr(1);
  const bool is_unit = rest.empty() || rest == "B" || (power > 0 && rest == "iB");
  const bool is_number = absl::SimpleAtod(runtime::Absl(text.substr(0, end)), &number);
  for (std::size_t i = 0; i < power; ++i) number *= 1024;
  if (!is_number || !is_unit || number > 1e18) {
    return absl::InvalidArgumentError(
        absl::StrCat(runtime::Absl(text), " is no number of bytes, such as 2GiB or 512MiB"));
  }
  return static_cast<std::uint64_t>(number);
}

MachineNews DiskRule::Look(const std::vector<DiskSpace>& rooms) {
  MachineNews news;
  std::set<std::uint64_t> devices;
  for (const DiskSpace& room : rooms) {
    if (floor_ == 0 || !devices.insert(room.device).second) continue;
    const std::string cause = "disk/" + room.directory;
    const auto known = low_.find(cause);
    const bool was_low = known == low_.end() || known->second;
    const bool was_seen_low = known != low_.end() && known->second;
    if (room.free_bytes < floor_ && !was_seen_low) {
      bus::NewAlert alert{.cause = cause, .alert = {}};
      alert.alert.kind = "disk_low";
      alert.alert.name = room.directory;
      alert.alert.reason =
          absl::StrCat(runtime::ByteSize(room.free_bytes), " are free on the disk of ",
                       room.directory, ", less than ", runtime::ByteSize(floor_));
      alert.alert.next = {"df -h " + runtime::ShellWord(room.directory), "yard runs"};
      news.raised.push_back(std::move(alert));
      low_[cause] = true;
    } else if (room.free_bytes >= floor_ + floor_ / 4 && was_low) {
      news.released.push_back(cause);
      low_[cause] = false;
    }
  }
  return news;
}

MachineNews GpuRule::Look(const std::vector<msg::GpuUsageT>& gpus) {
  MachineNews news;
  std::set<std::string> there;
  for (const msg::GpuUsageT& gpu : gpus) {
    if (gpu.uuid.empty()) continue;  // The GPU does not answer.
    there.insert(gpu.uuid);
    const auto [place, is_new] = known_.try_emplace(gpu.uuid);
    // The cause is released even for a new GPU, since an earlier launcher may have raised it.
    if (is_new || place->second.missing >= kLooks) news.released.push_back("gpu/" + gpu.uuid);
    place->second = {gpu.index, gpu.name, 0};
  }
  for (auto& [uuid, gpu] : known_) {
    if (there.contains(uuid) || ++gpu.missing != kLooks) continue;
    bus::NewAlert alert{.cause = "gpu/" + uuid, .alert = {}};
    alert.alert.kind = "gpu_lost";
    alert.alert.name = absl::StrCat("GPU ", gpu.index);
    alert.alert.reason = absl::StrCat("GPU ", gpu.index, " (", gpu.name, ", ", uuid,
                                      ") was there and does not answer any more");
    alert.alert.next = {"nvidia-smi", "yard ps"};
    news.raised.push_back(std::move(alert));
  }
  return news;
}

}  // namespace launcher
