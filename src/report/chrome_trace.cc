#include "report/chrome_trace.h"

#include <fmt/format.h>

#include <iterator>

namespace yoke::report {

std::string chrome_trace(const std::vector<history::Span>& spans, std::uint32_t replicas) {
  const auto microseconds = [](Time time) { return std::chrono::duration<double, std::micro>(time).count(); };
  std::string json = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  auto out = std::back_inserter(json);
  for (std::uint32_t replica = 0; replica < replicas; ++replica)
    fmt::format_to(
        out, "{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":0,\"tid\":{},\"args\":{{\"name\":\"replica {}\"}}}},\n",
        replica, replica);
  for (const auto& span : spans)
    fmt::format_to(
        out,
        "{{\"ph\":\"X\",\"name\":\"{}\",\"cat\":\"step\",\"pid\":0,\"tid\":{},\"ts\":{:.3f},\"dur\":{:.3f},\"args\":"
        "{{\"step\":{}}}}},\n",
        name_of(span.what), span.replica, microseconds(span.begin), microseconds(span.end - span.begin), span.step);
  // Ends the list without a comma after the last.
  json += "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0,\"args\":{\"name\":\"yoke\"}}\n]}\n";
  return json;
}

}  // namespace yoke::report
