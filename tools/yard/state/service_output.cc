#include "tools/yard/state/service_output.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/text/printable.h"
#include "runtime/text/shell_word.h"
#include "runtime/text/string_view.h"

namespace yard {
namespace {

constexpr std::uint64_t kTail = 64 << 10;
constexpr std::size_t kShown = 300;
constexpr std::size_t kShownOfACause = 600;

std::string OneLine(std::string_view text, std::size_t limit) {
  return runtime::Printable(text.substr(0, std::min(text.size(), limit)));
}

// Returns the line without glog's prefix: level, time, thread and source location.
std::string_view WithoutPlace(std::string_view line) {
  const bool is_logged = line.size() > 1 && std::string_view("IWEF").find(line[0]) != line.npos &&
                         absl::ascii_isdigit(static_cast<unsigned char>(line[1]));
  const std::size_t end = is_logged ? line.find("] ") : line.npos;
  return end == line.npos ? line : line.substr(end + 2);
}

bool SaysAny(std::string_view text, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return text.find(word) != std::string_view::npos; });
}

}  // namespace

std::string OutputPath(const runtime::Locations& locations, std::string_view service) {
  return absl::StrCat(locations.LogDirectory(), "/", runtime::Absl(service), ".out");
}

std::string DatabaseOf(const runtime::Locations& locations, std::string_view service) {
  return absl::StrCat(locations.state_directory, "/", runtime::Absl(service), ".db");
}

std::uint64_t OutputEnd(const runtime::Locations& locations, std::string_view service) {
  struct stat about = {};
  if (stat(OutputPath(locations, service).c_str(), &about) != 0) return 0;
  return static_cast<std::uint64_t>(std::max<off_t>(about.st_size, 0));
}

LastWords LastWordsOf(const runtime::Locations& locations, std::string_view service,
                      std::uint64_t begin) {
  const std::uint64_t end = OutputEnd(locations, service);
  if (end < begin) begin = 0;  // The file was rotated meanwhile.
  begin = std::max(begin, end - std::min(end, kTail));
  std::string text(end - begin, '\0');
  std::ifstream file(OutputPath(locations, service), std::ios::binary);
  file.seekg(static_cast<std::streamoff>(begin));
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return LastWordsIn(text, service);
}

LastWords LastWordsIn(std::string_view output, std::string_view service) {
  const std::string its = absl::StrCat(runtime::Absl(service), ": ");
  const std::string ready = absl::StrCat(runtime::Absl(service), " ready in ");
  LastWords words;
  for (const absl::string_view part : absl::StrSplit(runtime::Absl(output), '\n')) {
    const std::string_view line = runtime::Std(part);
    if (absl::StripAsciiWhitespace(part).empty()) continue;
    words.last_line = OneLine(line, kShown);
    const std::string_view said = WithoutPlace(line);
    if (said.starts_with(ready)) {
      words.cause.clear();
      words.times = 0;
    } else if (said.starts_with(its)) {
      words.cause = OneLine(said.substr(its.size()), kShownOfACause);
      ++words.times;
    }
  }
  return words;
}

std::string NextStepFor(std::string_view cause, const runtime::Locations& locations,
                        std::string_view service) {
  if (SaysAny(cause, {"next step: ", "; next: "})) return "";
  if (SaysAny(cause, {"there is no flag --", " does not take \"",
                      "--log_level: ", "; it must be from "})) {
    return "yard down --keep && yard up --defaults";
  }
  if (SaysAny(cause, {"No space left on device", "Disk quota exceeded", "disk is full"})) {
    return absl::StrCat("df ", runtime::ShellWord(locations.state_directory), " ",
                        runtime::ShellWord(locations.runtime_directory));
  }
  const std::string database = DatabaseOf(locations, service);
  if (SaysAny(cause, {database.c_str()})) {
    const std::string aside = locations.state_directory + "/aside";
    return absl::StrCat("mkdir -p ", runtime::ShellWord(aside), " && mv ",
                        runtime::ShellWord(database), "* ", runtime::ShellWord(aside),
                        " && yard up");
  }
  return "";
}

std::string WithNextStep(const std::string& cause, const runtime::Locations& locations,
                         std::string_view service) {
  const std::string next = NextStepFor(cause, locations, service);
  return next.empty() ? cause : absl::StrCat(cause, "; next: ", next);
}

}  // namespace yard
