#include "trainer/checkpoint/checkpoint_directory.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "eventlog/crc32c.h"
#include "runtime/file/file.h"
#include "runtime/file/own_directory.h"
#include "runtime/file/sync_directory.h"
#include "runtime/file/unique_fd.h"
#include "runtime/text/json_value.h"
#include "runtime/text/random_id.h"
#include "runtime/text/string_view.h"
#include "trainer/checkpoint/file_tree.h"

// Invariant: a directory without a temporary name is complete. It gets its name by a rename after
// all its files are synced, and loses it by a rename before any file is removed.

namespace trainer {
namespace {

using runtime::Absl;
using runtime::JsonValue;

constexpr std::string_view kNamePrefix = "checkpoint_";
constexpr std::string_view kTemporaryPrefix = "checkpoint_tmp";
constexpr std::size_t kTemporaryDigits = 6;
constexpr int kNameAttempts = 100;
constexpr std::size_t kMaxMetadata = 64 << 10;
constexpr std::int64_t kMostIterations = 1'000'000'000'000'000;  // Leaves room to count on.
constexpr std::size_t kMaxManifest = 32 << 20;
// Limits of a manifest's JSON: an array, and at most eight values for each file.
constexpr runtime::JsonOptions kManifestLimits = {8, 8 * kMaxTreeEntries};

std::string Join(const std::string& directory, std::string_view name) {
  return absl::StrCat(directory, "/", Absl(name));
}

std::string WithoutTrailingSlashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::pair<std::string, std::string> ParentAndName(const std::string& directory) {
  const std::string path = WithoutTrailingSlashes(directory);
  const std::size_t slash = path.find_last_of('/');
  if (slash == path.npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

bool HasFile(const std::string& directory, std::string_view name) {
  struct stat about {};
  return lstat(Join(directory, name).c_str(), &about) == 0 && S_ISREG(about.st_mode);
}

// Returns true for a directory, false for a link to one.
bool IsDirectory(const std::string& path) {
  struct stat about {};
  return lstat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

std::string TemporaryName() {
  return absl::StrCat(Absl(kTemporaryPrefix), runtime::RandomHex128().substr(0, kTemporaryDigits));
}

absl::Status Touch(const std::string& directory, std::string_view name) {
  const std::string path = Join(directory, name);
  const runtime::UniqueFd file = runtime::OpenOrMake(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK,
                                                     runtime::FileMode::OfFileIn(directory));
  if (file.valid()) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("making ", path));
}

absl::Status Sync(int fd, const std::string& path) {
  while (fsync(fd) != 0) {
    if (errno != EINTR) return absl::ErrnoToStatus(errno, absl::StrCat("syncing ", path));
  }
  return absl::OkStatus();
}

// We write only small files: a larger one is damaged or not ours.
absl::StatusOr<std::string> ReadSmall(const std::string& path, std::size_t limit) {
  struct stat about {};
  if (stat(path.c_str(), &about) == 0 && static_cast<std::uint64_t>(about.st_size) > limit) {
    return absl::DataLossError(absl::StrCat(path, " is damaged: it has ", about.st_size, " bytes"));
  }
  return runtime::ReadFile(path, limit);
}

absl::StatusOr<FileSum> SumOf(const TreeFile& file) {
  FileSum sum{file.size, 0};
  auto status = ReadPieces(
      file,
      [&](std::string_view piece) {
        sum.crc = eventlog::ExtendCrc32c(sum.crc, piece);
        return absl::OkStatus();
      },
      [&](std::uint64_t zeros) {
        sum.crc = eventlog::ExtendCrc32cByZeros(sum.crc, zeros);
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return sum;
}

std::string RenderManifest(const CheckpointManifest& manifest) {
  std::string text = "{\"files\":[";
  for (const auto& [name, sum] : manifest) {
    absl::StrAppend(&text, text.back() == '[' ? "\n" : ",\n", "{\"path\":", runtime::Quote(name),
                    ",\"size\":", sum.size, ",\"crc32c\":", sum.crc, "}");
  }
  return text + "\n]}\n";
}

std::optional<std::int64_t> Whole(const JsonValue* value) {
  if (value == nullptr || value->kind != JsonValue::Kind::kInteger) return std::nullopt;
  return value->integer;
}

bool ReadManifestEntry(const JsonValue& entry, CheckpointManifest& manifest) {
  const JsonValue* const path = entry.Find("path");
  const auto size = Whole(entry.Find("size")), crc = Whole(entry.Find("crc32c"));
  if (path == nullptr || path->kind != JsonValue::Kind::kString || !size || !crc) return false;
  if (*size < 0 || *crc < 0 || *crc > UINT32_MAX) return false;
  manifest[runtime::StringOf(*path)] = {static_cast<std::uint64_t>(*size),
                                        static_cast<std::uint32_t>(*crc)};
  return true;
}

// Returns NotFound if the directory has no manifest.
absl::StatusOr<CheckpointManifest> ReadManifest(const std::string& directory) {
  const std::string path = Join(directory, kManifestFile);
  auto text = ReadSmall(path, kMaxManifest);
  if (!text.ok()) return text.status();
  auto json = runtime::ParseJson(*text, kManifestLimits);
  const JsonValue* const files =
      json.ok() && json->kind == JsonValue::Kind::kObject ? json->Find("files") : nullptr;
  CheckpointManifest manifest;
  bool good = files != nullptr && files->kind == JsonValue::Kind::kArray;
  for (std::size_t i = 0; good && i < files->items.size(); ++i) {
    const JsonValue& entry = files->items[i];
    good = entry.kind == JsonValue::Kind::kObject && ReadManifestEntry(entry, manifest);
  }
  if (!good) return absl::DataLossError(absl::StrCat(path, " is damaged"));
  return manifest;
}

absl::Status Damaged(const std::string& directory, const std::string& name) {
  return absl::DataLossError(absl::StrCat(Join(directory, name), " is damaged: it is not what ",
                                          "the manifest of the checkpoint says"));
}

// Renames `temporary` to `final_path`, atomically if the file system can exchange names. If
// `final_path` existed, the old directory then has the name `temporary`.
absl::Status MoveInto(const std::string& temporary, const std::string& final_path) {
  const auto failed = [&] {
    return absl::ErrnoToStatus(errno, absl::StrCat("renaming ", temporary, " to ", final_path));
  };
  if (rename(temporary.c_str(), final_path.c_str()) == 0) return absl::OkStatus();
  if (errno != ENOTEMPTY && errno != EEXIST) return failed();
  const auto exchange = [&] {
    return renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, final_path.c_str(), RENAME_EXCHANGE);
  };
  if (exchange() == 0) return absl::OkStatus();
  const std::string aside = Join(ParentAndName(final_path).first, TemporaryName());
  if (rename(final_path.c_str(), aside.c_str()) != 0) return failed();
  if (rename(temporary.c_str(), final_path.c_str()) != 0) {
    const absl::Status status = failed();
    (void)rename(aside.c_str(), final_path.c_str());
    return status;
  }
  // The caller removes the old directory once the new name is synced.
  return rename(aside.c_str(), temporary.c_str()) == 0 ? absl::OkStatus() : failed();
}

absl::Status RemoveTree(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error, ignored;
  fs::remove_all(path, error);
  if (error == std::errc::permission_denied) {
    // The program may have left directories without write permission.
    const auto open_up = [](const fs::path& directory) {
      std::error_code none;
      fs::permissions(directory, fs::perms::owner_all, fs::perm_options::add, none);
    };
    open_up(path);
    for (auto entry = fs::recursive_directory_iterator(path, ignored);
         !ignored && entry != fs::recursive_directory_iterator(); entry.increment(ignored)) {
      std::error_code none;
      if (entry->symlink_status(none).type() == fs::file_type::directory) open_up(entry->path());
    }
    error.clear();
    fs::remove_all(path, error);
  }
  if (!error) return absl::OkStatus();
  return absl::ErrnoToStatus(error.value(), absl::StrCat("removing ", path));
}

// Copies one file of a tree into the directory `target`. Returns its size and CRC, to be compared
// with the manifest.
absl::StatusOr<FileSum> CopyFile(const TreeFile& file, const std::string& target) {
  const std::string path = Join(target, file.name);
  auto made =
      runtime::MakeDirectories(ParentAndName(path).first, runtime::FileMode::OfDirectoryIn(target));
  if (!made.ok()) return made;
  const runtime::UniqueFd out = runtime::OpenOrMake(path, O_WRONLY | O_TRUNC | O_NOFOLLOW,
                                                    runtime::FileMode::OfFileIn(target));
  if (!out.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("making ", path));
  FileSum sum{file.size, 0};
  // Preserves holes.
  auto status = ReadPieces(
      file,
      [&](std::string_view piece) {
        sum.crc = eventlog::ExtendCrc32c(sum.crc, piece);
        return runtime::WriteAll(out.get(), piece);
      },
      [&](std::uint64_t zeros) {
        sum.crc = eventlog::ExtendCrc32cByZeros(sum.crc, zeros);
        const bool moved = lseek(out.get(), static_cast<off_t>(zeros), SEEK_CUR) >= 0;
        return moved ? absl::OkStatus() : absl::ErrnoToStatus(errno, "leaving a hole");
      });
  if (status.ok() && ftruncate(out.get(), static_cast<off_t>(file.size)) != 0) {
    status = absl::ErrnoToStatus(errno, "setting its size");
  }
  if (status.ok()) return sum;
  return absl::Status(status.code(), absl::StrCat("copying to ", path, ": ", status.message()));
}

// A copy that lacks room now is not started over and over, and nobody waits for a copy that exceeds
// the whole disk. If the free room is unknown, the copy is attempted.
absl::Status CheckRoomForCopy(const std::string& source, const std::string& run_directory) {
  struct statvfs room {};
  if (statvfs(run_directory.c_str(), &room) != 0) return absl::OkStatus();
  std::uint64_t bytes = 0;
  (void)WalkTree(source, [&](const TreeFile& file) {
    bytes += file.allocated;
    return absl::OkStatus();
  });
  const std::uint64_t all = std::uint64_t{room.f_blocks} * room.f_frsize;
  if (bytes > all) {
    return absl::FailedPreconditionError(absl::StrCat("a copy of ", source, " needs ", bytes,
                                                      " bytes, and the disk of ", run_directory,
                                                      " is smaller: it has ", all, " in all"));
  }
  const std::uint64_t available = std::uint64_t{room.f_bavail} * room.f_frsize;
  if (bytes <= available) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("a copy of ", source, " needs ", bytes,
                                                   " bytes, and the disk of ", run_directory,
                                                   " has ", available));
}

// Copies a tree except the marker of a temporary checkpoint. With a manifest, every file that it
// lists must exist and match.
absl::Status CopyTree(const std::string& source, const std::string& target,
                      std::optional<CheckpointManifest> expected) {
  const auto visit = [&](const TreeFile& file) -> absl::Status {
    if (file.name == kTemporaryMarker) return absl::OkStatus();
    auto sum = CopyFile(file, target);
    if (!sum.ok()) return sum.status();
    if (!expected) return absl::OkStatus();
    const auto entry = expected->find(file.name);
    if (entry == expected->end()) return absl::OkStatus();
    if (entry->second != *sum) return Damaged(source, file.name);
    expected->erase(entry);
    return absl::OkStatus();
  };
  const absl::Status status = WalkTree(source, visit);
  if (expected && absl::IsInvalidArgument(status)) return absl::DataLossError(status.message());
  if (!status.ok()) return status;
  if (expected && !expected->empty()) return Damaged(source, expected->begin()->first);
  return absl::OkStatus();
}

std::string RenderMetadata(const CheckpointMetadata& metadata) {
  const auto number = [](const std::optional<std::int64_t>& value) {
    return value ? absl::StrCat(*value) : std::string("null");
  };
  return absl::StrCat(
      "{\n  \"experiment_id\": ", runtime::Quote(metadata.experiment_id),
      ",\n  \"iteration\": ", metadata.iteration,
      ",\n  \"timesteps_total\": ", number(metadata.timesteps_total), ",\n  \"time_total\": ",
      absl::StrFormat("%d.%06d", metadata.time_total_us / 1'000'000,
                      metadata.time_total_us % 1'000'000),
      ",\n  \"episodes_total\": ", number(metadata.episodes_total),
      ",\n  \"saved_as_dict\": ", metadata.saved_as_dict ? "true" : "false",
      ",\n  \"step\": ", number(metadata.step), ",\n  \"attempt\": ", metadata.attempt,
      ",\n  \"line\": ", metadata.line, "\n}\n");
}

// Converts seconds to microseconds; an invalid time counts as 0.
std::int64_t MicrosOf(const JsonValue* seconds) {
  constexpr double kLongest = 9e12;
  if (seconds == nullptr || !seconds->IsNumber()) return 0;
  if (!(seconds->number >= 0 && seconds->number < kLongest)) return 0;
  return std::llround(seconds->number * 1e6);
}

absl::StatusOr<CheckpointMetadata> ReadMetadataFile(const std::string& path) {
  auto text = ReadSmall(path, kMaxMetadata);
  if (!text.ok()) return text.status();
  auto json = runtime::ParseJson(*text);
  const bool is_object = json.ok() && json->kind == JsonValue::Kind::kObject;
  const auto iteration = is_object ? Whole(json->Find("iteration")) : std::nullopt;
  if (!iteration || *iteration < 0 || *iteration > kMostIterations) {
    return absl::DataLossError(absl::StrCat(path, " is damaged"));
  }
  CheckpointMetadata metadata;
  const JsonValue* const id = json->Find("experiment_id");
  if (id != nullptr) metadata.experiment_id = runtime::StringOf(*id);
  metadata.iteration = *iteration;
  metadata.timesteps_total = Whole(json->Find("timesteps_total"));
  metadata.episodes_total = Whole(json->Find("episodes_total"));
  metadata.time_total_us = MicrosOf(json->Find("time_total"));
  const JsonValue* const dictionary = json->Find("saved_as_dict");
  metadata.saved_as_dict = dictionary != nullptr && dictionary->boolean;
  metadata.step = Whole(json->Find("step"));
  metadata.attempt = static_cast<int>(Whole(json->Find("attempt")).value_or(0));
  metadata.line = Whole(json->Find("line")).value_or(0);
  return metadata;
}

}  // namespace

std::string CheckpointName(std::int64_t step) {
  return step < 0 ? absl::StrCat(Absl(kNamePrefix), step)
                  : absl::StrFormat("checkpoint_%06d", step);
}

bool IsTemporaryName(std::string_view name) {
  if (name.size() != kTemporaryPrefix.size() + kTemporaryDigits) return false;
  if (name.substr(0, kTemporaryPrefix.size()) != kTemporaryPrefix) return false;
  for (const char c : name.substr(kTemporaryPrefix.size())) {
    if (!absl::ascii_isxdigit(static_cast<unsigned char>(c))) return false;
  }
  return true;
}

bool IsTemporary(const std::string& directory) { return HasFile(directory, kTemporaryMarker); }
bool IsNull(const std::string& directory) { return HasFile(directory, kNullMarker); }

absl::StatusOr<std::string> FindCheckpointDirectory(const std::string& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("looking for a checkpoint at ", path));
  }
  for (std::string at = WithoutTrailingSlashes(path);;) {
    if (HasFile(at, kCheckpointMarker)) return at;
    const std::string parent = ParentAndName(at).first;
    if (parent == at || parent == ".") break;
    at = WithoutTrailingSlashes(parent);
  }
  return absl::NotFoundError(absl::StrCat(path, " is not in a checkpoint: neither it nor a ",
                                          "directory above it holds ", Absl(kCheckpointMarker)));
}

absl::StatusOr<std::string> MakeTemporaryCheckpoint(const std::string& run_directory,
                                                    std::optional<std::int64_t> step) {
  if (auto status = runtime::MakeOwnDirectory(run_directory); !status.ok()) return status;
  for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
    std::string directory = Join(run_directory, TemporaryName());
    const auto mode = runtime::FileMode::OfDirectoryIn(run_directory);
    if (mkdir(directory.c_str(), mode.mode()) != 0) {
      if (errno == EEXIST) continue;
      return absl::ErrnoToStatus(errno, absl::StrCat("making the directory ", directory));
    }
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    mode.Settle(runtime::UniqueFd(open(directory.c_str(), kFlags)).get());
    auto status = runtime::WriteFileAtomically(Join(directory, kTemporaryMarker),
                                               step ? absl::StrCat(*step) : "",
                                               runtime::FileMode::OfFileIn(directory));
    if (status.ok()) status = Touch(directory, kCheckpointMarker);
    if (status.ok()) return directory;
    (void)RemoveTree(directory);
    return status;
  }
  return absl::UnavailableError(
      absl::StrCat("no name is free for a temporary checkpoint in ", run_directory));
}

