#include "launcher/shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "launcher/process/kill_modes.h"
#include "launcher/process/process_table.h"
#include "launcher/shim/launcher_sockets.h"
#include "launcher/shim/output_pipe.h"
#include "launcher/shim/poller.h"
#include "launcher/shim/report_relay.h"
#include "launcher/shim/task_process.h"
#include "launcher/shim/task_tree.h"
#include "launcher/wire/shim_protocol.h"
#include "runtime/counted.h"
#include "runtime/file/unique_fd.h"
#include "runtime/timer.h"

// Always true:
// - There is one thread, and only the poller blocks: the program's output, its reports and a slow
//   launcher never delay each other.
// - The `started` file is created (O_EXCL) before the program starts, and the exit file is written
//   before an acknowledgement is accepted. So an attempt starts at most once, and its end is on
//   disk or was acknowledged.
// - As subreaper the shim becomes the parent of every orphan of the task. The tree is dead exactly
//   when the shim has no child and the namespace, if there is one, has ended.
// - States only advance: main_ended_ -> killing_ -> finished_ -> acknowledged_. No process is
//   killed by its pid before HasChildInGroup() or a pidfd shows that the pid is still ours.
// - The shim exits when three conditions hold (MaybeLeave): the end is acknowledged or no launcher
//   can connect any more; the trainer has the last report or its time limit has passed; and the
//   control groups are removed.
// - Memory use does not grow with time: output goes to files, and a launcher gets only the newest
//   state.

