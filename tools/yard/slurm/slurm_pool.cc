#include "tools/yard/slurm/slurm_pool.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "runtime/file/file.h"
#include "runtime/file/sync_directory.h"
#include "runtime/text/json_value.h"
#include "runtime/text/printable.h"
#include "runtime/text/string_view.h"
#include "tools/yard/pool/host_name.h"

namespace yard {
namespace {

using runtime::JsonValue;

constexpr std::string_view kEnd = ".json", kStateEnd = ".state.json", kStateName = ".state";
constexpr std::string_view kPhases[] = {"idle",     "submitting", "waiting", "running",
                                        "draining", "ended",      "refused"};

constexpr std::size_t kMostBytes = 256 << 10;  // Limit of a file, in bytes.
constexpr std::size_t kLongestWord = 255;      // Limit of one sbatch flag's value.
constexpr std::size_t kLongestText = 4096;     // Limit of a path, a sentence, an extra sbatch word.
constexpr std::size_t kMostWords = 100;        // Limit of a list.
constexpr std::size_t kMostExcluded = 1000;
constexpr std::uint32_t kMostNodes = 1000, kMostSlots = 10'000, kMostCpus = 100'000;
constexpr std::uint32_t kMostMinutes = 366 * 24 * 60;
constexpr std::uint32_t kMostSeconds = 366 * 24 * 3600;
constexpr std::uint64_t kMostMib = std::uint64_t{1} << 40;
// Other processes hold the lock only for a few system calls.
constexpr absl::Duration kForLock = absl::Seconds(10);
constexpr absl::Duration kBetweenTries = absl::Milliseconds(5);

// Reads the members of an object in turn, and keeps the first error.
class Fields {
 public:
  Fields(const JsonValue& object, const std::string& path) : object_(object), path_(path) {}

  void Text(const char* name, std::string& value, std::size_t limit = kLongestText) {
    const JsonValue* const found = Find(name, JsonValue::Kind::kString);
    if (found == nullptr) return;
    value = runtime::StringOf(*found);
    if (value.size() > limit) Refuse(name);
  }
  template <typename Number>
  void Integer(const char* name, Number& value) {
    const JsonValue* const found = Find(name, JsonValue::Kind::kInteger);
    if (found == nullptr) return;
    const std::int64_t limit = sizeof(Number) < sizeof(std::int64_t)
                                   ? static_cast<std::int64_t>(std::numeric_limits<Number>::max())
                                   : std::numeric_limits<std::int64_t>::max();
    if (found->integer < 0 || found->integer > limit) return Refuse(name);
    value = static_cast<Number>(found->integer);
  }
  void Bool(const char* name, bool& value) {
    const JsonValue* const found = Find(name, JsonValue::Kind::kBool);
    if (found != nullptr) value = found->boolean;
  }
  void Words(const char* name, std::vector<std::string>& words, std::size_t most) {
    const JsonValue* const found = Find(name, JsonValue::Kind::kArray);
    if (found == nullptr) return;
    if (found->items.size() > most) return Refuse(name);
    for (const JsonValue& item : found->items) {
      if (item.kind != JsonValue::Kind::kString) return Refuse(name);
      words.push_back(runtime::StringOf(item));
      if (words.back().size() > kLongestText) return Refuse(name);
    }
  }
  void Refuse(const char* name) {
    if (!status_.ok()) return;
    status_ = absl::DataLossError(absl::StrCat(path_, " is damaged at \"", name, "\""));
  }
  const absl::Status& status() const { return status_; }

 private:
  const JsonValue* Find(const char* name, JsonValue::Kind kind) {
    const JsonValue* const found = object_.Find(name);
    if (found == nullptr || found->kind == kind) return found;
    Refuse(name);
    return nullptr;
  }

