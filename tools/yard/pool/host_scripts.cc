#include "tools/yard/pool/host_scripts.h"

#include <unistd.h>

#include <array>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/file/file.h"
#include "runtime/text/printable.h"
#include "runtime/text/sha256.h"
#include "runtime/text/string_view.h"
#include "tools/yard/at/place.h"

namespace yard {
namespace {

constexpr std::string_view kAnswer = "yard-pool: ";
constexpr std::size_t kKeyDigits = 12, kDigestDigits = 16;
// Sockets of attempts are below the directory, and a socket's path is limited to 107 bytes.
constexpr char kLongestDirectory[] = "48";

// Shell functions of every script; `own` checks for a private directory of this user.
constexpr char kOwn[] =
    "umask 077; say() { echo \"yard-pool: $*\"; }; "
    "own() { set -- \"$1\" $(ls -ldn \"$1\" 2>/dev/null); "
    "case $2 in drwx------*) test \"$4\" = \"$(id -u)\";; *) false;; esac; }; ";

// Finds an existing directory. Skips paths with characters that a shell interprets.
constexpr char kFind[] =
    "d=; for b in \"$TMPDIR\" /tmp /var/tmp \"$HOME\"; do "
    "case $b in *[!A-Za-z0-9/._+@-]*) continue;; /*) ;; *) continue;; esac; "
    "p=${b%/}/yard-$k; if own \"$p\"; then d=$p; break; fi; done; ";

// Defines `runs`, which is true if a node runs in $d, and then sets $p to its pid.
constexpr char kRuns[] =
    "runs() { p=; { read -r p < \"$d/n/lock\"; } 2>/dev/null; "
    "case $p in \"\"|*[!0-9]*) p=; return 1;; esac; "
    "case \"$(tr \"\\000\" \" \" < /proc/$p/cmdline 2>/dev/null)\" in "
    "*\" --folder=$d/n \"*) return 0;; esac; p=; return 1; }; "
    "pause() { sleep 0.1 2>/dev/null || sleep 1; }; ";

std::string BundleName(const std::string& digest) {
  return absl::StrCat("b-", digest.substr(0, kDigestDigits));
}

std::size_t BlocksOf(const Bundle::File& file) {
  return (file.content.size() + kPayloadBlock - 1) / kPayloadBlock;
}

}  // namespace

std::string KeyOfNode(const std::string& state_directory, const std::string& node) {
  std::array<char, 256> name{};
  (void)gethostname(name.data(), name.size() - 1);
  const std::string machine = runtime::ReadFile("/etc/machine-id", 100).value_or("");
  return runtime::Sha256Hex(absl::StrCat(name.data(), "\n", machine, "\n", getuid(), "\n",
                                         state_directory, "\n", node))
      .substr(0, kKeyDigits);
}

std::string PrepareScript(const std::string& key, const Bundle& bundle) {
  std::string files;
  for (const Bundle::File& file : bundle.files) absl::StrAppend(&files, " ", file.name);
  return absl::StrCat(
      "k=", key, "; g=", BundleName(bundle.digest), "; ", kOwn, kFind, kRuns,
      "if test -z \"$d\"; then w=\"no directory is writable\"; "
      "for b in \"$TMPDIR\" /tmp /var/tmp \"$HOME\"; do "
      "case $b in *[!A-Za-z0-9/._+@-]*) continue;; /*) ;; *) continue;; esac; "
      "p=${b%/}/yard-$k; test ${#p} -le ",
      kLongestDirectory,
      " || continue; "
      "mkdir \"$p\" 2>/dev/null || { test -e \"$p\" && w=\"$p is not ours alone\"; continue; }; "
      "if echo \"#!/bin/sh\" 2>/dev/null > \"$p/x\" && chmod 700 \"$p/x\" && \"$p/x\" 2>/dev/null; "
      "then rm -f \"$p/x\"; d=$p; break; fi; "
      "w=\"no program can run in $b, or its disk is full\"; rm -rf \"$p\"; done; fi; "
      "if test -z \"$d\"; then say none $w; exit 0; fi; "
      "h=yes; for f in",
      files,
      "; do test -s \"$d/$g/$f\" || h=no; done; "
      "rm -f \"$d/l\" \"$d/t\"; runs; say there $(uname -s) $(uname -m) $d $h ${p:-0}");
}

absl::StatusOr<Prepared> ReadPrepared(std::string_view output) {
  const auto answer = AnswerIn(output);
  if (!answer) return absl::NotFoundError("the shell there gives no answer");
  constexpr std::string_view kNone = "none ";
  if (answer->starts_with(kNone)) {
    return absl::UnavailableError(
        absl::StrCat("no place for a node there: ", answer->substr(kNone.size())));
  }
  const std::vector<std::string> words = absl::StrSplit(*answer, ' ');
  Prepared prepared;
  if (words.size() != 6 || words[0] != "there" || !IsPlainPath(words[3]) ||
      !words[3].starts_with('/') || !absl::SimpleAtoi(words[5], &prepared.pid)) {
    return absl::NotFoundError(absl::StrCat("the shell there answers \"", *answer, "\""));
  }
  prepared.machine = absl::StrCat(words[1], " ", words[2]);
  prepared.directory = words[3];
  prepared.has_bundle = words[4] == "yes";
  return prepared;
}

std::string PayloadOf(const Bundle& bundle) {
  std::string payload;
  for (const Bundle::File& file : bundle.files) {
    payload += file.content;
    payload.resize((payload.size() + kPayloadBlock - 1) / kPayloadBlock * kPayloadBlock, '\0');
  }
  return payload;
}

// A connection that breaks ends stdin early, so the script checks the length. The zero padding
// after each file is harmless in programs and libraries.
std::string CopyScript(const std::string& directory, const Bundle& bundle) {
  std::string parts;
  std::size_t blocks = 0;
  for (const Bundle::File& file : bundle.files) {
    absl::StrAppend(&parts, "dd if=blob of=", file.name, " bs=", kPayloadBlock, " skip=", blocks,
                    " count=", BlocksOf(file), " 2>/dev/null && ");
    blocks += BlocksOf(file);
  }
  return absl::StrCat(
      "d=", directory, "; g=", BundleName(bundle.digest), "; ", kOwn, kRuns,
      "own \"$d\" || { say failed \"$d is gone\"; exit 0; }; rm -rf \"$d\"/*.new \"$d/$g\"; "
      "runs || rm -rf \"$d\"/b-*; n=$d/$g.$$.new; "
      "if mkdir \"$n\" \"$n/lib\" && cd \"$n\" && cat > blob && test $(wc -c < blob) -eq ",
      blocks * kPayloadBlock, " && ", parts, "rm blob && chmod 700 ", kBundleLoader,
      " yard-node yard-shim && mv \"$n\" \"$d/$g\"; "
      "then say ",
      kCopied,
      "; else rm -rf \"$n\"; "
      "say failed \"the disk of $d is full, or the connection broke\"; fi");
}

std::string HoldScript(const std::string& directory, const std::string& digest) {
  return absl::StrCat(
      "d=", directory, "; g=", BundleName(digest), "; ", kOwn, kRuns,
      "test -S \"$d/l\" -a -S \"$d/t\" || { say failed its server of ssh forwards no unix sockets: "
      "\"see AllowStreamLocalForwarding and AllowTcpForwarding in sshd_config there\"; exit 0; }; "
      "if ! runs; then "
      "test \"$(wc -c < \"$d/log\" 2>/dev/null || echo 0)\" -lt 1000000 || mv -f \"$d/log\" "
      "\"$d/log.old\"; "
      "s=nohup; command -v setsid >/dev/null 2>&1 && s=setsid; "
      "$s \"$d/$g/",
      kBundleLoader,
      "\" --library-path \"$d/$g/lib\" \"$d/$g/yard-node\" "
      "--library_path=\"$d/$g/lib\" --folder=\"$d/n\" --launcher_socket=\"$d/l\" "
      "--trainer_socket=\"$d/t\" --shim=\"$d/$g/yard-shim\" < /dev/null >> \"$d/log\" 2>&1 & "
      "i=0; until runs; do i=$((i+1)); "
      "if test $i -gt 100; then say failed yard-node does not start: $(tail -n 3 \"$d/log\"); "
      "exit 0; fi; pause; done; fi; "
      "say up $p; while read -r l; do runs || { say ended; exit 0; }; "
      // Touched, because cleaners of temporary directories delete old files.
      "touch -c \"$d\"/b-*/* \"$d\"/b-*/lib/* \"$d\"/n/* 2>/dev/null; done");
}

std::string HelloScript() { return absl::StrCat(kOwn, "say here"); }

std::string RemoveScript(const std::string& key) {
  return absl::StrCat(
      "k=", key, "; ", kOwn, kFind, kRuns,
      "if test -n \"$d\"; then i=0; "
      "runs && kill -TERM $p; while runs; do i=$((i+1)); "
      "if test $i -gt 300; then say failed process $p does not end; exit 0; fi; pause; done; "
      "cd /; rm -rf \"$d\" || { say failed \"$d cannot be removed\"; exit 0; }; fi; say ",
      kRemoved);
}

std::optional<std::string> AnswerIn(std::string_view output) {
  std::size_t begin = 0;
  while (begin < output.size()) {
    const std::size_t end = output.find('\n', begin);
    if (end == output.npos) return std::nullopt;
    const std::string_view line = output.substr(begin, end - begin);
    if (line.starts_with(kAnswer)) return runtime::Printable(line.substr(kAnswer.size()));
    begin = end + 1;
  }
  return std::nullopt;
}

}  // namespace yard