std::optional<std::int64_t> TemporaryStep(const std::string& directory) {
  const auto text = runtime::ReadFile(Join(directory, kTemporaryMarker), kMaxMetadata);
  std::int64_t step = 0;
  if (!text.ok() || !absl::SimpleAtoi(*text, &step)) return std::nullopt;
  return step;
}

absl::Status WriteMetadata(const std::string& directory, const CheckpointMetadata& metadata) {
  return runtime::WriteFileAtomically(Join(directory, kMetadataFile), RenderMetadata(metadata),
                                      runtime::FileMode::OfFileIn(directory));
}

absl::Status WriteCounters(const std::string& directory, const CheckpointMetadata& metadata) {
  return runtime::WriteFileAtomically(Join(directory, kCountersFile), RenderMetadata(metadata),
                                      runtime::FileMode::OfFileIn(directory));
}

absl::StatusOr<CheckpointMetadata> ReadMetadata(const std::string& directory) {
  auto metadata = ReadMetadataFile(Join(directory, kMetadataFile));
  if (!metadata.ok()) return metadata;
  // The counters may be lost after a power failure.
  const auto counters = ReadMetadataFile(Join(directory, kCountersFile));
  if (!counters.ok()) return metadata;
  metadata->iteration = counters->iteration;
  metadata->timesteps_total = counters->timesteps_total;
  metadata->episodes_total = counters->episodes_total;
  metadata->time_total_us = counters->time_total_us;
  return metadata;
}

