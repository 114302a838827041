#include "launcher/wire/shim_protocol.h"

#include <array>
#include <utility>

#include "launcher/wire/record.h"

namespace launcher {
namespace {

constexpr std::array<std::string_view, 3> kPhases = {"starting", "running", "exited"};
constexpr std::array<std::string_view, 7> kRequests = {"state",       "watch",  "stop",   "kill",
                                                       "acknowledge", "signal", "barrier"};

template <typename Enum, std::size_t N>
std::optional<Enum> NamedIn(const std::array<std::string_view, N>& names, std::string_view name) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

std::int64_t Signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }

}  // namespace

std::string TreeMark::Encode() const {
  Record record("mark");
  record.Add("boot", boot);
  record.AddNumber("not_before", Signed(not_before));
  record.AddAll("file", files);
  record.AddAll("cgroup", cgroups);
  return record.Encode();
}

std::optional<TreeMark> TreeMark::Decode(std::string_view bytes) {
  const auto record = Record::Parse(bytes);
  if (!record || record->kind() != "mark") return std::nullopt;
  return TreeMark{.boot = record->Get("boot"),
                  .not_before = static_cast<std::uint64_t>(record->GetNumber("not_before")),
                  .files = record->GetAll("file"),
                  .cgroups = record->GetAll("cgroup")};
}

std::string ShimSpec::Variable(std::string_view name) const {
  for (const std::string& entry : environment) {
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name)) {
      return entry.substr(name.size() + 1);
    }
  }
  return "";
}

std::string ShimSpec::Encode() const {
  Record record("spec");
  record.AddAll("argv", argv);
  record.AddAll("env", environment);
  record.Add("cwd", working_directory);
  record.Add("stdout", stdout_path);
  record.Add("stderr", stderr_path);
  record.Add("control_socket", control_socket);
  record.Add("task_socket", task_socket);
  record.Add("trainer_socket", trainer_socket);
  record.Add("nonce", nonce);
  record.Add("no_reports", no_reports);
  record.AddNumber("log_limit", Signed(log_limit));
  record.AddNumber("rotate_bytes", Signed(rotate_bytes));
  record.AddNumber("rotate_files", Signed(rotate_files));
  record.Add("kill_mode", kill_mode);
  record.AddNumber("ready_fd", ready_fd);
  for (const ProcessLimit& limit : limits) record.Add("limit", limit.ToString());
  record.AddNumber("owner", owner);
  record.AddNumber("owner_start_ticks", Signed(owner_start_ticks));
  record.AddNumber("owner_stop_signal", owner_stop_signal);
  record.AddNumber("owner_stop_grace_ms", owner_stop_grace_ms);
  record.AddNumber("memory_bytes", Signed(control_limits.memory_bytes));
  record.AddNumber("milli_cpus", Signed(control_limits.milli_cpus));
  record.AddNumber("processes", Signed(control_limits.processes));
  if (!caller.is_known) return record.Encode();
  record.AddNumber("umask", caller.umask);
  record.AddNumber("nice", caller.nice);
  record.Add("cpus", caller.cpus);
  for (const ProcessLimit& limit : caller.limits) record.Add("caller_limit", limit.ToString());
  return record.Encode();
}

std::optional<ShimSpec> ShimSpec::Decode(std::string_view bytes) {
  const auto record = Record::Parse(bytes);
  if (!record || record->kind() != "spec" || !record->Has("argv")) return std::nullopt;
  const auto number = [&](std::string_view key) {
    return static_cast<std::uint64_t>(record->GetNumber(key));
  };
  CallersProcess caller{.is_known = record->Has("umask"),
                        .umask = static_cast<unsigned>(number("umask")),
                        .nice = static_cast<int>(record->GetNumber("nice")),
                        .cpus = record->Get("cpus")};
  std::vector<ProcessLimit> limits;
  for (auto& [key, list] :
       {std::pair("limit", &limits), std::pair("caller_limit", &caller.limits)}) {
    for (const auto& text : record->GetAll(key)) {
      auto limit = ProcessLimit::Parse(text);
      if (!limit) return std::nullopt;
      list->push_back(*std::move(limit));
    }
  }
  return ShimSpec{.argv = record->GetAll("argv"),
                  .environment = record->GetAll("env"),
                  .working_directory = record->Get("cwd"),
                  .stdout_path = record->Get("stdout"),
                  .stderr_path = record->Get("stderr"),
                  .control_socket = record->Get("control_socket"),
                  .task_socket = record->Get("task_socket"),
                  .trainer_socket = record->Get("trainer_socket"),
                  .nonce = record->Get("nonce"),
                  .no_reports = record->Get("no_reports"),
                  .log_limit = number("log_limit"),
                  .rotate_bytes = number("rotate_bytes"),
                  .rotate_files = record->Has("rotate_files") ? number("rotate_files") : 1,
                  .kill_mode = record->Get("kill_mode"),
                  .ready_fd = static_cast<int>(number("ready_fd")),
                  .limits = std::move(limits),
                  .owner = static_cast<pid_t>(number("owner")),
                  .owner_start_ticks = number("owner_start_ticks"),
                  .owner_stop_signal = static_cast<int>(number("owner_stop_signal")),
                  .owner_stop_grace_ms = record->GetNumber("owner_stop_grace_ms"),
                  .control_limits = {.memory_bytes = number("memory_bytes"),
                                     .milli_cpus = number("milli_cpus"),
                                     .processes = number("processes")},
                  .caller = std::move(caller)};
}

