#include "datamanager/catalog/trash_keeper.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/file/file.h"
#include "runtime/text/nearest_word.h"
#include "runtime/text/printable.h"

namespace datamanager {
namespace {

constexpr std::size_t kMostReadme = 4096;

std::string ReadmeOf(absl::Duration age) {
  const std::string how_long =
      age == absl::InfiniteDuration()
          ? std::string("stays until somebody deletes it")
          : absl::StrCat("is deleted ", absl::FormatDuration(age), " after it was moved here");
  return absl::StrCat("Runs that were removed. Each ", how_long,
                      " (the data manager's --trash_age).\n\n"
                      "    yard trash ls\n"
                      "    yard trash restore RUN\n"
                      "    yard trash empty --older 7d\n");
}

}  // namespace

absl::Status TrashKeeper::SayHowLong() const {
  const std::string path = directory() + "/README", text = ReadmeOf(options_.age);
  if (runtime::ReadFile(path, kMostReadme).value_or("") == text) return absl::OkStatus();
  return runtime::WriteFileAtomically(path, text, 0600);
}

absl::Status TrashKeeper::Tidy(const std::function<bool()>& is_cancelled) const {
  const auto entries = runtime::ListTrash(options_.logdir);
  if (!entries.ok()) return entries.status();
  if (entries->empty()) return absl::OkStatus();
  absl::Status status = SayHowLong();
  for (const runtime::TrashEntry& entry : *entries) {
    if (DeletedAt(entry) > options_.clock->Now()) continue;
    if (is_cancelled()) break;
    LOG(INFO) << "deletes " << runtime::Printable(directory() + "/" + entry.name)
              << ", which was moved there " << absl::FormatDuration(options_.age) << " ago";
    status.Update(runtime::DeleteFromTrash(options_.logdir, entry.name));
  }
  return status;
}

absl::StatusOr<std::vector<runtime::TrashEntry>> TrashKeeper::List(absl::Time before) const {
  auto entries = runtime::ListTrash(options_.logdir);
  if (!entries.ok()) return entries;
  std::erase_if(*entries, [&](const runtime::TrashEntry& entry) { return entry.moved >= before; });
  return entries;
}

absl::StatusOr<runtime::TrashEntry> TrashKeeper::Find(const std::string& entry) const {
  const auto entries = runtime::ListTrash(options_.logdir);
  if (!entries.ok()) return entries.status();
  std::vector<std::string_view> names;
  for (const runtime::TrashEntry& known : *entries) {
    if (known.name == entry) return known;
    names.push_back(known.name);
  }
  for (const runtime::TrashEntry& known : *entries) {
    if (known.from == entry) return known;
    names.push_back(known.from);
  }
  const std::string nearest(runtime::NearestWord(entry, names));
  return absl::NotFoundError(
      absl::StrCat("the trash ", directory(), " has no ", entry,
                   nearest.empty() ? std::string() : absl::StrCat("; did you mean ", nearest, "?"),
                   "; next: yard trash ls"));
}

}  // namespace datamanager