namespace launcher {
namespace {

using runtime::UniqueFd;

constexpr std::size_t kMaxSpec = 16 << 20;
// Small enough that a state with a failure and a note fits easily into kMaxShimPacket.
constexpr std::size_t kMaxFailure = 4096;
// Interval at which processes that must still be killed are looked up.
constexpr std::chrono::milliseconds kKillRound{10};
// Interval of checks for processes whose end is not signalled to the shim: those in a namespace.
constexpr std::chrono::milliseconds kNamespaceRound{20};
// Maximum number of tries to remove the control groups: the kernel takes a moment to see that they
// are empty.
constexpr int kRemoveTries = 100;
constexpr std::chrono::seconds kSyncAfter{1};
constexpr std::size_t kLargeProgram = 8 * 1024;
constexpr int kFirstReadyFd = 4;
constexpr int kLastReadyFd = 255;

std::int64_t WallMicros() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1'000'000LL + now.tv_nsec / 1000;
}

std::string ReadWhole(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string content;
  char chunk[16384];
  while (fd.valid() && content.size() <= kMaxSpec) {
    const ssize_t got = read(fd.get(), chunk, sizeof chunk);
    if (got <= 0) break;
    content.append(chunk, static_cast<std::size_t>(got));
  }
  return content;
}

// Truncates a text to `limit` bytes, and not inside a UTF-8 character.
std::string Clip(std::string text, std::size_t limit) {
  constexpr std::string_view kMore = "...";
  if (text.size() <= limit) return text;
  std::size_t end = limit - kMore.size();
  while (end > 0 && (text[end] & 0xC0) == 0x80) --end;
  text.resize(end);
  return text.append(kMore);
}

// Writes a file atomically: even after a kill it is complete or does not exist. (For a loss of
// power see Sync().) Returns an invalid descriptor on failure.
UniqueFd WriteWhole(const std::string& folder, std::string_view name, const std::string& content) {
  const std::string path = folder + "/" + std::string(name);
  const std::string temporary = path + ".new";
  UniqueFd fd(open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const bool written =
      fd.valid() &&
      write(fd.get(), content.data(), content.size()) == static_cast<ssize_t>(content.size()) &&
      rename(temporary.c_str(), path.c_str()) == 0;
  return written ? std::move(fd) : UniqueFd();
}

// Makes a file durable; takes some milliseconds on a disk.
void Sync(const UniqueFd& file, const std::string& folder) {
  fdatasync(file.get());
  const UniqueFd directory(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.valid()) fsync(directory.get());
}

std::string_view FolderOf(std::string_view path) { return path.substr(0, path.rfind('/')); }

// Replaces the whole content of a file.
bool WriteAs(int fd, const std::string& content) {
  struct stat status = {};
  const bool is_empty = fstat(fd, &status) == 0 && status.st_size == 0;
  return (is_empty || ftruncate(fd, 0) == 0) &&
         pwrite(fd, content.data(), content.size(), 0) == static_cast<ssize_t>(content.size());
}

// True if the process group has a child of ours. Otherwise the number may have been reused by
// another process group.
bool HasChildInGroup(pid_t group) {
  siginfo_t ignored;
  return group > 0 &&
         waitid(P_PGID, static_cast<id_t>(group), &ignored, WEXITED | WNOHANG | WNOWAIT) == 0;
}

class Shim {
 public:
  explicit Shim(const ShimOptions& options)
      : options_(options),
        stdout_(&poller_),
        stderr_(&poller_),
        launchers_(&poller_,
                   {.state =
                        [this] {
                          UpdateOffsets();
                          return state_.Encode();
                        },
                    .request = [this](const ShimRequest& request) { OnRequest(request); }}) {}

  int Run(const AwaitAttempt& await_attempt);

 private:
  void GetReady();
  bool MakeChannel(std::string* error);
  bool TakeAttempt();
  bool ReadSpec();
  bool Prepare(std::string* error);
  bool WatchOwner(std::string* error);
  void WatchChildren();
  void Start();
  void StartProgram(const UniqueFd& started);
  void StartInTree(const UniqueFd& started, TaskStart* start);
  StartError StartIn(const UniqueFd& started, TaskStart* start);
  void ForgetProgram(TaskStart* start);
  bool MakeReadyPipe(TaskStart* start);
  void ReadReadyByte();

  void OnChildSignal();
  // Reaps ended children; returns false once no child is left.
  bool Reap();
  void OnMainEnded(int status);
  void CheckFinished();
  void NoteHolders();
  void StopTask(int signal, std::chrono::milliseconds grace);
  void NoteAsked();
  void KillTree();
  void KillRound();
  bool IsTreeGone();
  bool IsTreeDead();
  void KillOnce();
  void RemoveTree(int tries);
  void LeaveIfOutOfReach();
  void Note(const std::string& what);
  void NoteOutput();
  void Finish();
  void MaybeLeave();

  void OnRequest(const ShimRequest& request);
  void UpdateOffsets();

  const ShimOptions options_;
  const std::uint64_t begin_ticks_ = StartTicksNow();
  Poller poller_;
  ShimAttempt attempt_;
  UniqueFd lock_, signals_, owner_, exit_file_;
  UniqueFd reporter_,
      channel_;  // Our end of the report channel, until the relay takes it; and the task's end.
  UniqueFd null_;
  UniqueFd ready_, ready_write_end_;
  ShimSpec spec_;
  ShimState state_;
  OutputPipe stdout_, stderr_;
  std::unique_ptr<ReportRelay> relay_;
  std::unique_ptr<TaskTree> tree_;  // Null until the task is started.
  LauncherSockets launchers_;

  bool main_ended_ = false;
  bool no_children_ = false;
  bool stopping_ = false;      // The task was asked to stop while its main process lived.
  bool asked_to_end_ = false;  // The shim signalled or killed the main process while it lived.
  bool drained_ = false;       // The time for other processes to close the output is over.
  bool killing_ = false;
  bool killed_once_ = false;
  bool gave_up_killing_ = false;
  runtime::LoopTimer<Poller> stop_timer_, round_timer_, check_timer_;

  bool finished_ = false;
  bool acknowledged_ = false;
  bool reports_done_ = false;
  bool tree_removed_ = false;  // The control groups were removed, or cannot be.
};

// Opens the descriptors that are the same for every attempt. If one cannot be opened, it is tried
// again when it is needed, and the error is reported then.
void Shim::GetReady() {
  std::string error;
  WatchChildren();
  if (stdout_.MakePipe(&error) && stderr_.MakePipe(&error)) MakeChannel(&error);
  null_ = UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

bool Shim::MakeChannel(std::string* error) {
  if (channel_.valid()) return true;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    *error = std::string("cannot make the report channel: ") + strerror(errno);
    return false;
  }
  reporter_ = UniqueFd(ends[0]);
  channel_ = UniqueFd(ends[1]);
  fcntl(reporter_.get(), F_SETFL, O_NONBLOCK);
  return true;
}

bool Shim::TakeAttempt() {
  const std::string path = attempt_.folder + "/" + std::string(kLockFile);
  lock_ = UniqueFd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  // The lock is of the same kind as that of runtime::LockFile.
  struct flock whole = {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (!lock_.valid() || fcntl(lock_.get(), F_OFD_SETLK, &whole) != 0) return false;
  const std::string pid = std::to_string(getpid()) + "\n";
  if (!WriteAs(lock_.get(), pid)) return false;
  return access((attempt_.folder + "/" + std::string(kStartedFile)).c_str(), F_OK) != 0;
}

bool Shim::ReadSpec() {
  auto spec = ShimSpec::Decode(ReadWhole(attempt_.folder + "/" + std::string(kSpecFile)));
  if (!spec) return false;
  spec_ = std::move(*spec);
  // The output files get the umask of the job's caller. (We keep our own permission to write.)
  if (spec_.caller.is_known) umask(spec_.caller.umask & 0077);
  return true;
}

bool Shim::Prepare(std::string* error) {
  if (!launchers_.Listen(spec_.control_socket, error)) return false;
  relay_ = std::make_unique<ReportRelay>(
      &poller_,
      ReportRelay::Options{.trainer_socket = spec_.trainer_socket,
                           .nonce = spec_.nonce,
                           .no_reports = spec_.no_reports,
                           .on_barrier = [this](std::uint64_t number, const std::string& line) {
                             launchers_.TellBarrier(number, line);
                           }});
  auto task_listener = ListenAt(spec_.task_socket, SOCK_STREAM);
  if (!task_listener.valid()) {
    *error = "cannot listen on " + spec_.task_socket + ": " + strerror(errno);
    return false;
  }
  relay_->Listen(std::move(task_listener));
  const auto grown = [this] {
    launchers_.Tell(false);
    CheckFinished();
  };
  // In the job's own folder the log files are named after the attempt, so that only this shim
  // writes them.
  const OutputPipe::Bounds bounds{
      .limit = spec_.log_limit,
      .rotate_bytes = spec_.rotate_bytes,
      .rotate_files = spec_.rotate_files,
      .is_own = FolderOf(spec_.stdout_path) == FolderOf(attempt_.folder)};
  stdout_.KeepTimes(attempt_.folder + "/" + std::string(kStdoutTimesFile));
  stderr_.KeepTimes(attempt_.folder + "/" + std::string(kStderrTimesFile));
  return stdout_.Open(spec_.stdout_path, bounds, grown, error) &&
         stderr_.Open(spec_.stderr_path, bounds, grown, error) && WatchOwner(error);
}

bool Shim::WatchOwner(std::string* error) {
  if (spec_.owner == 0) return true;
  owner_ = UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, spec_.owner, 0)));
  const auto row = ReadProcess(spec_.owner);
  if (!owner_.valid() || !row || row->start_ticks != spec_.owner_start_ticks) {
    *error = "its launcher has ended";
    return false;
  }
  poller_.Watch(owner_.get(), EPOLLIN, [this](std::uint32_t) {
    poller_.Forget(owner_.get());
    owner_.reset();
    if (finished_ || killing_) return;
    Note("its launcher has ended");
    StopTask(spec_.owner_stop_signal, std::chrono::milliseconds(spec_.owner_stop_grace_ms));
  });
  return true;
}

