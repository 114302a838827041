#include "datamanager/find/file_kind.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <system_error>

namespace datamanager {
namespace {

constexpr std::int64_t kYear10000 = 253'402'300'800;  // In seconds; no clock is set this far ahead.
constexpr std::uint32_t kMaxRank = 9'999'999;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool Contains(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

bool EndsWith(std::string_view name, std::string_view end) {
  return name.size() >= end.size() && name.substr(name.size() - end.size()) == end;
}

std::string_view Digits(std::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), IsDigit);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

std::string_view WithoutZeros(std::string_view digits) {
  return digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
}

// Returns the text after the first `mark` that is followed by a digit; null if the name has no such
// mark.
std::optional<std::string_view> BehindMark(std::string_view name, std::string_view mark) {
  for (std::size_t at = name.find(mark); at != std::string_view::npos;
       at = name.find(mark, at + 1)) {
    const std::string_view rest = name.substr(at + mark.size());
    if (!rest.empty() && IsDigit(rest.front())) return rest;
  }
  return std::nullopt;
}

template <typename Number>
std::optional<Number> ParseDigits(std::string_view digits, Number limit) {
  Number number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.empty() || error != std::errc() || number > limit) return std::nullopt;
  return number;
}

// Parses "1596869898.3.host_MS", with or without the id.
void ReadMindSporeName(std::string_view rest, FileName* result) {
  const std::string_view time = Digits(rest);
  result->created_s = ParseDigits<std::int64_t>(time, kYear10000 - 1);
  rest.remove_prefix(time.size());
  if (rest.empty() || rest.front() != '.') return;
  rest.remove_prefix(1);
  const std::string_view id = Digits(rest);
  if (id.size() < rest.size() && rest[id.size()] == '.') {
    result->rank = ParseDigits<std::uint32_t>(id, kMaxRank);
  }
}

// True for other files that end in ".pb": MindSpore's memory profile, and an exported TensorFlow
// model.
bool IsNoGraph(std::string_view name) {
  constexpr std::string_view kMemory = "memory_usage_";
  if (name.substr(0, kMemory.size()) == kMemory) {
    const std::string_view rest = name.substr(kMemory.size());
    return rest.size() == Digits(rest).size() + std::string_view(".pb").size();
  }
  constexpr std::string_view kModelFiles[] = {"saved_model.pb", "keras_metadata.pb",
                                              "fingerprint.pb"};
  return std::find(std::begin(kModelFiles), std::end(kModelFiles), name) != std::end(kModelFiles);
}

// True for the names under which programs write a file until it is complete, or keep an old
// version.
bool IsTemporary(std::string_view name) {
  constexpr std::string_view kEnds[] = {
      "~",      ".tmp",        ".temp",      // Backups (rsync --backup, editors); generic names.
      ".part",  ".partial",    ".filepart",  // Many; rclone; WinSCP.
      ".gstmp", ".crdownload", ".download",  // gsutil and gcloud; browsers.
  };
  return std::any_of(std::begin(kEnds), std::end(kEnds),
                     [name](std::string_view end) { return EndsWith(name, end); });
}

}  // namespace

bool IsHidden(std::string_view name) { return !name.empty() && name.front() == '.'; }

std::string_view NameBesideWhichItIsACopy(std::string_view name) {
  constexpr std::size_t kDigits = 8;
  if (name.size() <= kDigits + 1 || name[name.size() - kDigits - 1] != '.') return {};
  const std::string_view suffix = name.substr(name.size() - kDigits);
  const bool is_random = std::all_of(suffix.begin(), suffix.end(), [](char c) {
    return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  });
  return is_random ? name.substr(0, name.size() - kDigits - 1) : std::string_view();
}

FileName ParseFileName(std::string_view name) {
  FileName result;
  if (IsHidden(name) || IsTemporary(name)) return result;
  if (Contains(name, "tfevents") && !BehindMark(name, ".out.events.summary.").has_value()) {
    result.kind =
        EndsWith(name, ".profile-empty") ? FileKind::kProfileMarker : FileKind::kTensorBoard;
    if (const auto rest = BehindMark(name, "tfevents."); rest.has_value()) {
      result.created_s = ParseDigits<std::int64_t>(Digits(*rest), kYear10000 - 1);
    }
    return result;
  }
  if (const auto rest = BehindMark(name, "summary."); rest.has_value()) {
    result.kind = EndsWith(name, "_lineage")   ? FileKind::kMindSporeLineage
                  : EndsWith(name, "_explain") ? FileKind::kMindSporeExplain
                                               : FileKind::kMindSpore;
    ReadMindSporeName(*rest, &result);
    return result;
  }
  if (EndsWith(name, ".pb") && !IsNoGraph(name)) result.kind = FileKind::kMindSporeGraph;
  return result;
}

bool ReadBefore::operator()(std::string_view a, std::string_view b) const {
  const std::string_view all_of_a = a, all_of_b = b;
  while (!a.empty() && !b.empty()) {
    const std::string_view number_a = Digits(a), number_b = Digits(b);
    if (number_a.empty() || number_b.empty()) {
      if (a.front() != b.front()) return all_of_a < all_of_b;
      a.remove_prefix(1);
      b.remove_prefix(1);
      continue;
    }
    const std::string_view value_a = WithoutZeros(number_a), value_b = WithoutZeros(number_b);
    if (value_a != value_b) {
      return value_a.size() != value_b.size() ? value_a.size() < value_b.size() : value_a < value_b;
    }
    a.remove_prefix(number_a.size());
    b.remove_prefix(number_b.size());
  }
  // Equal except for leading zeros, or one is a prefix of the other.
  return a.empty() != b.empty() ? a.empty() : all_of_a < all_of_b;
}

bool MakesARun(FileKind kind) {
  return kind != FileKind::kNone && kind != FileKind::kMindSporeExplain;
}

bool HoldsData(FileKind kind) { return MakesARun(kind) && kind != FileKind::kProfileMarker; }

}  // namespace datamanager
