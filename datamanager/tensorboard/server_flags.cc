#include "datamanager/tensorboard/server_flags.h"

#include <algorithm>
#include <functional>
#include <map>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "datamanager/find/run_follower.h"
#include "runtime/text/string_view.h"

namespace datamanager::tensorboard {
namespace {

constexpr int kMostPort = 65535;

absl::Status Wrong(std::string_view flag, std::string_view value, std::string_view wanted) {
  return absl::InvalidArgumentError(absl::StrCat("--", runtime::Absl(flag), " is \"",
                                                 runtime::Absl(value), "\": it must be ",
                                                 runtime::Absl(wanted)));
}

// Parses "scalars=500,images=all"; TensorBoard writes "all" for the user's 0.
absl::Status ReadSamples(const std::string& value, SampleCounts* samples) {
  if (value.empty()) return absl::OkStatus();
  for (const absl::string_view pair : absl::StrSplit(value, ',')) {
    const std::vector<std::string> parts = absl::StrSplit(pair, absl::MaxSplits('=', 1));
    std::uint64_t count = 0;
    const bool all = parts.size() == 2 && parts[1] == "all";
    if (parts.size() != 2 || parts[0].empty() || !(all || absl::SimpleAtoi(parts[1], &count))) {
      return Wrong("samples-per-plugin", value, "pairs like scalars=1000,images=all");
    }
    (*samples)[parts[0]] = all ? std::nullopt : std::optional(count);
  }
  return absl::OkStatus();
}

absl::Status ReadReload(const std::string& value, absl::Duration* reload) {
  if (value == "once") {
    *reload = absl::ZeroDuration();
    return absl::OkStatus();
  }
  std::uint32_t seconds = 0;
  if (!absl::SimpleAtoi(value, &seconds)) return Wrong("reload", value, "once, or seconds");
  // TensorBoard truncates half a second to 0.
  *reload = absl::Seconds(std::max(seconds, std::uint32_t{1}));
  if (!CheckReloadInterval(*reload).ok()) *reload = absl::Hours(24);
  return absl::OkStatus();
}

absl::Status ReadOverlap(const std::string& value, Overlap* overlap) {
  static const std::map<std::string_view, Overlap> kPolicies = {
      {"raw", Overlap::kRaw},
      {"last", Overlap::kLastWrite},
      {"tensorboard", Overlap::kTensorBoard},
      {"rust", Overlap::kRustServer}};
  const auto found = kPolicies.find(value);
  if (found == kPolicies.end()) return Wrong("overlap", value, "raw, last, tensorboard or rust");
  *overlap = found->second;
  return absl::OkStatus();
}

template <typename Number>
absl::Status ReadNumber(std::string_view flag, const std::string& value, Number most,
                        Number* number) {
  if (!absl::SimpleAtoi(value, number) || *number > most || *number < Number{0}) {
    return Wrong(flag, value, absl::StrCat("a number up to ", most));
  }
  return absl::OkStatus();
}

// Flags that have a value, by their names with hyphens.
using Take = std::function<absl::Status(const std::string& value)>;
std::map<std::string, Take> ValueFlags(ServerFlags* flags) {
  const auto text = [](std::string* to) {
    return [to](const std::string& value) {
      *to = value;
      return absl::OkStatus();
    };
  };
  return {
      {"logdir", text(&flags->logdir)},
      {"host", text(&flags->host)},
      {"port-file", text(&flags->port_file)},
      {"error-file", text(&flags->error_file)},
      {"port",
       [flags](const std::string& value) {
         return ReadNumber("port", value, kMostPort, &flags->port);
       }},
      {"reload", [flags](const std::string& value) { return ReadReload(value, &flags->reload); }},
      {"samples-per-plugin",
       [flags](const std::string& value) { return ReadSamples(value, &flags->samples); }},
      {"overlap",
       [flags](const std::string& value) { return ReadOverlap(value, &flags->overlap); }},
      {"cache-mb",
       [flags](const std::string& value) {
         return ReadNumber("cache-mb", value, std::uint64_t{1} << 40, &flags->cache_mb);
       }},
      {"inherited-sockets",
       [flags](const std::string& value) {
         return ReadNumber("inherited-sockets", value, 16, &flags->inherited_sockets);
       }},
  };
}

}  // namespace

absl::StatusOr<ServerFlags> ParseServerFlags(std::span<const std::string> words) {
  ServerFlags flags;
  const std::map<std::string, Take> values = ValueFlags(&flags);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "-v") {
      ++flags.verbose;
      continue;
    }
    if (!words[i].starts_with("--")) {
      return absl::InvalidArgumentError(absl::StrCat("\"", words[i], "\" is no flag: see --help"));
    }
    const std::size_t equals = words[i].find('=');
    std::string name = words[i].substr(2, equals == std::string::npos ? equals : equals - 2);
    std::replace(name.begin(), name.end(), '_', '-');
    if (name == "verbose") {
      ++flags.verbose;
    } else if (name == "die-after-stdin") {
      flags.die_after_stdin = true;
    } else if (name == "checksum" || name == "no-checksum") {
      // Ignored: TensorBoard's own server can skip checksums.
    } else if (const auto found = values.find(name); found == values.end()) {
      return absl::InvalidArgumentError(absl::StrCat("there is no flag --", name, ": see --help"));
    } else if (equals == std::string::npos && i + 1 == words.size()) {
      return absl::InvalidArgumentError(absl::StrCat("--", name, " needs a value"));
    } else {
      const std::string value =
          equals == std::string::npos ? words[++i] : words[i].substr(equals + 1);
      if (absl::Status taken = found->second(value); !taken.ok()) return taken;
    }
  }
  if (flags.logdir.empty()) return absl::InvalidArgumentError("--logdir is missing: see --help");
  return flags;
}

std::string_view ServerUsage() {
  return R"(TensorBoard's data server that keeps every point. TensorBoard starts it by itself:

  export TENSORBOARD_DATA_SERVER_BINARY=/path/to/yard-data-server
  tensorboard --logdir runs

Flags that TensorBoard sets:
  --logdir DIRECTORY          the runs, at any depth
  --reload once|SECONDS       how often what inotify cannot see is looked at (5)
  --samples-per-plugin LIST   how many values of a series a plugin gets: scalars=1000,images=all
  --port N, --host ADDRESS    where it serves (6806, localhost); port 0: any
  --port-file FILE            gets the port, once it listens
  --error-file FILE           gets the reason, if it cannot start
  --die-after-stdin           ends when stdin does
  --verbose                   says when it has read all there is
  --checksum, --no-checksum   are accepted; checksums are always checked

Flags that you may add, by --extra_data_server_flags=...:
  --overlap POLICY            of steps that were written again: last (the default), raw,
                              tensorboard or rust
  --cache-mb N                memory for points; 0: a quarter of what the process may use
)";
}

}  // namespace datamanager::tensorboard