void Shim::WatchChildren() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, nullptr);
  signals_ = UniqueFd(signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
  poller_.Watch(signals_.get(), EPOLLIN, [this](std::uint32_t) { OnChildSignal(); });
}

// Writes to `started` the marks by which the launcher can find the tree's processes. Without them
// it finds fewer of the processes.
void WriteMark(const UniqueFd& started, const TaskStart& start, TreeMark mark) {
  for (const auto& [as, fd] : start.fds) {
    if (as != STDIN_FILENO) mark.files.push_back(OpenFileName(fd));
  }
  if (!WriteAs(started.get(), mark.Encode())) {
    fprintf(stderr, "yard-shim: cannot note the task's files: %s\n", strerror(errno));
  }
}

// Makes the pipe on which the task writes one byte of any value when it is ready. A task that
// closes the pipe without a byte is not ready.
bool Shim::MakeReadyPipe(TaskStart* start) {
  if (spec_.ready_fd == 0) return true;
  int ends[2];
  if (spec_.ready_fd < kFirstReadyFd || spec_.ready_fd > kLastReadyFd) {
    state_.failure = "the ready descriptor is not between " + std::to_string(kFirstReadyFd) +
                     " and " + std::to_string(kLastReadyFd) + ": " + std::to_string(spec_.ready_fd);
    return false;
  }
  if (pipe2(ends, O_CLOEXEC) != 0) {
    state_.failure = std::string("cannot make the ready descriptor: ") + strerror(errno);
    return false;
  }
  ready_ = UniqueFd(ends[0]);
  ready_write_end_ = UniqueFd(ends[1]);
  fcntl(ready_.get(), F_SETFL, O_NONBLOCK);
  start->fds[spec_.ready_fd] = ready_write_end_.get();
  start->environment.push_back("YARD_READY_FD=" + std::to_string(spec_.ready_fd));
  poller_.Watch(ready_.get(), EPOLLIN, [this](std::uint32_t) { ReadReadyByte(); });
  return true;
}