absl::Status WriteDictionary(const std::string& directory, std::string_view json) {
  if (json.size() > kMaxDictionary) {
    return absl::ResourceExhaustedError(absl::StrCat("a dictionary of ", json.size(),
                                                     " bytes is over the limit of ", kMaxDictionary,
                                                     ": save it as files"));
  }
  auto parsed = runtime::ParseJson(json, {64, kMaxDictionary});
  if (!parsed.ok()) return parsed.status();
  if (parsed->kind != JsonValue::Kind::kObject) {
    return absl::InvalidArgumentError("a checkpoint's dictionary must be a JSON object");
  }
  return runtime::WriteFileAtomically(Join(directory, kDictionaryFile), json,
                                      runtime::FileMode::OfFileIn(directory));
}

absl::StatusOr<std::string> ReadDictionary(const std::string& directory) {
  const std::string path = Join(directory, kDictionaryFile);
  auto text = ReadSmall(path, kMaxDictionary);
  if (!text.ok()) return text.status();
  auto parsed = runtime::ParseJson(*text, {64, kMaxDictionary});
  if (parsed.ok() && parsed->kind == JsonValue::Kind::kObject) return *std::move(text);
  return absl::DataLossError(absl::StrCat(path, " holds no dictionary"));
}

absl::StatusOr<CheckpointManifest> SyncCheckpoint(const std::string& temporary) {
  if (!IsTemporaryName(ParentAndName(temporary).second) || !IsDirectory(temporary)) {
    return absl::FailedPreconditionError(absl::StrCat(
        temporary, " is no temporary checkpoint: only one of those can be made permanent"));
  }
  if (auto status = Touch(temporary, kCheckpointMarker); !status.ok()) return status;
  CheckpointManifest manifest;
  const auto visit = [&](const TreeFile& file) -> absl::Status {
    for (const std::string_view own :
         {kMetadataFile, kManifestFile, kTemporaryMarker, kCountersFile}) {
      if (file.name == own) return absl::OkStatus();
    }
    auto sum = SumOf(file);
    if (!sum.ok()) return sum.status();
    manifest[file.name] = *sum;
    return Sync(file.fd, Join(temporary, file.name));
  };
  auto status = WalkTree(temporary, visit, [&](int fd) { return Sync(fd, temporary); });
  if (!status.ok()) return status;
  return manifest;
}

