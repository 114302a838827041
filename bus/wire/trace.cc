#include "bus/wire/trace.h"

#include <utility>

namespace bus {
namespace {

std::string& Trace() {
  thread_local std::string trace;
  return trace;
}

}  // namespace

const std::string& CurrentTrace() { return Trace(); }

TraceScope::TraceScope(std::string trace) : before_(std::exchange(Trace(), std::move(trace))) {}

TraceScope::~TraceScope() { Trace() = std::move(before_); }

}  // namespace bus