std::string ShimState::Encode() const {
  Record record("state");
  record.Add("phase", kPhases[static_cast<std::size_t>(phase)]);
  record.AddNumber("shim_pid", shim_pid);
  record.AddNumber("pid", pid);
  record.AddNumber("start_ticks", Signed(start_ticks));
  record.AddNumber("started_us", started_us);
  record.AddNumber("ended_us", ended_us);
  record.AddNumber("exit_code", exit_code);
  record.AddNumber("signal", signal);
  record.AddNumber("core_dumped", core_dumped);
  record.Add("failure", failure);
  record.AddNumber("error_number", error_number);
  record.Add("note", note);
  record.AddNumber("stdout_begin", Signed(stdout_begin));
  record.AddNumber("stdout_end", Signed(stdout_end));
  record.AddNumber("stderr_begin", Signed(stderr_begin));
  record.AddNumber("stderr_end", Signed(stderr_end));
  record.AddNumber("ready", ready);
  record.Add("kill_mode", kill_mode);
  record.AddNumber("out_of_memory", out_of_memory);
  record.AddNumber("unasked", unasked);
  record.AddNumber("spoke_us", spoke_us);
  return record.Encode();
}

std::optional<ShimState> ShimState::Decode(std::string_view bytes) {
  const auto record = Record::Parse(bytes);
  if (!record || record->kind() != "state") return std::nullopt;
  const auto phase = NamedIn<ShimPhase>(kPhases, record->Get("phase"));
  if (!phase) return std::nullopt;
  const auto number = [&](std::string_view key) { return record->GetNumber(key); };
  ShimState state;
  state.phase = *phase;
  state.shim_pid = static_cast<pid_t>(number("shim_pid"));
  state.pid = static_cast<pid_t>(number("pid"));
  state.start_ticks = static_cast<std::uint64_t>(number("start_ticks"));
  state.started_us = number("started_us");
  state.ended_us = number("ended_us");
  state.exit_code = static_cast<int>(number("exit_code"));
  state.signal = static_cast<int>(number("signal"));
  state.core_dumped = number("core_dumped") != 0;
  state.failure = record->Get("failure");
  state.error_number = static_cast<int>(number("error_number"));
  state.note = record->Get("note");
  state.stdout_begin = static_cast<std::uint64_t>(number("stdout_begin"));
  state.stdout_end = static_cast<std::uint64_t>(number("stdout_end"));
  state.stderr_begin = static_cast<std::uint64_t>(number("stderr_begin"));
  state.stderr_end = static_cast<std::uint64_t>(number("stderr_end"));
  state.ready = number("ready") != 0;
  state.kill_mode = record->Get("kill_mode");
  state.out_of_memory = number("out_of_memory") != 0;
  state.unasked = number("unasked") != 0;
  state.spoke_us = number("spoke_us");
  return state;
}

std::string ShimBarrier::Encode() const {
  Record record("barrier");
  record.AddNumber("number", Signed(number));
  record.Add("line", line);
  return record.Encode();
}

std::optional<ShimBarrier> ShimBarrier::Decode(std::string_view bytes) {
  const auto record = Record::Parse(bytes);
  if (!record || record->kind() != "barrier") return std::nullopt;
  return ShimBarrier{.number = static_cast<std::uint64_t>(record->GetNumber("number")),
                     .line = record->Get("line")};
}

std::string ShimRequest::Encode() const {
  Record record("request");
  record.Add("what", kRequests[static_cast<std::size_t>(kind)]);
  record.AddNumber("signal", signal);
  record.AddNumber("grace_ms", grace_ms);
  if (kind == Kind::kBarrier) {
    record.AddNumber("number", Signed(number));
    record.Add("line", line);
  }
  return record.Encode();
}

std::optional<ShimRequest> ShimRequest::Decode(std::string_view bytes) {
  const auto record = Record::Parse(bytes);
  if (!record || record->kind() != "request") return std::nullopt;
  const auto kind = NamedIn<Kind>(kRequests, record->Get("what"));
  if (!kind) return std::nullopt;
  return ShimRequest{.kind = *kind,
                     .signal = static_cast<int>(record->GetNumber("signal")),
                     .grace_ms = record->GetNumber("grace_ms"),
                     .number = static_cast<std::uint64_t>(record->GetNumber("number")),
                     .line = record->Get("line")};
}

}  // namespace launcher
