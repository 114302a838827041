#include "tools/yard/state/wanted.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "runtime/file/file.h"
#include "runtime/process/metrics_port.h"
#include "runtime/text/shell_word.h"
#include "tools/yard/state/service_names.h"

namespace yard {
namespace {

constexpr std::size_t kMostWantedBytes = 64 << 10;

std::string WantedPath(const runtime::Locations& locations) {
  return locations.state_directory + "/wanted";
}
std::string LastPath(const runtime::Locations& locations, bool kept) {
  return WantedPath(locations) + (kept ? ".kept" : ".last");
}

absl::StatusOr<std::optional<Wanted>> ReadWantedFile(const std::string& path) {
  const auto text = runtime::ReadFile(path, kMostWantedBytes);
  if (absl::IsNotFound(text.status())) return std::optional<Wanted>();
  if (!text.ok()) return text.status();
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("logdir") || !json["logdir"].is_string()) {
    return absl::DataLossError(absl::StrCat(path, " cannot be read; next: yard down && yard up"));
  }
  Wanted wanted{.logdir = json["logdir"].get<std::string>()};
  if (json.contains("trainer") && json["trainer"].is_string()) {
    wanted.trainer = json["trainer"].get<std::string>();
  }
  const auto read_list = [](const nlohmann::json& in, std::string_view key,
                            std::vector<std::string>* list) {
    const auto found = in.find(key);
    if (found == in.end() || !found->is_array()) return;
    for (const auto& text : *found) {
      if (text.is_string()) list->push_back(text.get<std::string>());
    }
  };
  read_list(json, "resources", &wanted.resources);
  read_list(json, "datamanager", &wanted.datamanager);
  if (const auto flags = json.find("flags"); flags != json.end() && flags->is_object()) {
    for (const std::string_view service : kAllServices) {
      if (flags->contains(service)) read_list(*flags, service, &wanted.flags[std::string(service)]);
    }
    runtime::LeaveOneMetricsPort(&wanted.flags);
  }
  if (json.contains("slots") && json["slots"].is_number_unsigned()) {
    wanted.slots =
        static_cast<int>(std::min<std::uint64_t>(json["slots"].get<std::uint64_t>(), kMostSlots));
  }
  if (json.contains("visible_gpus") && json["visible_gpus"].is_string()) {
    wanted.visible_gpus = json["visible_gpus"].get<std::string>();
  }
  if (const auto given = json.find("logdir_was_given"); given != json.end()) {
    wanted.logdir_was_given = *given == true;
  }
  if (json.contains("file") && json["file"].is_string()) {
    wanted.file = json["file"].get<std::string>();
  }
  if (const auto origins = json.find("origins"); origins != json.end() && origins->is_object()) {
    for (const auto& [key, origin] : origins->items()) {
      if (origin.is_string()) wanted.origins[key] = origin.get<std::string>();
    }
  }
  return std::optional<Wanted>(std::move(wanted));
}

}  // namespace

std::optional<std::string> VisibleGpus(const Context& context) {
  const std::string name = std::string(kVisibleGpus) + "=";
  for (const std::string& entry : context.environment) {
    if (entry.starts_with(name)) return entry.substr(name.size());
  }
  return std::nullopt;
}

absl::StatusOr<std::optional<Wanted>> ReadWanted(const runtime::Locations& locations) {
  return ReadWantedFile(WantedPath(locations));
}

std::optional<LastWanted> ReadLastWanted(const runtime::Locations& locations) {
  for (const bool kept : {true, false}) {
    auto wanted = ReadWantedFile(LastPath(locations, kept));
    if (wanted.ok() && wanted->has_value()) return LastWanted{**std::move(wanted), kept};
  }
  return std::nullopt;
}

absl::Status WriteWanted(const runtime::Locations& locations, const Wanted& wanted) {
  if (absl::Status made = runtime::MakePrivateDirectory(locations.state_directory); !made.ok()) {
    return made;
  }
  nlohmann::json json = {{"logdir", wanted.logdir}};
  if (!wanted.trainer.empty()) json["trainer"] = wanted.trainer;
  if (!wanted.resources.empty()) json["resources"] = wanted.resources;
  if (!wanted.datamanager.empty()) json["datamanager"] = wanted.datamanager;
  if (!wanted.flags.empty()) json["flags"] = wanted.flags;
  if (wanted.slots > 0) json["slots"] = wanted.slots;
  if (wanted.visible_gpus.has_value()) json["visible_gpus"] = *wanted.visible_gpus;
  if (wanted.logdir_was_given) json["logdir_was_given"] = true;
  if (!wanted.file.empty()) json["file"] = wanted.file;
  if (!wanted.origins.empty()) json["origins"] = wanted.origins;
  const std::string text =
      json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (text.size() > kMostWantedBytes) {
    return absl::ResourceExhaustedError(absl::StrCat("the settings of the yard take ", text.size(),
                                                     " bytes, more than ", kMostWantedBytes));
  }
  return runtime::WriteFileAtomically(WantedPath(locations), text, 0600, true);
}

