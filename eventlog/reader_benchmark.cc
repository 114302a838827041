// How fast records of one scalar are read from memory, beside the CRC alone.

#include <benchmark/benchmark.h>

#include <string>
#include <string_view>

#include "eventlog/crc32c.h"
#include "eventlog/event.h"
#include "eventlog/record.h"

namespace eventlog {
namespace {

std::string Stream() {
  std::string stream;
  const Scalar scalar{"loss", 0.5};
  for (int step = 0; step < 100'000; ++step) stream += RenderScalars(1e9, step, {&scalar, 1});
  return stream;
}

void BM_ReadScalars(benchmark::State& state) {
  const std::string stream = Stream();
  Event event;
  std::int64_t records = 0;
  for (auto _ : state) {
    for (std::string_view rest = stream; !rest.empty(); ++records) {
      const ParsedRecord record = ParseRecord(rest);
      benchmark::DoNotOptimize(DecodeEvent(record.payload, &event).ok());
      rest.remove_prefix(record.size);
    }
  }
  state.SetItemsProcessed(records);
}
BENCHMARK(BM_ReadScalars)->Unit(benchmark::kMillisecond);

void BM_FramingAlone(benchmark::State& state) {
  const std::string stream = Stream();
  std::int64_t records = 0;
  for (auto _ : state) {
    for (std::string_view rest = stream; !rest.empty(); ++records) {
      const ParsedRecord record = ParseRecord(rest);
      benchmark::DoNotOptimize(record.payload.data());
      rest.remove_prefix(record.size);
    }
  }
  state.SetItemsProcessed(records);
}
BENCHMARK(BM_FramingAlone)->Unit(benchmark::kMillisecond);

void BM_Crc32c(benchmark::State& state) {
  const std::string data(static_cast<std::size_t>(state.range(0)), 'x');
  for (auto _ : state) benchmark::DoNotOptimize(Crc32c(data));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Crc32c)->Arg(35)->Arg(4096);

}  // namespace
}  // namespace eventlog
