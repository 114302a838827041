#include "datamanager/brief/run_file_updater.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "datamanager/find/listed_run.h"
#include "runtime/file/file.h"

namespace datamanager {
namespace {

// The file when it was last seen, and the outcome of reading it.
struct Seen {
  ListedRunPtr run;
  std::optional<FileStat> file;  // Null: the run had no such file.
  absl::Status outcome;
};

class FileUpdate {
 public:
  using Take = std::function<absl::Status(BriefItem& item, std::string_view text)>;

  FileUpdate(RunFile file, Take take)
      : file_(std::move(file)), seen_key_(file_.key + " file"), take_(std::move(take)) {}

  absl::Status operator()(BriefItem& item) const {
    const auto seen = item.Get<Seen>(seen_key_, BriefItem::Missing::kNothing);
    if (!seen.ok()) return seen.status();
    const ListedRunPtr run = item.run();
    if (*seen != nullptr && (*seen)->run == run) return (*seen)->outcome;
    const std::string path = absl::StrCat(run->directory, "/", file_.name);
    const auto state = file_.source->Stat(path);
    if (!state.ok() && !absl::IsNotFound(state.status())) return TryAgain(item, state.status());
    Seen now{run, std::nullopt, absl::OkStatus()};
    if (state.ok()) now.file = *state;
    if (*seen != nullptr && (*seen)->file == now.file) {
      now.outcome = (*seen)->outcome;
    } else if (!now.file.has_value()) {
      item.Delete(file_.key, BriefItem::Missing::kNothing).IgnoreError();
    } else if (now.outcome = Check(path, *now.file); now.outcome.ok()) {
      const auto text = runtime::ReadFile(path, file_.limit);
      if (!text.ok()) return TryAgain(item, text.status());
      now.outcome = take_(item, *text);
    }
    const absl::Status outcome = now.outcome;
    const absl::Status kept = item.Set(seen_key_, std::make_shared<const Seen>(std::move(now)));
    return kept.ok() ? outcome : kept;
  }

 private:
  absl::Status Check(const std::string& path, const FileStat& state) const {
    if (state.type != FileStat::Type::kRegular) {
      return absl::FailedPreconditionError(absl::StrCat("cannot read ", path, ": it is no file"));
    }
    if (state.bytes <= file_.limit) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrCat("cannot read ", path, ": it has ", state.bytes,
                                                     " bytes, more than ", file_.limit));
  }

  // Makes the next scan retry, even if nothing changes until then.
  absl::Status TryAgain(BriefItem& item, absl::Status why) const {
    item.Delete(seen_key_, BriefItem::Missing::kNothing).IgnoreError();
    return why;
  }

  RunFile file_;
  std::string seen_key_;
  Take take_;
};

}  // namespace

BriefCache::Updater UpdaterFromText(
    RunFile file, std::function<absl::Status(BriefItem& item, std::string_view text)> take) {
  std::string key = file.key;
  return {std::move(key), FileUpdate(std::move(file), std::move(take))};
}

}  // namespace datamanager
