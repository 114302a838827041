// The program that trainer_benchmark runs as a trial: reports in lock step through its fd 3, and
// records timings.
//
//   reporter FOLDER COUNT MICROSECONDS [GATE]
//
// Waits until the file GATE exists, then sends COUNT reports of three metrics, one every
// MICROSECONDS (0: as fast as they are answered). Writes to FOLDER/PID when it began and ended
// (monotonic, nanoseconds), then the duration of each answer. Exits with 1 if an answer was not ok.

#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr int kChannel = 3;

long Nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000L + now.tv_nsec;
}

void SleepUntil(long when) {
  const timespec at = {when / 1'000'000'000, when % 1'000'000'000};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
}

// Returns true if the answer, one line, is an ok.
bool Report(long number) {
  char line[256];
  const int size = snprintf(
      line, sizeof line,
      "{\"t\":\"report\",\"m\":{\"loss\":%.6f,\"accuracy\":%.6f,\"step\":%ld},"
      "\"seq\":%ld}\n",
      1.0 / static_cast<double>(number), 1 - 1.0 / static_cast<double>(number), number, number);
  if (write(kChannel, line, static_cast<std::size_t>(size)) != size) return false;
  char answer[4096];
  std::size_t have = 0;
  while (have == 0 || answer[have - 1] != '\n') {
    const ssize_t got = read(kChannel, answer + have, sizeof answer - 1 - have);
    if (got <= 0) return false;
    have += static_cast<std::size_t>(got);
  }
  answer[have] = '\0';
  return strstr(answer, "\"ok\"") != nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const long count = atol(argv[2]);
  const long interval = 1000 * atol(argv[3]);
  while (argc > 4 && access(argv[4], F_OK) != 0) SleepUntil(Nanoseconds() + 1'000'000);
  std::vector<long> took;
  took.reserve(static_cast<std::size_t>(count));
  const long begin = Nanoseconds();
  for (long i = 1; i <= count; ++i) {
    if (interval > 0) SleepUntil(begin + i * interval);
    const long asked = Nanoseconds();
    if (!Report(i)) return 1;
    took.push_back(Nanoseconds() - asked);
  }
  const long end = Nanoseconds();
  const std::string path = std::string(argv[1]) + "/" + std::to_string(getpid());
  FILE* const file = fopen(path.c_str(), "w");
  if (file == nullptr) return 1;
  fprintf(file, "%ld %ld\n", begin, end);
  for (const long nanoseconds : took) fprintf(file, "%ld\n", nanoseconds);
  return fclose(file) == 0 ? 0 : 1;
}
