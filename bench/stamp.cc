// The program that launcher_benchmark lets the launcher and its peers start: it notes when it runs.
//
//   stamp FILE stay               appends "PID MICROSECONDS" (monotonic) to FILE, then stays
//   stamp FILE exit               ... then ends with exit code 1
//   stamp FILE lines LETTER COUNT ... then prints COUNT lines of 100 bytes, and notes when it has
//   stamp FILE paced LETTER COUNT the same, at 10 MB/s

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

constexpr std::size_t kLine = 100;
// Not a multiple of the lines, as those of most programs.
constexpr std::size_t kWrite = 64 * 1024;
constexpr long long kPacedBytesAMicrosecond = 10;

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
  if (argc < 3 || !Stamp(argv[1])) return 2;
  const std::string_view what = argv[2];
  if (what == "exit") return 1;
  if (argc == 5) {
    const bool printed = PrintLines(argv[3][0], atol(argv[4]), what == "paced");
    return printed && Stamp(argv[1]) ? 0 : 2;
  }
  for (;;) pause();
}
