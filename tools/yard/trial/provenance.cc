#include "tools/yard/trial/provenance.h"

#include <pwd.h>
#include <unistd.h>

#include <cstddef>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "runtime/text/shell_word.h"
#include "tools/yard/cli/yard_version.h"
#include "tools/yard/follow/program_output.h"

namespace yard {
namespace {

constexpr std::size_t kShort = 64 << 10;

std::string HostName() {
  char name[256] = "";
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

std::string UserName() {
  passwd entry = {};
  passwd* found = nullptr;
  char buffer[4096];
  const bool known =
      getpwuid_r(getuid(), &entry, buffer, sizeof buffer, &found) == 0 && found != nullptr;
  return known ? found->pw_name : absl::StrCat(getuid());
}

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

// Returns true for "python3.11", but not for other names that begin like it.
bool IsPython(std::string_view name) {
  constexpr std::string_view kPython = "python";
  return name.substr(0, kPython.size()) == kPython &&
         name.find_first_not_of("0123456789.", kPython.size()) == name.npos;
}

Provenance ReadProvenance(const std::string& program, const std::string& working_directory,
                          const std::vector<std::string>& environment) {
  Provenance provenance;
  provenance.git = ReadGit(working_directory, environment);
  provenance.working_directory = working_directory;
  provenance.hostname = HostName();
  provenance.user = UserName();
  provenance.yard = kVersion;
  if (IsPython(BaseName(program))) {
    const ProgramOutput version = ReadProgram({program, "--version"}, working_directory,
                                              environment, kShort, absl::Seconds(2));
    provenance.python = std::string(absl::StripSuffix(version.text, "\n"));
  }
  return provenance;
}

nlohmann::ordered_json ToJson(const Provenance& provenance, const std::vector<std::string>& argv,
                              std::uint64_t seed) {
  std::string command;
  for (const std::string& word : argv) {
    absl::StrAppend(&command, command.empty() ? "" : " ", runtime::ShellWord(word));
  }
  nlohmann::ordered_json json = {{"command", command},
                                 {"argv", argv},
                                 {"working_directory", provenance.working_directory},
                                 {"hostname", provenance.hostname},
                                 {"user", provenance.user},
                                 {"seed", seed},
                                 {"yard", provenance.yard}};
  if (!provenance.python.empty()) json["python"] = provenance.python;
  const GitState& git = provenance.git;
  if (!git.found) return json;
  json["git"] = {{"root", git.root},
                 {"commit", git.commit},
                 {"branch", git.branch},
                 {"dirty", git.dirty ? nlohmann::ordered_json(*git.dirty) : nullptr},
                 {"untracked", git.untracked},
                 {"diff_bytes", git.diff.size()},
                 {"diff_is_cut", git.diff_is_cut}};
  if (!git.filtered.empty()) json["git"]["filtered"] = git.filtered;
  return json;
}

}  // namespace yard