void Shim::ReadReadyByte() {
  if (!ready_.valid()) return;
  char byte;
  const ssize_t got = read(ready_.get(), &byte, 1);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  poller_.Forget(ready_.get());
  ready_.reset();
  if (got <= 0) return;
  state_.ready = true;
  launchers_.Tell(true);
}

// Frees the arguments and the environment. In a large cluster they take more memory than everything
// else in a shim, and each task has a shim.
void Shim::ForgetProgram(TaskStart* start) {
  std::size_t size = 0;
  for (const auto* strings : {&start->argv, &start->environment}) {
    for (const auto& text : *strings) size += text.size();
  }
  start->argv = {};
  start->environment = {};
  spec_.environment = {};
  if (size >= kLargeProgram) malloc_trim(0);
}

void Shim::StartProgram(const UniqueFd& started) {
  const UniqueFd channel = std::move(channel_);
  struct stat status = {};
  fstat(channel.get(), &status);
  const UniqueFd null = std::move(null_);
  const UniqueFd out = stdout_.TakeWriteEnd();
  const UniqueFd err = stderr_.TakeWriteEnd();
  TaskStart start{.argv = std::move(spec_.argv),
                  .environment = {"YARD_FD=3:" + std::to_string(status.st_ino),
                                  "YARD_SOCKET=" + spec_.task_socket},
                  .working_directory = spec_.working_directory,
                  .fds = {{0, null.get()}, {1, out.get()}, {2, err.get()}, {3, channel.get()}},
                  .limits = spec_.limits,
                  .caller = spec_.caller};
  for (const UniqueFd& lock : attempt_.locks) start.locks.push_back(lock.get());
  if (!MakeReadyPipe(&start)) return;
  for (auto& entry : spec_.environment) {
    // (A YARD_READY_FD that the environment already contains belongs to another task.)
    if (!entry.starts_with("YARD_READY_FD=")) start.environment.push_back(std::move(entry));
  }
  state_.started_us = WallMicros();
  StartInTree(started, &start);
  ForgetProgram(&start);
  ready_write_end_.reset();
}

// Starts the task in the best kill mode that is available.
void Shim::StartInTree(const UniqueFd& started, TaskStart* start) {
  // Unique among all attempts on this machine until it reboots.
  const std::string name = std::to_string(getpid()) + "-" + std::to_string(begin_ticks_);
  std::string why = "there is no kill mode " + spec_.kill_mode;
  for (const KillMode mode : KillModesFor(spec_.kill_mode)) {
    tree_ = TaskTree::Make(mode, options_.host, name, &why);
    if (tree_ == nullptr) continue;
    std::string unlimited = tree_->Limit(spec_.control_limits);
    StartError error = StartIn(started, start);
    if (error.of_cgroup && tree_->GiveUpCgroups()) {
      if (spec_.control_limits != ControlLimits{})
        unlimited = "it could not be limited: " + error.what;
      error = StartIn(started, start);
    }
    if (error.of_cgroup) {
      why = error.what;
      continue;
    }
    state_.kill_mode = KillModeName(mode);
    state_.failure = std::move(error.what);
    state_.error_number = error.number;
    if (!unlimited.empty()) Note(unlimited);
    return;
  }
  state_.failure = "cannot hold the program's processes together: " + why;
}

