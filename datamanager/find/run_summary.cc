#include "datamanager/find/run_summary.h"

#include <algorithm>
#include <cstdint>

#include "datamanager/find/file_kind.h"

namespace datamanager {

std::int64_t CreatedUs(const FileStat& state) {
  return (state.identity.born_ns != 0 ? state.identity.born_ns : state.changed_ns) / 1000;
}

bool TakeFileStat(const FileStat& state, ListedFile* file) {
  if (file->kind != FileKind::kNone && file->state == state) return false;
  const FileName name = ParseFileName(file->name);
  const bool first = file->kind == FileKind::kNone || file->state.identity != state.identity;
  file->kind = name.kind;
  file->rank = name.rank;
  file->state = state;
  file->create_from_name = name.created_s.has_value();
  if (first) {
    file->create_us = file->create_from_name ? *name.created_s * 1'000'000 : CreatedUs(state);
  }
  return true;
}

void SummariseFiles(ListedRun* run) {
  const ListedFile* first = nullptr;
  for (const ListedFile& file : run->files) {
    if (!MakesARun(file.kind)) continue;
    const std::int64_t update_us = file.state.modified_ns / 1000;
    run->update_us = first == nullptr ? update_us : std::max(run->update_us, update_us);
    if (HoldsData(file.kind)) run->bytes += file.state.bytes;
    const bool earlier =
        first == nullptr || (file.create_from_name && !first->create_from_name) ||
        (file.create_from_name == first->create_from_name && file.create_us < first->create_us);
    if (earlier) first = &file;
  }
  if (first != nullptr) {
    run->create_us = first->create_us;
  } else if (run->profile.has_value()) {
    run->create_us = run->profile->create_us;
    run->update_us = run->profile->update_us;
  }
}

std::vector<std::string> ChangedFiles(const ListedRun& before, const ListedRun& now) {
  std::vector<std::string> names;
  auto old = before.files.begin();
  auto file = now.files.begin();
  while (old != before.files.end() || file != now.files.end()) {
    const bool went =
        file == now.files.end() || (old != before.files.end() && old->name < file->name);
    const bool came =
        old == before.files.end() || (file != now.files.end() && file->name < old->name);
    if (went || came || *old != *file) names.push_back(went ? old->name : file->name);
    if (!came) ++old;
    if (!went) ++file;
  }
  return names;
}

}  // namespace datamanager
