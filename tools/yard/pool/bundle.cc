#include "tools/yard/pool/bundle.h"

#include <elf.h>

#include <cstring>
#include <filesystem>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/file/file.h"
#include "runtime/text/printable.h"
#include "runtime/text/sha256.h"
#include "runtime/text/string_view.h"
#include "tools/yard/at/captured.h"

namespace yard {
namespace {

constexpr std::size_t kMostLibraries = 200;

// Copies the T at `offset` to `value`; returns false if `bytes` ends before.
template <typename T>
bool ReadAt(std::string_view bytes, std::size_t offset, T* value) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof *value) return false;
  memcpy(value, bytes.data() + offset, sizeof *value);
  return true;
}

}  // namespace

absl::StatusOr<std::string> LoaderOf(std::string_view program_bytes) {
  const absl::Status wrong = absl::DataLossError("it is no program of 64 bits");
  Elf64_Ehdr header = {};
  if (!ReadAt(program_bytes, 0, &header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64) {
    return wrong;
  }
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part = {};
    if (!ReadAt(program_bytes, header.e_phoff + i * sizeof part, &part)) return wrong;
    if (part.p_type != PT_INTERP) continue;
    if (part.p_offset > program_bytes.size()) return wrong;
    const std::string_view rest = program_bytes.substr(part.p_offset, part.p_filesz);
    return std::string(rest.substr(0, rest.find('\0')));
  }
  return absl::NotFoundError("it names no loader");
}

absl::StatusOr<std::vector<Library>> ReadLibraryList(std::string_view output) {
  std::vector<Library> libraries;
  for (const absl::string_view line : absl::StrSplit(runtime::Absl(output), '\n')) {
    const std::pair<std::string, std::string> sides =
        absl::StrSplit(absl::StripAsciiWhitespace(line), absl::MaxSplits(" => ", 1));
    // A line without an arrow is the loader, or a library of the kernel (vDSO).
    if (sides.second.empty()) continue;
    if (!sides.second.starts_with('/')) {
      return absl::FailedPreconditionError(absl::StrCat(
          "library ", runtime::Printable(sides.first), " of yard-node is missing on this machine"));
    }
    const std::string name = std::filesystem::path(sides.first).filename().string();
    if (libraries.size() == kMostLibraries || name.empty() ||
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "-_.+") != std::string::npos) {
      return absl::FailedPreconditionError(
          absl::StrCat("cannot tell the libraries of yard-node: ", runtime::Printable(name)));
    }
    libraries.push_back({.name = name, .path = sides.second.substr(0, sides.second.rfind(" ("))});
  }
  return libraries;
}

absl::StatusOr<Bundle> ReadBundle(const std::string& node_program,
                                  const std::string& shim_program) {
  Bundle bundle;
  std::size_t bytes = 0;
  const auto add = [&](const std::string& name, const std::string& path) {
    auto content = runtime::ReadFile(path, kMaxBundleBytes - bytes);
    if (!content.ok()) return content.status();
    bytes += content->size();
    bundle.files.push_back({.name = name, .content = *std::move(content)});
    return absl::OkStatus();
  };
  for (const auto& [name, path] :
       {std::pair("yard-node", &node_program), std::pair("yard-shim", &shim_program)}) {
    if (absl::Status added = add(name, *path); !added.ok()) return added;
  }
  const auto loader = LoaderOf(bundle.files.front().content);
  if (!loader.ok()) {
    return absl::Status(loader.status().code(),
                        absl::StrCat("cannot tell what ", runtime::Printable(node_program),
                                     " needs: ", loader.status().message()));
  }
  if (absl::Status added = add(kBundleLoader, *loader); !added.ok()) return added;
  const auto listed =
      Capture({*loader, "--list", node_program}, {.environment = {}, .shows_stderr = false});
  if (!listed.ok()) return listed.status();
  const auto libraries = ReadLibraryList(listed->text);
  if (!libraries.ok()) return libraries.status();
  if (listed->code != 0 || libraries->empty()) {
    return absl::FailedPreconditionError(absl::StrCat("cannot tell the libraries of ",
                                                      runtime::Printable(node_program), ": ",
                                                      *loader, " --list ends with ", listed->code));
  }
  for (const Library& library : *libraries) {
    // The list may contain the loader as a library.
    if (std::filesystem::path(*loader).filename() == library.name) continue;
    if (absl::Status added = add("lib/" + library.name, library.path); !added.ok()) return added;
  }
  runtime::Sha256 sum;
  for (const Bundle::File& file : bundle.files) {
    sum.Add(absl::StrCat(file.name, "\n", file.content.size(), "\n"));
    sum.Add(file.content);
  }
  bundle.digest = sum.Finish();
  return bundle;
}

}  // namespace yard