StartError Shim::StartIn(const UniqueFd& started, TaskStart* start) {
  StartError error;
  WriteMark(started, *start,
            {.boot = options_.host.boot,
             .not_before = begin_ticks_,
             .files = tree_->files(),
             .cgroups = tree_->cgroups()});
  tree_->AddTo(start);
  state_.pid = StartTask(*start, &error);
  return error;
}

void Shim::Start() {
  std::string error;
  const std::string started = attempt_.folder + "/" + std::string(kStartedFile);
  if (!Prepare(&error) || !MakeChannel(&error)) {
    state_.failure = error;
  } else {
    relay_->AddReporter(std::move(reporter_));
    // Once this file exists, the attempt is never started again.
    const UniqueFd file(open(started.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file.valid()) {
      state_.failure = "cannot make " + started + ": " + strerror(errno);
    } else {
      StartProgram(file);
    }
  }
  if (!state_.failure.empty()) {
    channel_.reset();
    state_.failure = Clip(std::move(state_.failure), kMaxFailure);
    state_.pid = 0;
    state_.ended_us = WallMicros();
    main_ended_ = true;
    return KillTree();
  }
  if (const auto row = ReadProcess(state_.pid)) state_.start_ticks = row->start_ticks;
  state_.phase = ShimPhase::kRunning;
  launchers_.Tell(true);
}

bool Shim::Reap() {
  for (;;) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid <= 0) {
      no_children_ = pid < 0 && errno == ECHILD;
      return !no_children_;
    }
    if (pid == state_.pid && !main_ended_) OnMainEnded(status);
  }
}

void Shim::OnChildSignal() {
  signalfd_siginfo info;
  while (read(signals_.get(), &info, sizeof info) == sizeof info) {
  }
  Reap();
  if (!killing_) return CheckFinished();
  if (no_children_) KillRound();
}

void Shim::OnMainEnded(int status) {
  main_ended_ = true;
  state_.ended_us = WallMicros();
  state_.unasked = !asked_to_end_;
  if (WIFSIGNALED(status)) {
    state_.signal = WTERMSIG(status);
    state_.core_dumped = WCOREDUMP(status);
  } else {
    state_.exit_code = WEXITSTATUS(status);
  }
  poller_.RunAfter(options_.drain, [this] {
    drained_ = true;
    CheckFinished();
  });
}

// True once no process is left. (Not all orphans in a namespace become our children.)
bool Shim::IsTreeGone() {
  if (!no_children_) return false;
  if (tree_ == nullptr || tree_->IsEmpty()) return true;
  check_timer_.Start(&poller_, kNamespaceRound, [this] { CheckFinished(); });
  return false;
}

void Shim::CheckFinished() {
  if (!main_ended_ || finished_ || killing_) return;
  const bool tree_gone = IsTreeGone();
  // The grace also applies to processes that the main process has left behind, which may be saving.
  if (stopping_ && !tree_gone) return;
  const bool output_ended = stdout_.at_end() && stderr_.at_end();
  if (!tree_gone && !output_ended && drained_) NoteHolders();
  if (tree_gone || output_ended || drained_) KillTree();
}

// Records which processes keep the output open, so that the user knows which processes were waited
// for and are killed now.
void Shim::NoteHolders() {
  std::vector<std::string> files;
  for (const OutputPipe* pipe : {&stdout_, &stderr_}) {
    if (!pipe->at_end()) files.push_back(pipe->name());
  }
  const auto holders = HoldersOf(ReadProcesses(), files);
  if (holders.empty()) return;
  std::string note = "its output was held open by pid " + std::to_string(holders[0]) + " (" +
                     CommandName(holders[0]) + ")";
  if (holders.size() > 1) note += " and " + std::to_string(holders.size() - 1) + " more";
  Note(note);
}

