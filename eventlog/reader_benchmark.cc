// Measures how fast records of one scalar are read from memory, compared with the CRC alone.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "eventlog/crc32c.h"
#include "eventlog/event.h"
#include "eventlog/record.h"
#include "isa-l/crc.h"

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

// 8 bytes: a record's length; 35 bytes: a scalar's payload; 64 KiB: an image.
void Sizes(benchmark::internal::Benchmark* benchmark) {
  for (const std::int64_t size : {8, 35, 512, 65536}) benchmark->Arg(size);
}

template <typename Crc>
void MeasureCrc(benchmark::State& state, Crc crc) {
  const std::string data(static_cast<std::size_t>(state.range(0)), 'x');
  for (auto _ : state) {
    std::string_view view = data;
    benchmark::DoNotOptimize(view);
    benchmark::DoNotOptimize(crc(view));
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void BM_Crc32c(benchmark::State& state) { MeasureCrc(state, Crc32c); }
BENCHMARK(BM_Crc32c)->Apply(Sizes);

void BM_Crc32cPortable(benchmark::State& state) { MeasureCrc(state, Crc32cPortable); }
BENCHMARK(BM_Crc32cPortable)->Apply(Sizes);

void BM_Crc32cIsaL(benchmark::State& state) {
  MeasureCrc(state, [](std::string_view data) {
    auto* bytes = reinterpret_cast<unsigned char*>(const_cast<char*>(data.data()));
    return ~crc32_iscsi(bytes, static_cast<int>(data.size()), ~0u);
  });
}
BENCHMARK(BM_Crc32cIsaL)->Apply(Sizes);

}  // namespace
}  // namespace eventlog