absl::StatusOr<std::uint64_t> CommitCheckpoint(
    const std::string& temporary, const std::string& name, const CheckpointMetadata& metadata,
    const std::function<void(std::string_view point)>& fault,
    std::optional<CheckpointManifest> synced) {
  if (!synced) {
    auto manifest = SyncCheckpoint(temporary);
    if (!manifest.ok()) return manifest.status();
    synced = *std::move(manifest);
  }
  const std::string counters = RenderMetadata(metadata);
  const auto mode = runtime::FileMode::OfFileIn(temporary);
  auto status = runtime::WriteFileAtomically(Join(temporary, kMetadataFile), counters, mode, true);
  if (!status.ok()) return status;
  (*synced)[std::string(kMetadataFile)] = {counters.size(), eventlog::ExtendCrc32c(0, counters)};
  const std::string text = RenderManifest(*synced);
  if (text.size() > kMaxManifest) {
    return absl::OutOfRangeError(
        absl::StrCat(temporary, " has too many files with long names: pack them into one"));
  }
  unlink(Join(temporary, kTemporaryMarker).c_str());
  unlink(Join(temporary, kCountersFile).c_str());  // A copy still has its source's counters.
  status = runtime::WriteFileAtomically(Join(temporary, kManifestFile), text, mode, true);
  if (!status.ok()) return status;
  const std::string run_directory = ParentAndName(temporary).first;
  if (fault) fault("before checkpoint rename");
  status = MoveInto(temporary, Join(run_directory, name));
  if (fault) fault("after checkpoint rename");
  if (status.ok()) status = runtime::SyncDirectory(run_directory);
  // The run's directory may be as new as its first checkpoint, so its parent is synced too.
  if (status.ok()) status = runtime::SyncDirectory(ParentAndName(run_directory).first);
  if (!status.ok()) return status;
  // The replaced checkpoint now has the temporary name; if it cannot be removed, the next start
  // retries.
  (void)RemoveCheckpoint(temporary);
  std::uint64_t bytes = text.size();
  for (const auto& [file, sum] : *synced) bytes += sum.size;
  return bytes;
}

