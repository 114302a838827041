#include "trainer/store/trial_rows.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "bus/schema/envelope_generated.h"
#include "bus/wire/envelope.h"
#include "bus/wire/frame.h"
#include "bus/wire/receive.h"
#include "runtime/sqlite/statement_columns.h"

namespace trainer {
namespace {

constexpr std::size_t kMaxOptions = 16 << 20;

}  // namespace

std::string PackOptions(const msg::TrialOptionsT& options) {
  msg::RunTrialRequestT request;
  request.options = std::make_unique<msg::TrialOptionsT>(options);
  msg::EnvelopeT envelope;
  envelope.kind = msg::Kind::Request;
  envelope.body.Set(std::move(request));
  const bus::Frame frame = bus::Encode(envelope);
  const auto bytes = frame.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

msg::TrialOptionsT UnpackOptions(const std::string& bytes) {
  msg::TrialOptionsT options;
  const auto received = bus::Receive(
      {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, kMaxOptions);
  const auto* request = received.ok() ? (*received)->body_as_RunTrialRequest() : nullptr;
  if (request != nullptr && request->options() != nullptr) request->options()->UnPackTo(&options);
  return options;
}

ResultRow ReadRow(SQLite::Statement& statement) {
  runtime::Reader read(statement);
  ResultRow row;
  row.row = read.Number();
  row.attempt = read.Int();
  row.wall_time_us = read.Number();
  row.utc_offset_s = read.Number();
  row.training_iteration = read.Number();
  row.step = read.Number();
  row.time_this_iter_us = read.Number();
  row.time_total_us = read.Number();
  row.done = read.Truth();
  row.metrics = read.Text();
  for (std::int64_t& end : row.ends) end = read.Number();
  row.iterations_since_restore = read.Number();
  row.time_since_restore_us = read.Number();
  row.timesteps_since_restore = read.Number();
  row.timesteps_total = read.Number();
  row.episodes_total = read.Number();
  row.pid = read.Number();
  row.monotonic_us = read.Number();
  return row;
}

TrialRecord ReadTrial(SQLite::Statement& statement) {
  runtime::Reader read(statement);
  TrialRecord trial;
  trial.number = read.Number();
  trial.run.trial_id = read.Text();
  trial.request_id = read.Text();
  trial.run.experiment_id = read.Text();
  trial.run.hostname = read.Text();
  trial.run.created_us = read.Number();
  trial.run.event_file = read.Text();
  trial.spec.name = read.Text();
  trial.spec.argv = read.Words();
  trial.spec.environment = read.Words();
  trial.spec.working_directory = read.Text();
  trial.spec.run_directory = read.Text();
  trial.spec.config = read.Text();
  trial.spec.max_restarts = static_cast<std::uint32_t>(read.Number());
  trial.spec.seed = static_cast<std::uint64_t>(read.Number());
  trial.spec.stop_grace_ms = read.Number();
  trial.state = static_cast<msg::TrialState>(read.Number());
  trial.attempt = read.Int();
  trial.nonce = read.Text();
  trial.job_request_id = read.Text();
  trial.launching = read.Truth();
  trial.job = read.Text();
  trial.started_us = read.Number();
  trial.attempt_began_us = read.Number();
  trial.ended_us = read.Number();
  trial.stop_requested = read.Truth();
  trial.stop_grace_ms = read.Number();
  trial.failure = read.Text();
  trial.reason = read.Text();
  trial.error_lines = read.Words();
  trial.trace = read.Text();
  trial.spec.options = UnpackOptions(read.Bytes());
  trial.pause_requested = read.Truth();
  trial.start_checkpoint = read.Text();
  trial.start_iteration = read.Number();
  trial.start_time_total_us = read.Number();
  trial.expelled = read.Truth();
  trial.criterion = read.Text();
  trial.earlier_attempts_us = read.Number();
  trial.failures = static_cast<std::uint32_t>(read.Number());
  trial.earlier_metrics = read.Text();
  return trial;
}

CheckpointRow ReadCheckpoint(SQLite::Statement& statement) {
  runtime::Reader read(statement);
  CheckpointRow row;
  row.trial = read.Number();
  row.number = read.Number();
  row.attempt = read.Int();
  row.name = read.Text();
  row.iteration = read.Number();
  row.time_total_us = read.Number();
  row.wall_time_us = read.Number();
  row.bytes = read.Number();
  row.score = read.MaybeReal();
  row.step = read.Number();
  row.report = read.Number();
  row.pending = read.Truth();
  row.saves_first = read.Truth();
  return row;
}

}  // namespace trainer