absl::Status RemoveWanted(const runtime::Locations& locations) {
  const std::string path = WantedPath(locations);
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot remove ", path));
}

absl::Status RetireWanted(const runtime::Locations& locations, bool kept) {
  // Without `kept`, tasks that an earlier yard kept running are no longer kept.
  const std::string last = LastPath(locations, kept), other = LastPath(locations, !kept);
  const auto wanted = ReadWanted(locations);
  if (wanted.ok() && !wanted->has_value()) {
    if (!kept) (void)rename(other.c_str(), last.c_str());
    return absl::OkStatus();
  }
  // An unreadable file has no settings worth keeping.
  if (!wanted.ok() || rename(WantedPath(locations).c_str(), last.c_str()) != 0) {
    return RemoveWanted(locations);
  }
  (void)unlink(other.c_str());
  return absl::OkStatus();
}

std::string WordsOf(const Wanted& wanted) {
  std::vector<std::string> words;
  const auto add = [&](const char* option, const std::string& value) {
    words.push_back(absl::StrCat(option, " ", runtime::ShellWord(value)));
  };
  if (wanted.logdir_was_given) add("--logdir", wanted.logdir);
  if (!wanted.trainer.empty()) add("--trainer", wanted.trainer);
  if (wanted.slots > 0) add("--slots", absl::StrCat(wanted.slots));
  for (const std::string& resource : wanted.resources) add("--resources", resource);
  for (const std::string& flag : wanted.datamanager) add("--datamanager", flag);
  const auto flags_of = [&](const std::string& service) {
    const auto found = wanted.flags.find(service);
    return found == wanted.flags.end() ? std::vector<std::string>() : found->second;
  };
  const auto have_all = [&](const std::string& flag) {
    return std::all_of(std::begin(kServices), std::end(kServices), [&](std::string_view service) {
      const auto flags = flags_of(std::string(service));
      return std::find(flags.begin(), flags.end(), flag) != flags.end();
    });
  };
  for (const std::string& flag : flags_of("registry")) {
    if (have_all(flag)) add("--service", flag);
  }
  constexpr std::string_view kKept = "keep_trials=", kPage = "page=", kPort = "metrics_port=";
  for (const std::string_view name : kAllServices) {
    const std::string service(name);
    for (const std::string& flag : flags_of(service)) {
      if (have_all(flag)) continue;
      if (service == "trainer" && flag.starts_with(kKept)) {
        add("--keep_trials", flag.substr(kKept.size()));
      } else if (service == "web" && flag.starts_with(kPage)) {
        add("--page", flag.substr(kPage.size()));
      } else if (service == "web" && flag.starts_with(kPort)) {
        add("--metrics_port", flag.substr(kPort.size()));
      } else if (service == "gate" && flag.starts_with("gate_")) {
        add(absl::StrCat("--", flag.substr(0, flag.find('='))).c_str(),
            flag.substr(flag.find('=') + 1));
      } else {
        add("--service", service + "." + flag);
      }
    }
  }
  return absl::StrJoin(words, " ");
}

std::vector<std::string> FlagsOf(const std::string& service, const Wanted& wanted) {
  std::vector<std::string> flags;
  if (service == "launcher" && !wanted.resources.empty()) {
    flags.push_back("--resources=" + absl::StrJoin(wanted.resources, ";"));
  }
  if (service == "trainer" && wanted.slots > 0) {
    flags.push_back(absl::StrCat("--slots=", wanted.slots));
  }
  if (service == "datamanager") {
    for (const std::string& flag : wanted.datamanager) flags.push_back("--" + flag);
  }
  if (const auto more = wanted.flags.find(service); more != wanted.flags.end()) {
    for (const std::string& flag : more->second) flags.push_back("--" + flag);
  }
  return flags;
}

}  // namespace yard
