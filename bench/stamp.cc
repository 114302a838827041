// The program that the launcher and its peers start for launcher_benchmark: its first instructions
// record when it runs. (The C library's work before main() would count as time of the program
// itself. It is slow on a virtual machine: it queries the processor's features, and each query goes
// to the hypervisor.)
//
//   stamp FILE stay               appends "PID MICROSECONDS" (monotonic) to FILE, then stays
//   stamp FILE exit               ... then ends with exit code 1
//   stamp FILE lines LETTER COUNT ... then prints COUNT lines of 100 bytes and stamps the end
//   stamp FILE paced LETTER COUNT the same, at 10 MB/s

#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

constexpr std::size_t kLine = 100;
// Not a multiple of the line size, as in most programs.
constexpr std::size_t kWrite = 64 * 1024;
constexpr long long kPacedBytesAMicrosecond = 10;

bool is_stamped = false;

// This part must not use the C library (nor stack protection, which needs it).
#if defined(STAMP_AT_ENTRY) && defined(__x86_64__)
long Call(long number, long first = 0, long second = 0, long third = 0) {
  long result = number;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(first), "S"(second), "d"(third)
                   : "rcx", "r11", "memory");
  return result;
}

// Writes the digits of `number` so that they end at `end`; returns their start.
char* Write(long long number, char* end) {
  do {
    *--end = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  return end;
}

// `stack` is the initial stack of a program: the number of arguments, then the arguments.
extern "C" [[gnu::used]] void StampEntry(const long* stack) {
  if (stack[0] < 2) return;
  const long path = stack[2];
  timespec now;
  Call(SYS_clock_gettime, CLOCK_MONOTONIC, reinterpret_cast<long>(&now));
  char text[64];
  char* const end = text + sizeof text;
  char* begin = end;
  *--begin = '\n';
  begin = Write(now.tv_sec * 1'000'000LL + now.tv_nsec / 1000, begin);
  *--begin = ' ';
  begin = Write(Call(SYS_getpid), begin);
  const long fd = Call(SYS_open, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return;
  const long size = end - begin;
  if (Call(SYS_write, fd, reinterpret_cast<long>(begin), size) == size) is_stamped = true;
  Call(SYS_close, fd);
}

// The program's entry point (linked with -e). Restores the state that the kernel passed before it
// enters the C library.
__asm__(
    ".globl StampStart\n"
    "StampStart:\n\t"
    "movq %rdx, %rbx\n\t"
    "movq %rsp, %r12\n\t"
    "movq %rsp, %rdi\n\t"
    "andq $-16, %rsp\n\t"
    "callq StampEntry\n\t"
    "movq %r12, %rsp\n\t"
    "movq %rbx, %rdx\n\t"
    "jmp _start\n");
#endif

long long Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000LL + now.tv_nsec / 1000;
}

bool Stamp(const char* path) {
  char text[64];
  const int size = snprintf(text, sizeof text, "%d %lld\n", getpid(), Now());
  const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const bool written = write(fd, text, static_cast<std::size_t>(size)) == size;
  close(fd);
  return written;
}

bool WriteAll(const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t written = write(STDOUT_FILENO, data, size);
    if (written <= 0) return false;
    data += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

void Pace(long long begin, long long bytes) {
  const long long ahead = begin + bytes / kPacedBytesAMicrosecond - Now();
  if (ahead > 0) usleep(static_cast<useconds_t>(ahead));
}

bool PrintLines(char letter, long count, bool paced) {
  std::string pending;
  const long long begin = Now();
  long long bytes = 0;
  for (long i = 0; i < count; ++i) {
    char number[32];
    snprintf(number, sizeof number, "%c %012ld ", letter, i);
    std::string line = number;
    line.append(kLine - 1 - line.size(), letter);
    pending += line;
    pending += '\n';
    if (pending.size() < kWrite) continue;
    if (!WriteAll(pending.data(), kWrite)) return false;
    pending.erase(0, kWrite);
    bytes += kWrite;
    if (paced) Pace(begin, bytes);
  }
  return WriteAll(pending.data(), pending.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || (!is_stamped && !Stamp(argv[1]))) return 2;
  const std::string_view what = argv[2];
  if (what == "exit") return 1;
  if (argc == 5) {
    const bool printed = PrintLines(argv[3][0], atol(argv[4]), what == "paced");
    return printed && Stamp(argv[1]) ? 0 : 2;
  }
  for (;;) pause();
}