absl::Status VerifyCheckpoint(const std::string& directory) {
  auto manifest = ReadManifest(directory);
  if (!manifest.ok()) return manifest.status();
  const auto visit = [&](const TreeFile& file) -> absl::Status {
    const auto entry = manifest->find(file.name);
    if (entry == manifest->end()) return absl::OkStatus();
    if (entry->second.size != file.size) return Damaged(directory, file.name);
    auto sum = SumOf(file);
    if (!sum.ok()) return sum.status();
    if (*sum != entry->second) return Damaged(directory, file.name);
    manifest->erase(entry);
    return absl::OkStatus();
  };
  const absl::Status status = WalkTree(directory, visit);
  if (absl::IsInvalidArgument(status)) return absl::DataLossError(status.message());
  if (!status.ok()) return status;
  if (!manifest->empty()) return Damaged(directory, manifest->begin()->first);
  return absl::OkStatus();
}

absl::StatusOr<std::string> CopyInCheckpoint(const std::string& source,
                                             const std::string& run_directory,
                                             std::optional<std::int64_t> step) {
  std::optional<CheckpointManifest> expected;
  auto manifest = ReadManifest(source);
  if (manifest.ok()) {
    expected = *std::move(manifest);
  } else if (!absl::IsNotFound(manifest.status())) {
    return manifest.status();
  }
  if (auto status = CheckRoomForCopy(source, run_directory); !status.ok()) return status;
  auto target = MakeTemporaryCheckpoint(run_directory, step);
  if (!target.ok()) return target.status();
  if (auto status = CopyTree(source, *target, std::move(expected)); !status.ok()) {
    (void)RemoveCheckpoint(*target);
    return status;
  }
  return *target;
}