  const JsonValue& object_;
  const std::string& path_;
  absl::Status status_;
};

// Calls `read` with the fields of the JSON object in the file `path`.
template <typename Reader>
absl::Status ReadObject(const std::string& path, const Reader& read) {
  const auto text = runtime::ReadFile(path, kMostBytes);
  if (absl::IsResourceExhausted(text.status())) {
    return absl::DataLossError(text.status().message());
  }
  if (!text.ok()) return text.status();
  const auto object = runtime::ParseJson(*text, {.depth = 4});
  if (!object.ok() || object->kind != JsonValue::Kind::kObject) {
    return absl::DataLossError(absl::StrCat(path, " is damaged: it is no JSON object"));
  }
  Fields fields(*object, path);
  read(fields);
  return fields.status();
}

// Checks the value of an sbatch flag, which must be one word.
absl::Status CheckWord(const char* what, const std::string& word) {
  const bool is_plain = std::all_of(word.begin(), word.end(), absl::ascii_isgraph);
  if (word.size() <= kLongestWord && is_plain) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("\"", runtime::Printable(word), "\" is no ", what,
                                                 " for Slurm: expected at most ", kLongestWord,
                                                 " characters without spaces"));
}

absl::Status CheckRange(const char* what, std::uint64_t value, std::uint64_t least,
                        std::uint64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " is ", value, ": expected ", least, " to ", most));
}

absl::Status CheckTexts(const char* what, const std::vector<std::string>& texts, std::size_t most) {
  if (texts.size() > most) {
    return absl::InvalidArgumentError(absl::StrCat("more than ", most, " ", what));
  }
  for (const std::string& text : texts) {
    if (!text.empty() && text.size() <= kLongestText && !absl::StrContains(text, '\0')) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("one of the ", what, " is empty or longer than ", kLongestText, " bytes"));
  }
  return absl::OkStatus();
}

// Takes the lock for writing and removing a pool.
absl::StatusOr<runtime::UniqueFd> Lock(const std::string& directory) {
  const absl::Time deadline = absl::Now() + kForLock;
  for (;;) {
    auto lock = runtime::LockFile(directory + "/lock");
    if (!absl::IsAlreadyExists(lock.status()) || absl::Now() > deadline) return lock;
    absl::SleepFor(kBetweenTries);
  }
}

absl::Status WriteObject(const std::string& path, const nlohmann::json& json) {
  // Only Slurm's text may contain invalid UTF-8; it is replaced rather than refused.
  const std::string text =
      json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (text.size() > kMostBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot write ", path, ": it has at most ", kMostBytes, " bytes"));
  }
  return runtime::WriteFileAtomically(path, text, 0600, /*durable=*/true);
}

absl::Status RemoveFile(const std::string& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot remove ", path));
}

}  // namespace

std::string_view NameOfPhase(SlurmPoolState::Phase phase) {
  return kPhases[static_cast<std::size_t>(phase)];
}

absl::Status CheckSlurmPoolName(std::string_view name) {
  if (absl::Status good = CheckPoolName(name); !good.ok()) return good;
  if (!name.ends_with(kStateName)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the name of a pool of Slurm does not end with \".state\", as \"",
                   std::string(name), "\" does"));
}

absl::Status CheckSlurmPool(const SlurmPool& pool) {
  const std::pair<const char*, const std::string*> kWords[] = {{"partition", &pool.partition},
                                                               {"account", &pool.account},
                                                               {"qos", &pool.qos},
                                                               {"constraint", &pool.constraint},
                                                               {"number of gpus", &pool.gpus}};
  absl::Status status = CheckSlurmPoolName(pool.pool);
  for (const auto& [what, word] : kWords) status.Update(CheckWord(what, *word));
  for (const std::string& node : pool.exclude) status.Update(CheckWord("node", node));
  for (const std::string& address : pool.gate) {
    status.Update(CheckWord("address of the gate", address));
  }
  status.Update(CheckRange("nodes", pool.nodes, 1, kMostNodes));
  status.Update(CheckRange("time in minutes", pool.time_minutes, 0, kMostMinutes));
  status.Update(CheckRange("cpus", pool.cpus, 0, kMostCpus));
  status.Update(CheckRange("memory in MiB", pool.memory_mib, 0, kMostMib));
  status.Update(CheckRange("slots", pool.slots, 0, kMostSlots));
  status.Update(CheckRange("drain in seconds", pool.drain_seconds, 0, kMostSeconds));
  status.Update(CheckRange("idle in seconds", pool.idle_seconds, 1, kMostSeconds));
  status.Update(CheckTexts("excluded nodes", pool.exclude, kMostExcluded));
  status.Update(CheckTexts("words for sbatch", pool.sbatch_words, kMostWords));
  status.Update(CheckTexts("addresses of the gate", pool.gate, kMostWords));
  if (status.ok() && pool.gate.empty()) {
    status = absl::InvalidArgumentError("no address of the gate is given");
  }
  if (status.ok() &&
      (!absl::StartsWith(pool.directory, "/") || pool.directory.size() > kLongestText ||
       std::any_of(pool.directory.begin(), pool.directory.end(),
                   [](char c) { return absl::ascii_iscntrl(c); }))) {
    status = absl::InvalidArgumentError(
        absl::StrCat("directory \"", runtime::Printable(pool.directory),
                     "\" is no absolute path of at most ", kLongestText, " bytes"));
  }
  return status;
}