// Records that the shim's signal ends the main process, unless it has already ended.
void Shim::NoteAsked() {
  if (main_ended_ || asked_to_end_) return;
  const auto row = ReadProcess(state_.pid);
  asked_to_end_ = row.has_value() && !row->over;
}

void Shim::StopTask(int signal, std::chrono::milliseconds grace) {
  if (finished_ || killing_) return;
  Reap();
  if (!main_ended_) {
    stopping_ = true;
    NoteAsked();
    kill(-state_.pid, signal);
  }
  if (relay_ != nullptr) relay_->Stopping(std::chrono::steady_clock::now() + grace);
  stop_timer_.Start(&poller_, grace, [this] { KillTree(); });
}

void Shim::KillTree() {
  if (finished_ || killing_) return;
  killing_ = true;
  poller_.RunAfter(options_.kill_limit, [this] {
    gave_up_killing_ = true;
    if (!finished_) KillRound();
  });
  KillRound();
}

// As subreaper we inherit every orphan, so the tree is dead exactly when we have no child and the
// first process of a namespace, which does not count as a child, has ended.
bool Shim::IsTreeDead() { return !Reap() && (tree_ == nullptr || tree_->IsGone()); }

void Shim::KillRound() {
  if (finished_) return;
  round_timer_.Cancel();
  if (IsTreeDead()) return Finish();
  if (gave_up_killing_) {
    const auto alive = LiveDescendants(getpid());
    Note(runtime::Counted(alive.size(), "process", "processes") +
         " of the task could not be killed");
    return Finish();
  }
  KillOnce();
  if (IsTreeDead()) return Finish();
  round_timer_.Start(&poller_, kKillRound, [this] { KillRound(); });
}

void Shim::KillOnce() {
  const bool again = std::exchange(killed_once_, true);
  NoteAsked();
  if (tree_ != nullptr) {
    tree_->Kill();
    if (tree_->mode() == KillMode::kGroup) {
      if (HasChildInGroup(state_.pid)) kill(-state_.pid, SIGKILL);
      return;
    }
    // Processes that have left the control groups are killed in the next round.
    if (tree_->kills_all() && !again) return;
  }
  KillDescendants(getpid());
}

void Shim::RemoveTree(int tries) {
  if (tree_ != nullptr && !tree_->Remove() && tries > 0) {
    poller_.RunAfter(kKillRound, [this, tries] { RemoveTree(tries - 1); });
    return;
  }
  tree_removed_ = true;
  MaybeLeave();
}

void Shim::Note(const std::string& what) {
  if (!state_.note.empty()) state_.note += "; ";
  state_.note += what;
}

void Shim::NoteOutput() {
  const auto dropped = stdout_.dropped() + stderr_.dropped();
  if (dropped > 0) Note(runtime::Counted(dropped, "byte") + " of output could not be written");
  const auto over_limit = stdout_.over_limit() + stderr_.over_limit();
  if (over_limit > 0) {
    Note(runtime::Counted(over_limit, "byte of output is", "bytes of output are") +
         " past the limit of " + runtime::Counted(spec_.log_limit, "byte") + " a file");
  }
  for (const OutputPipe* pipe : {&stdout_, &stderr_}) {
    if (pipe->rotation_error() == 0) continue;
    Note(std::string("its log could not be rotated: ") + strerror(pipe->rotation_error()));
    break;
  }
}

