#include "launcher/node/slurm_place.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace launcher {
namespace {

constexpr std::size_t kMaxKey = 64 << 10;
constexpr std::size_t kEndOfRun = 8;
constexpr std::size_t kMaxGpus = 1024;
constexpr std::int64_t kDefaultGrace = 28;  // Slurm's KillWait is 30 s by default.
constexpr std::int64_t kLongestGrace = 3600;
constexpr std::uint64_t kMaxMebibytes = std::uint64_t{1} << 40;

std::string Text(const Variable& variable, const std::string& name) {
  const char* const value = variable(name.c_str());
  return value == nullptr ? "" : value;
}

// Returns the last letters and digits of a run, which make its folder unique: Slurm may reuse the
// id of a job, and two clusters may share a host.
std::string EndOf(const std::string& run) {
  std::string end;
  for (const char letter : run) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(letter))) end += letter;
  }
  return end.substr(end.size() - std::min(end.size(), kEndOfRun));
}

absl::Status Missing(const std::string& name) {
  return absl::InvalidArgumentError(
      absl::StrCat("$", name,
                   " is missing or wrong: --slurm is for a task of a Slurm job that the "
                   "yard has made (`yard pool NAME --engine slurm`)"));
}

// Parses a number; 0 if the text is not a number up to `most`.
std::uint64_t Number(const std::string& text, std::uint64_t most) {
  std::uint64_t number = 0;
  return absl::SimpleAtoi(text, &number) && number <= most ? number : 0;
}

}  // namespace

absl::StatusOr<SlurmPlace> ReadSlurmPlace(const Variable& variable, std::uint64_t uid) {
  const auto text = [&](const std::string& name) { return Text(variable, name); };
  std::uint64_t job = 0, index = 0;
  if (!absl::SimpleAtoi(text("SLURM_JOB_ID"), &job)) return Missing("SLURM_JOB_ID");
  if (!absl::SimpleAtoi(text("SLURM_NODEID"), &index)) return Missing("SLURM_NODEID");
  SlurmPlace place;
  place.run = text("YARD_NODE_RUN");
  if (place.run.empty()) return Missing("YARD_NODE_RUN");
  std::int64_t grace = kDefaultGrace;
  if (const std::string said = text("YARD_NODE_GRACE"); !said.empty()) {
    if (!absl::SimpleAtoi(said, &grace)) return Missing("YARD_NODE_GRACE");
  }
  place.grace = absl::Seconds(std::clamp<std::int64_t>(grace, 0, kLongestGrace));
  place.address = text("SLURMD_NODENAME");
  place.name =
      absl::StrCat("job ", job, place.address.empty() ? "" : absl::StrCat(" on ", place.address));
  place.cpus = Number(text("SLURM_CPUS_ON_NODE"), 1 << 20);
  std::uint64_t mebibytes = Number(text("SLURM_MEM_PER_NODE"), kMaxMebibytes);
  if (mebibytes == 0)
    mebibytes = place.cpus * Number(text("SLURM_MEM_PER_CPU"), kMaxMebibytes >> 20);
  place.memory_bytes = mebibytes << 20;
  if (const char* const gpus = variable("CUDA_VISIBLE_DEVICES"); gpus != nullptr) {
    place.says_gpus = true;
    for (const auto gpu : absl::StrSplit(gpus, ',', absl::SkipWhitespace())) {
      if (place.gpus.size() < kMaxGpus) place.gpus.emplace_back(absl::StripAsciiWhitespace(gpu));
    }
  }
  const std::string name =
      absl::StrCat("/yard-", uid, "-", job, ".", Number(text("SLURM_RESTART_COUNT"), 1 << 20), "-",
                   index, "-", EndOf(place.run));
  for (const std::string& base : {text("SLURM_TMPDIR"), text("TMPDIR"), std::string("/tmp")}) {
    if (base.starts_with('/')) place.folders.push_back(absl::StrCat(base, name));
  }
  return place;
}

absl::StatusOr<std::string> ReadSlurmKey(const Variable& variable) {
  const std::string name = absl::StrCat(kNodeKeyVariable, Text(variable, "SLURM_NODEID"));
  const std::string encoded = Text(variable, name);
  std::string key;
  if (encoded.empty() || encoded.size() > kMaxKey || !absl::Base64Unescape(encoded, &key)) {
    return Missing(name);
  }
  return key;
}

std::vector<std::string> GpusOf(const SlurmPlace& place, const std::vector<std::string>& of_host) {
  if (!place.says_gpus) return of_host;
  if (of_host.empty()) return place.gpus;
  std::vector<std::string> gpus;
  for (const std::string& said : place.gpus) {
    std::size_t index = 0;
    if (absl::SimpleAtoi(said, &index)) {
      if (index < of_host.size()) gpus.push_back(of_host[index]);
    } else if (std::find(of_host.begin(), of_host.end(), said) != of_host.end()) {
      gpus.push_back(said);
    }
  }
  return gpus;
}

}  // namespace launcher