absl::StatusOr<std::string> MakeNullCheckpoint(const std::string& run_directory,
                                               const std::string& experiment_id) {
  auto temporary = MakeTemporaryCheckpoint(run_directory);
  if (!temporary.ok()) return temporary.status();
  if (auto status = Touch(*temporary, kNullMarker); !status.ok()) {
    (void)RemoveCheckpoint(*temporary);
    return status;
  }
  CheckpointMetadata metadata;
  metadata.experiment_id = experiment_id;
  metadata.timesteps_total = metadata.episodes_total = 0;
  auto bytes = CommitCheckpoint(*temporary, CheckpointName(-1), metadata);
  if (!bytes.ok()) {
    (void)RemoveCheckpoint(*temporary);
    return bytes.status();
  }
  return Join(run_directory, CheckpointName(-1));
}

absl::StatusOr<std::string> MakePermanentCheckpoint(const std::string& path,
                                                    const std::string& run_directory,
                                                    std::int64_t step,
                                                    const CheckpointMetadata& metadata) {
  auto source = FindCheckpointDirectory(path);
  if (!source.ok()) return source.status();
  if (!IsTemporary(*source)) {
    return absl::FailedPreconditionError(absl::StrCat(*source, " is permanent already"));
  }
  auto copy = CopyInCheckpoint(*source, run_directory);
  if (!copy.ok()) return copy.status();
  auto bytes = CommitCheckpoint(*copy, CheckpointName(step), metadata);
  if (!bytes.ok()) {
    (void)RemoveCheckpoint(*copy);
    return bytes.status();
  }
  const std::string below = WithoutTrailingSlashes(path).substr(source->size());
  return absl::StrCat(Join(run_directory, CheckpointName(step)), below);
}