void Shim::Finish() {
  finished_ = true;
  // The locks are kept if processes could not be killed, since these may still use the resources.
  if (!gave_up_killing_) attempt_.locks.clear();
  stop_timer_.Cancel();
  stdout_.Drain();
  stderr_.Drain();
  stdout_.Close();
  stderr_.Close();
  NoteOutput();
  ReadReadyByte();
  if (tree_ != nullptr && tree_->HadMemoryKill(state_.signal == SIGKILL && state_.unasked)) {
    state_.out_of_memory = true;
    Note("a process of it was killed because memory was short");
  }
  if (state_.ended_us == 0) state_.ended_us = WallMicros();
  state_.spoke_us = stderr_.spoke_us();
  UpdateOffsets();
  state_.phase = ShimPhase::kExited;
  // The launchers are notified first, since the next attempt waits for that. (Acknowledgements are
  // read only after the exit file is written.)
  launchers_.Tell(true);
  exit_file_ = WriteWhole(attempt_.folder, kExitFile, state_.Encode());
  if (!exit_file_.valid()) {
    fprintf(stderr, "yard-shim: cannot write the exit file in %s: %s\n", attempt_.folder.c_str(),
            strerror(errno));
  }
  RemoveTree(kRemoveTries);
  // The sync is delayed, since it would hold up the start of the next attempt on this disk. A
  // launcher that is connected stores and acknowledges the end before, so that no sync is needed.
  poller_.RunAfter(kSyncAfter, [this] {
    if (!acknowledged_ && exit_file_.valid()) Sync(exit_file_, attempt_.folder);
  });
  const auto reports_done = [this] {
    reports_done_ = true;
    MaybeLeave();
  };
  poller_.RunAfter(options_.trainer_limit, reports_done);
  poller_.RunAfter(options_.lease, [this] {
    acknowledged_ = true;
    MaybeLeave();
  });
  LeaveIfOutOfReach();
  if (relay_ != nullptr) {
    relay_->TaskEnded(reports_done);
  } else {
    reports_done();
  }
}

// Leaves when no launcher can connect any more; the next launcher finds the end in the exit file.
void Shim::LeaveIfOutOfReach() {
  poller_.RunAfter(options_.reach_round, [this] {
    if (acknowledged_) return;
    if (launchers_.CanBeReached() || !exit_file_.valid()) return LeaveIfOutOfReach();
    acknowledged_ = true;
    MaybeLeave();
  });
}

void Shim::MaybeLeave() {
  if (!acknowledged_ || !reports_done_ || !tree_removed_) return;
  launchers_.Unlink();
  unlink(spec_.task_socket.c_str());
  poller_.Stop();
}

void Shim::OnRequest(const ShimRequest& request) {
  switch (request.kind) {
    case ShimRequest::Kind::kState:
      if (relay_ != nullptr) relay_->AskAgain();
      break;
    case ShimRequest::Kind::kBarrier:
      if (relay_ != nullptr) relay_->Answered(request.number, request.line);
      break;
    case ShimRequest::Kind::kWatch:
      break;
    case ShimRequest::Kind::kStop:
      StopTask(request.signal, std::chrono::milliseconds(request.grace_ms));
      break;
    case ShimRequest::Kind::kKill:
      if (!finished_) KillTree();
      break;
    case ShimRequest::Kind::kSignal:
      if (!main_ended_) kill(-state_.pid, request.signal);
      break;
    case ShimRequest::Kind::kAcknowledge:
      acknowledged_ = finished_;
      MaybeLeave();
      break;
  }
}

void Shim::UpdateOffsets() {
  state_.stdout_begin = stdout_.begin();
  state_.stdout_end = stdout_.end();
  state_.stderr_begin = stderr_.begin();
  state_.stderr_end = stderr_.end();
}

int Shim::Run(const AwaitAttempt& await_attempt) {
  GetReady();
  auto attempt = await_attempt();
  if (!attempt) return kShimDone;
  attempt_ = *std::move(attempt);
  if (!TakeAttempt()) return kShimNotFirst;
  if (!ReadSpec()) {
    fprintf(stderr, "yard-shim: cannot read the spec in %s\n", attempt_.folder.c_str());
    return kShimBadSpec;
  }
  state_.shim_pid = getpid();
  if (attempt_.control.valid()) {
    fcntl(attempt_.control.get(), F_SETFD, FD_CLOEXEC);
    launchers_.Add(std::move(attempt_.control));
  }
  Start();
  poller_.Run();
  return kShimDone;
}

}  // namespace

int RunShim(const ShimOptions& options, const AwaitAttempt& await_attempt) {
  // Ignores the signals that are meant for the launcher's session, and those for a broken pipe or
  // the file size limit.
  for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGPIPE, SIGXFSZ}) {
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(signal, &ignore, nullptr);
  }
  return Shim(options).Run(await_attempt);
}

}  // namespace launcher
