// Always true: each attempt in items_ has exactly one of these: a thread that looks for directories
// or unpacks, a pending request to the cache, or a posted end. A thread that only looks accesses
// nothing of the attempt, so the attempt does not wait for its end; it does wait for a thread that
// unpacks.

#include "launcher/node/files/attempt_files.h"

#include <fcntl.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "launcher/node/files/hashed_file.h"
#include "launcher/node/files/start_checkpoint.h"
#include "runtime/archive/tar_reader.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "runtime/thread.h"
#include "runtime/timer.h"

namespace launcher {
namespace {

constexpr std::size_t kMaxMark = 1 << 10;
constexpr absl::Duration kToGiveUp = absl::Seconds(5);
// The file in the attempt's folder with the path of the launcher's run directory.
constexpr char kOriginFile[] = "origin";
constexpr std::size_t kMaxOrigin = 4096;
constexpr int kTries = 2;  // Number of requests for an archive that arrives with a wrong hash.

// Replaces the value of a variable, if it is set.
void SetVariable(ShimSpec* spec, const std::string& name, const std::string& value) {
  for (std::string& entry : spec->environment) {
    if (entry.starts_with(name + "=")) entry = absl::StrCat(name, "=", value);
  }
}

bool IsDirectory(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

// The directories to create for one attempt.
struct Plan {
  std::string folder, archive;
  bool makes_run = false, makes_work = false;
  NodeFiles files;
  std::string origin = {};  // The launcher's run directory, if its files travel.
  // Path of the start checkpoint below it; empty if no checkpoint must be transferred.
  std::string checkpoint = {};
};

absl::Status CheckHash(int fd, const std::string& expected, const std::atomic<bool>& gives_up) {
  const auto hashed = HashFile(fd, gives_up);
  if (!hashed.ok()) return hashed.status();
  return hashed->sha256 == expected ? absl::OkStatus() : absl::DataLossError("it has another hash");
}

absl::Status MakeWork(const Plan& plan, const std::atomic<bool>& gives_up) {
  const std::string directory = plan.folder + "/work";
  const runtime::UniqueFd archive(open(plan.archive.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!archive.valid()) {
    // (It was evicted from the cache and will be transferred again.)
    return absl::DataLossError(absl::StrCat("cannot open ", plan.archive, ": ", strerror(errno)));
  }
  if (auto checked = CheckHash(archive.get(), plan.files.work, gives_up); !checked.ok()) {
    return absl::Status(checked.code(),
                        absl::StrCat("the archive ", plan.archive, ": ", checked.message()));
  }
  std::error_code error;
  std::filesystem::remove_all(directory, error);
  if (auto made = runtime::MakeDirectories(directory, 0700); !made.ok()) return made;
  auto unpacked = runtime::UnpackTar(archive.get(), directory, {.bytes = kMaxWork}, &gives_up);
  // (An archive with the right hash is undamaged, so it was invalid from the start.)
  if (absl::IsDataLoss(unpacked)) return absl::InvalidArgumentError(unpacked.message());
  if (!unpacked.ok()) return unpacked;
  const std::string subdirectory = absl::StrCat(directory, "/", plan.files.subdirectory);
  if (IsDirectory(subdirectory)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the files that came along have no directory ", plan.files.subdirectory,
                   "; next: start it in a directory that has files"));
}

absl::Status Make(const Plan& plan, const std::atomic<bool>& gives_up) {
  if (auto made = runtime::MakeDirectories(plan.folder, 0700); !made.ok()) return made;
  if (plan.makes_run) {
    const std::string run = plan.folder + "/run";
    if (auto made = runtime::MakeDirectories(run, 0700); !made.ok()) return made;
    if (!plan.origin.empty()) {
      auto noted = runtime::WriteFileAtomically(plan.folder + "/" + kOriginFile, plan.origin, 0600);
      if (!noted.ok()) return noted;
    }
    if (!plan.files.config.empty()) {
      auto written = runtime::WriteFileAtomically(run + "/params.json", plan.files.config, 0600);
      if (!written.ok()) return written;
    }
  }
  return plan.makes_work ? MakeWork(plan, gives_up) : absl::OkStatus();
}

}  // namespace

struct AttemptFiles::Item {
  std::uint64_t number = 0;
  Plan plan;
  ShimSpec spec;
  Done done;
  bool makes = false;  // Its thread writes files.
  bool is_over = false;
  int tries = 0;
  runtime::Timer timer = {};
  const std::shared_ptr<std::atomic<bool>> gives_up = std::make_shared<std::atomic<bool>>(false);
  std::unique_ptr<runtime::Thread> thread = nullptr;
  // Set while the checkpoint is transferred.
  std::unique_ptr<StartCheckpoint> checkpoint = nullptr;
};

// The launcher's directories, as this host sees them.
struct AttemptFiles::Seen {
  bool run = false, work = false;  // This host sees the launcher's own directory.
  bool directory = false;          // A directory with the path of the working directory exists.
  bool checkpoint = false;
};

AttemptFiles::Seen AttemptFiles::Look(const NodeFiles& files, const ShimSpec& spec) {
  const auto is_marked = [&](const std::string& path) {
    return !path.empty() && !files.mark.empty() &&
           runtime::ReadFile(path, kMaxMark).value_or("") == files.mark;
  };
  std::error_code error;
  const std::string checkpoint = spec.Variable("YARD_CHECKPOINT");
  return {.run = is_marked(files.run_mark),
          .work = is_marked(files.work_mark),
          .directory = spec.working_directory.empty() || IsDirectory(spec.working_directory),
          .checkpoint = checkpoint.empty() || std::filesystem::exists(checkpoint, error)};
}

AttemptFiles::AttemptFiles(Options options)
    : options_(std::move(options)),
      cache_({.loop = options_.loop,
              .directory = options_.cache,
              .max_bytes = options_.max_cache_bytes,
              .ask = options_.ask}) {}

void AttemptFiles::OnConnected() {
  cache_.OnConnected();
  for (auto& [key, item] : items_) {
    if (item->checkpoint != nullptr) item->checkpoint->OnConnected();
  }
}

void AttemptFiles::OnPiece(const NodeOrder& order) { cache_.OnPiece(order); }

void AttemptFiles::OnList(const FileListAnswer& list) {
  const auto found = items_.find(list.attempt);
  if (found == items_.end() || found->second->checkpoint == nullptr) return;
  found->second->checkpoint->OnList(list);
}

void AttemptFiles::Remember(const std::string& path, const FileList::File& file) {
  cache_.Add(path, file.sha256);
}

AttemptFiles::~AttemptFiles() {
  way_->Close();
  for (auto& [key, item] : items_) *item->gives_up = true;
  for (auto& [key, item] : items_) {
    if (item->makes && item->thread != nullptr) item->thread->Join(kToGiveUp);
  }
}

AttemptFiles::Item* AttemptFiles::Find(const std::string& key, std::uint64_t number) {
  const auto found = items_.find(key);
  const bool is_it = found != items_.end() && found->second->number == number;
  return is_it && !found->second->is_over ? found->second.get() : nullptr;
}

template <typename Result>
void AttemptFiles::OnThread(const std::string& key, std::function<Result()> body,
                            std::function<void(Item*, Result)> then) {
  Item* const item = items_.at(key).get();
  item->thread =
      std::make_unique<runtime::Thread>("files", [this, key, number = item->number, way = way_,
                                                  body = std::move(body), then = std::move(then)] {
        Result result = body();
        way->Post([this, key, number, then, result = std::move(result)] {
          if (Item* const still = Find(key, number)) then(still, result);
        });
      });
}

void AttemptFiles::Prepare(const std::string& key, const std::string& folder,
                           const NodeFiles& files, const ShimSpec& spec, Done done) {
  auto& place = items_[key] = std::make_unique<Item>();
  Item* const item = place.get();
  item->number = ++last_number_;
  item->plan = {.folder = folder, .archive = {}, .files = files};
  item->spec = spec;
  item->done = std::move(done);
  item->timer.Start(options_.loop, options_.look_limit, [this, key, item] {
    Finish(key, item,
           absl::UnavailableError(absl::StrCat(
               "a file system of node ", item->plan.files.node, " has not answered for ",
               absl::FormatDuration(options_.look_limit), ", for ", item->spec.working_directory)));
  });
  OnThread<Seen>(
      key, [files, spec] { return Look(files, spec); },
      [this, key](Item* still, const Seen& seen) { OnSeen(key, still, seen); });
}

void AttemptFiles::OnSeen(const std::string& key, Item* item, const Seen& seen) {
  item->timer.Cancel();
  const NodeFiles& files = item->plan.files;
  item->plan.makes_run = !seen.run && !item->spec.Variable("YARD_LOGDIR").empty();
  item->plan.makes_work = !seen.work && !files.work.empty();
  const std::string checkpoint = item->spec.Variable("YARD_CHECKPOINT");
  if (item->plan.makes_run && files.run_files_travel) {
    item->plan.origin = item->spec.Variable("YARD_LOGDIR");
    if (checkpoint.starts_with(item->plan.origin + "/")) {
      item->plan.checkpoint = checkpoint.substr(item->plan.origin.size() + 1);
    }
  }
  if (!item->plan.makes_work && !seen.directory) {
    return Finish(
        key, item,
        absl::FailedPreconditionError(absl::StrCat(
            "directory ", item->spec.working_directory, " is not there on node ", files.node,
            "; next: take files along with --sync DIR, or start it in a git repository")));
  }
  if (item->plan.makes_run && !seen.checkpoint && item->plan.checkpoint.empty()) {
    return Finish(key, item,
                  absl::FailedPreconditionError(absl::StrCat(
                      "checkpoint ", checkpoint, " is not there on node ", files.node,
                      "; next: keep runs on a file system that the node sees as well")));
  }
  if (!item->plan.makes_run && !item->plan.makes_work) return Finish(key, item, item->spec);
  if (item->plan.makes_work) return Fetch(key, item);
  StartMaking(key, item);
}

void AttemptFiles::Fetch(const std::string& key, Item* item) {
  ++item->tries;
  cache_.Get(key, item->plan.files.work, item->plan.files.work_bytes,
             [this, key, item](absl::StatusOr<std::string> path) {
               if (!path.ok()) return Finish(key, item, path.status());
               item->plan.archive = *std::move(path);
               StartMaking(key, item);
             });
}

void AttemptFiles::StartMaking(const std::string& key, Item* item) {
  item->makes = true;
  OnThread<absl::Status>(
      key, [plan = item->plan, gives_up = item->gives_up] { return Make(plan, *gives_up); },
      [this, key](Item* still, const absl::Status& made) { OnMade(key, still, made); });
}

void AttemptFiles::OnMade(const std::string& key, Item* item, const absl::Status& made) {
  item->makes = false;
  if (*item->gives_up) return Finish(key, item, absl::CancelledError("given up"));
  if (absl::IsDataLoss(made)) {
    cache_.Remove(item->plan.files.work);
    if (item->tries < kTries) return Fetch(key, item);
  }
  if (!made.ok()) {
    return Finish(
        key, item,
        absl::Status(made.code(), absl::StrCat("cannot make the attempt's files on node ",
                                               item->plan.files.node, ": ", made.message())));
  }
  if (!item->plan.checkpoint.empty()) return FetchCheckpoint(key, item);
  OnReady(key, item);
}

void AttemptFiles::FetchCheckpoint(const std::string& key, Item* item) {
  item->checkpoint = std::make_unique<StartCheckpoint>(StartCheckpoint::Options{
      .loop = options_.loop,
      .cache = &cache_,
      .attempt = key,
      .run_directory = item->plan.folder + "/run",
      .checkpoint = item->plan.checkpoint,
      .ask = options_.ask,
      .done = [this, key, item](const absl::Status& come) {
        item->checkpoint.reset();
        if (come.ok()) return OnReady(key, item);
        Finish(
            key, item,
            absl::Status(come.code(),
                         absl::StrCat("cannot bring checkpoint ", item->plan.checkpoint,
                                      " to node ", item->plan.files.node, ": ", come.message())));
      }});
}

void AttemptFiles::OnReady(const std::string& key, Item* item) {
  ShimSpec spec = item->spec;
  if (!item->plan.checkpoint.empty()) {
    SetVariable(&spec, "YARD_CHECKPOINT",
                absl::StrCat(item->plan.folder, "/run/", item->plan.checkpoint));
  }
  if (item->plan.makes_run) {
    SetVariable(&spec, "YARD_LOGDIR", item->plan.folder + "/run");
    SetVariable(&spec, "YARD_CONFIG", item->plan.folder + "/run/params.json");
  }
  if (item->plan.makes_work) {
    spec.working_directory = item->plan.folder + "/work";
    if (!item->plan.files.subdirectory.empty()) {
      absl::StrAppend(&spec.working_directory, "/", item->plan.files.subdirectory);
    }
    SetVariable(&spec, "PWD", spec.working_directory);
  }
  Finish(key, item, std::move(spec));
}

void AttemptFiles::Cancel(const std::string& key) {
  const auto found = items_.find(key);
  if (found == items_.end() || found->second->is_over) return;
  Item* const item = found->second.get();
  *item->gives_up = true;
  if (item->makes) return;  // The thread ends soon.
  item->checkpoint.reset();
  cache_.Leave(key);
  Finish(key, item, absl::CancelledError("given up"));
}

void AttemptFiles::Finish(const std::string& key, Item* item, absl::StatusOr<ShimSpec> result) {
  item->is_over = true;
  item->timer.Cancel();
  way_->Post([this, key, number = item->number, result = std::move(result)]() mutable {
    const auto found = items_.find(key);
    if (found == items_.end() || found->second->number != number) return;
    const Done done = std::move(found->second->done);
    items_.erase(found);
    done(std::move(result));
  });
}

std::optional<RunPlaces> RunPlacesOf(const std::string& folder) {
  const auto origin = runtime::ReadFile(absl::StrCat(folder, "/", kOriginFile), kMaxOrigin);
  if (!origin.ok() || origin->empty()) return std::nullopt;
  return RunPlaces{.launcher = *origin, .node = folder + "/run"};
}

}  // namespace launcher