absl::Status RemoveCheckpoint(const std::string& directory) {
  const auto [parent, name] = ParentAndName(directory);
  if (name.substr(0, kNamePrefix.size()) != kNamePrefix) {
    return absl::InvalidArgumentError(absl::StrCat(directory, " is not called like a checkpoint"));
  }
  if (!IsDirectory(directory)) return absl::OkStatus();
  if (IsTemporaryName(name)) return RemoveTree(WithoutTrailingSlashes(directory));
  const std::string nameless = Join(parent, TemporaryName());
  if (rename(directory.c_str(), nameless.c_str()) != 0) {
    if (errno == ENOENT) return absl::OkStatus();
    return absl::ErrnoToStatus(errno, absl::StrCat("renaming ", directory));
  }
  return RemoveTree(nameless);
}

absl::Status RemoveTemporaryCheckpoints(const std::string& run_directory, const std::string& but) {
  std::error_code error;
  auto entry = std::filesystem::directory_iterator(run_directory, error);
  absl::Status result;
  while (!error && entry != std::filesystem::directory_iterator()) {
    const std::string path = entry->path();
    const bool is_temporary = IsTemporaryName(ParentAndName(path).second);
    if (is_temporary && path != but) result.Update(RemoveCheckpoint(path));
    entry.increment(error);
  }
  if (!error || error == std::errc::no_such_file_or_directory) return result;
  return absl::ErrnoToStatus(error.value(), absl::StrCat("reading ", run_directory));
}

}  // namespace trainer