SlurmPoolFiles::SlurmPoolFiles(std::string_view state_directory)
    : directory_(absl::StrCat(runtime::Absl(state_directory), "/slurm")) {}

std::string SlurmPoolFiles::PathOf(const std::string& pool) const {
  return absl::StrCat(directory_, "/", pool, std::string(kEnd));
}

std::string SlurmPoolFiles::StatePathOf(const std::string& pool) const {
  return absl::StrCat(directory_, "/", pool, std::string(kStateEnd));
}

absl::StatusOr<std::vector<std::string>> SlurmPoolFiles::Names() const {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(directory_, error), end;
  if (error == std::errc::no_such_file_or_directory) return names;
  for (; !error && entry != end; entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (!name.ends_with(kEnd) || name.ends_with(kStateEnd)) continue;
    name.resize(name.size() - kEnd.size());
    if (!CheckSlurmPoolName(name).ok()) continue;
    if (names.size() == kMostPools) {
      return absl::ResourceExhaustedError(
          absl::StrCat(directory_, " has more than ", kMostPools, " pools"));
    }
    names.push_back(std::move(name));
  }
  if (error) {
    return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot list ", directory_));
  }
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<SlurmPool> SlurmPoolFiles::Read(const std::string& pool) const {
  if (absl::Status good = CheckSlurmPoolName(pool); !good.ok()) return good;
  SlurmPool read;
  absl::Status status = ReadObject(PathOf(pool), [&](Fields& fields) {
    fields.Text("pool", read.pool);
    fields.Integer("revision", read.revision);
    fields.Integer("nodes", read.nodes);
    fields.Integer("time_minutes", read.time_minutes);
    fields.Text("partition", read.partition);
    fields.Text("account", read.account);
    fields.Text("qos", read.qos);
    fields.Text("constraint", read.constraint);
    fields.Text("gpus", read.gpus);
    fields.Integer("cpus", read.cpus);
    fields.Integer("memory_mib", read.memory_mib);
    fields.Words("exclude", read.exclude, kMostExcluded);
    fields.Words("sbatch_words", read.sbatch_words, kMostWords);
    fields.Integer("slots", read.slots);
    fields.Text("directory", read.directory);
    fields.Words("gate", read.gate, kMostWords);
    fields.Integer("drain_seconds", read.drain_seconds);
    fields.Integer("idle_seconds", read.idle_seconds);
    fields.Bool("once", read.once);
    fields.Text("sweep", read.sweep);
    fields.Bool("removing", read.removing);
    if (read.pool != pool) fields.Refuse("pool");
  });
  if (!status.ok()) return status;
  // The file may have been edited by hand.
  if (absl::Status good = CheckSlurmPool(read); !good.ok()) {
    return absl::DataLossError(absl::StrCat(PathOf(pool), ": ", good.message()));
  }
  return read;
}

absl::StatusOr<SlurmPoolState> SlurmPoolFiles::ReadState(const std::string& pool) const {
  if (absl::Status good = CheckSlurmPoolName(pool); !good.ok()) return good;
  SlurmPoolState read;
  absl::Status status = ReadObject(StatePathOf(pool), [&](Fields& fields) {
    std::string phase;
    fields.Text("phase", phase);
    const auto* const known = std::find(std::begin(kPhases), std::end(kPhases), phase);
    if (known == std::end(kPhases)) fields.Refuse("phase");
    read.phase = static_cast<SlurmPoolState::Phase>(known - std::begin(kPhases));
    fields.Integer("revision", read.revision);
    fields.Integer("number", read.number);
    fields.Text("name", read.name);
    fields.Text("slurm_id", read.slurm_id);
    fields.Text("cluster", read.cluster);
    fields.Integer("submitted_us", read.submitted_us);
    fields.Text("state", read.state);
    fields.Text("reason", read.reason);
    fields.Text("node_list", read.node_list);
    fields.Integer("end_us", read.end_us);
    fields.Text("why", read.why);
    fields.Words("excluded", read.excluded, kMostExcluded);
    fields.Integer("failures", read.failures);
    fields.Integer("asked_revision", read.asked_revision);
    fields.Integer("tries", read.tries);
    fields.Bool("came", read.came);
    fields.Text("programs", read.programs);
    fields.Text("last_end", read.last_end);
  });
  if (!status.ok()) return status;
  return read;
}

absl::Status SlurmPoolFiles::Write(const SlurmPool& pool) const {
  if (absl::Status good = CheckSlurmPool(pool); !good.ok()) return good;
  if (absl::Status made = runtime::MakePrivateDirectory(directory_); !made.ok()) return made;
  const auto lock = Lock(directory_);
  if (!lock.ok()) return lock.status();
  return WriteObject(PathOf(pool.pool), {{"pool", pool.pool},
                                         {"revision", pool.revision},
                                         {"nodes", pool.nodes},
                                         {"time_minutes", pool.time_minutes},
                                         {"partition", pool.partition},
                                         {"account", pool.account},
                                         {"qos", pool.qos},
                                         {"constraint", pool.constraint},
                                         {"gpus", pool.gpus},
                                         {"cpus", pool.cpus},
                                         {"memory_mib", pool.memory_mib},
                                         {"exclude", pool.exclude},
                                         {"sbatch_words", pool.sbatch_words},
                                         {"slots", pool.slots},
                                         {"directory", pool.directory},
                                         {"gate", pool.gate},
                                         {"drain_seconds", pool.drain_seconds},
                                         {"idle_seconds", pool.idle_seconds},
                                         {"once", pool.once},
                                         {"sweep", pool.sweep},
                                         {"removing", pool.removing}});
}

absl::Status SlurmPoolFiles::WriteState(const std::string& pool,
                                        const SlurmPoolState& state) const {
  if (absl::Status good = CheckSlurmPoolName(pool); !good.ok()) return good;
  if (absl::Status made = runtime::MakePrivateDirectory(directory_); !made.ok()) return made;
  // Texts of Slurm have no limit of their own, so they are truncated.
  const auto shortened = [](const std::string& text) {
    return text.substr(0, std::min(text.size(), kLongestText / 4));
  };
  return WriteObject(StatePathOf(pool), {{"revision", state.revision},
                                         {"number", state.number},
                                         {"name", state.name},
                                         {"phase", std::string(NameOfPhase(state.phase))},
                                         {"slurm_id", state.slurm_id},
                                         {"cluster", state.cluster},
                                         {"submitted_us", state.submitted_us},
                                         {"state", shortened(state.state)},
                                         {"reason", shortened(state.reason)},
                                         {"node_list", shortened(state.node_list)},
                                         {"end_us", state.end_us},
                                         {"why", shortened(state.why)},
                                         {"excluded", state.excluded},
                                         {"failures", state.failures},
                                         {"asked_revision", state.asked_revision},
                                         {"tries", state.tries},
                                         {"came", state.came},
                                         {"programs", state.programs},
                                         {"last_end", shortened(state.last_end)}});
}

absl::Status SlurmPoolFiles::Remove(const std::string& pool, std::uint64_t revision) const {
  if (absl::Status good = CheckSlurmPoolName(pool); !good.ok()) return good;
  if (absl::Status made = runtime::MakePrivateDirectory(directory_); !made.ok()) return made;
  const auto lock = Lock(directory_);
  if (!lock.ok()) return lock.status();
  const auto now = Read(pool);
  if (now.ok() && now->revision != revision) {
    return absl::AbortedError(absl::StrCat("pool ", pool, " was changed, and stays"));
  }
  if (!now.ok() && !absl::IsNotFound(now.status()) && !absl::IsDataLoss(now.status())) {
    return now.status();
  }
  // The state is removed first: without the pool's file, nobody would ever find it.
  absl::Status removed = RemoveFile(StatePathOf(pool));
  removed.Update(RemoveFile(PathOf(pool)));
  removed.Update(runtime::SyncDirectory(directory_));
  return removed;
}

}  // namespace yard
