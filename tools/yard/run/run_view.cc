#include "tools/yard/run/run_view.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/counted.h"
#include "runtime/text/printable.h"
#include "runtime/text/string_view.h"
#include "tools/yard/text/table.h"
#include "tools/yard/text/text_width.h"

namespace yard {
namespace {

constexpr char kUnknown[] = "-";
constexpr int kNoteWidth = 40;

void AddLine(std::string_view key, std::string_view value, std::string* text) {
  if (!value.empty()) {
    absl::StrAppendFormat(text, "%-10s %s\n", std::string(key), runtime::Printable(value));
  }
}

std::string Share(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "100 %";
  // Rounded down, so that 100 % means all of it.
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return absl::StrCat(part >= whole ? 100 : std::min(99, static_cast<int>(percent)), " %");
}

// Returns "3 bad payload, 120 bytes skipped, at 4096 to 9000: text".
std::string FaultLine(const msg::FaultT& fault) {
  const std::string kind = WordsOf(msg::EnumNameFaultKind(fault.kind));
  std::string line = absl::StrCat(fault.count, " ", kind);
  if (fault.bytes > 0) {
    absl::StrAppend(&line, ", ", runtime::Counted(fault.bytes, "byte"), " skipped");
  }
  if (fault.last_offset > 0) {
    absl::StrAppend(&line, ", at byte ", fault.first_offset);
    if (fault.last_offset != fault.first_offset) absl::StrAppend(&line, " to ", fault.last_offset);
  }
  if (!fault.text.empty() && fault.text != kind) absl::StrAppend(&line, ": ", fault.text);
  return line;
}

// Returns true if the fault makes a part of the file unreadable.
bool IsDamage(msg::FaultKind kind) {
  switch (kind) {
    case msg::FaultKind::BadPayload:
    case msg::FaultKind::BadLength:
    case msg::FaultKind::TooLong:
    case msg::FaultKind::NotAnEvent:
    case msg::FaultKind::BadValue:
    case msg::FaultKind::TagTooLong:
      return true;
    default:
      return false;
  }
}

// Returns the first line of the note, shortened to the column.
std::string NoteCell(const std::string& note) {
  const std::size_t end = std::min(note.find('\n'), note.size());
  std::string line = FitText(runtime::Printable(note.substr(0, end)), kNoteWidth);
  return end < note.size() ? line + " ..." : line;
}

}  // namespace

std::string RunTable(std::span<const std::unique_ptr<msg::RunT>> runs, absl::Time now, int width) {
  bool names = false, labels = false, notes = false, faults = false;
  for (const auto& run : runs) {
    names = names || !run->display_name.empty();
    labels = labels || !run->labels.empty();
    notes = notes || !run->note.empty();
    faults = faults || run->bad_records > 0;
  }
  std::vector<std::string> headers = {"RUN", ">UPDATED", ">TAGS", ">POINTS", ">LAST STEP", ">SIZE"};
  if (faults) headers.emplace_back(">BAD RECORDS");
  if (names) headers.emplace_back("NAME");
  if (labels) headers.emplace_back("LABELS");
  if (notes) headers.emplace_back("NOTE");
  Table table(headers);
  for (const auto& run : runs) {
    const bool counted = bus::IsCounted(*run);
    std::vector<std::string> cells = {
        run->name,
        ShortDuration(now - absl::FromUnixMicros(run->update_us)),
        counted ? absl::StrCat(run->tags) : kUnknown,
        counted ? absl::StrCat(run->points) : kUnknown,
        counted && run->points > 0 ? absl::StrCat(run->last_step) : kUnknown,
        ShortBytes(run->bytes)};
    if (faults) cells.push_back(absl::StrCat(run->bad_records));
    if (names) cells.push_back(run->display_name);
    if (labels) cells.push_back(absl::StrJoin(run->labels, " "));
    if (notes) cells.push_back(NoteCell(run->note));
    table.AddRow(std::move(cells));
  }
  return table.ToString(width);
}

std::string RunText(const msg::RunT& run, absl::TimeZone zone) {
  std::string text;
  AddLine("run", run.name, &text);
  AddLine("in", run.directory, &text);
  AddLine("trial", run.trial, &text);
  AddLine("called", run.display_name, &text);
  for (const std::string& label : run.labels) AddLine("label", label, &text);
  for (const auto line : absl::StrSplit(run.note, '\n')) {
    AddLine("note", runtime::Std(line), &text);
  }
  AddLine("created", LocalTime(run.create_us, zone), &text);
  AddLine("updated", LocalTime(run.update_us, zone), &text);
  AddLine("files",
          absl::StrCat(run.files, ", ", ShortBytes(run.bytes),
                       run.read_bytes > 0 && run.read_bytes < run.bytes
                           ? absl::StrCat(", ", Share(run.read_bytes, run.bytes), " read")
                           : ""),
          &text);
  if (run.bad_records > 0) {
    AddLine("damage", runtime::Counted(run.bad_records, "bad record") + " (--files says where)",
            &text);
  }
  AddLine(run.cache == msg::CacheState::Failed ? "failed" : "not whole", run.why_failed, &text);
  AddLine("profiler", run.profiler_directory, &text);
  return text;
}

std::string TagTable(std::span<const std::unique_ptr<msg::TagT>> tags, int width) {
  const bool others =
      std::any_of(tags.begin(), tags.end(), [](const auto& tag) { return !IsScalar(*tag); });
  std::vector<std::string> headers = {"TAG"};
  if (others) headers.emplace_back("PLUGIN");
  for (const char* header : {">POINTS", ">FIRST STEP", ">LAST STEP", ">MIN", ">MAX", ">LAST"}) {
    headers.emplace_back(header);
  }
  Table table(headers);
  for (const auto& tag : tags) {
    std::vector<std::string> cells = {tag->name};
    if (others) cells.push_back(tag->plugin);
    for (const std::string& cell :
         {absl::StrCat(tag->points), absl::StrCat(tag->first_step), absl::StrCat(tag->last_step)}) {
      cells.push_back(cell);
    }
    if (IsScalar(*tag)) {
      const double numbers[] = {tag->min, tag->max, tag->last};
      for (std::string& text : ShortNumbers(numbers)) cells.push_back(std::move(text));
    }
    table.AddRow(std::move(cells));
  }
  return table.ToString(width);
}

std::string FilesText(const msg::FilesReplyT& files, int width) {
  Table table({"FILE", "FORMAT", ">SIZE", ">READ", ">RECORDS", ">POINTS"});
  for (const auto& file : files.files) {
    table.AddRow({file->name, bus::FormatName(file->format), ShortBytes(file->bytes),
                  Share(file->read_bytes, file->bytes), absl::StrCat(file->records),
                  absl::StrCat(file->points)});
  }
  std::string text = table.ToString(width);
  for (const auto& file : files.files) {
    for (const auto& fault : file->faults) {
      if (fault->kind == msg::FaultKind::UnfinishedTail) continue;  // Shown below.
      AddLine("fault", absl::StrCat(file->name, ": ", FaultLine(*fault)), &text);
    }
    if (file->tail_bytes > 0) {
      AddLine("tail",
              absl::StrCat(file->name, ": ", runtime::Counted(file->tail_bytes, "byte"),
                           " of a record that is not complete"),
              &text);
    }
  }
  for (const auto& fault : files.faults) AddLine("fault", FaultLine(*fault), &text);
  return text;
}

std::string DamageText(const msg::FilesReplyT& files, std::size_t most) {
  std::string text;
  std::size_t lines = 0;
  for (const auto& file : files.files) {
    for (const auto& fault : file->faults) {
      if (!IsDamage(fault->kind) || ++lines > most) continue;
      AddLine("left out", absl::StrCat(file->name, ": ", FaultLine(*fault)), &text);
    }
  }
  if (lines > most) AddLine("", absl::StrCat("and ", lines - most, " more (--files)"), &text);
  return text;
}

}  // namespace yard
