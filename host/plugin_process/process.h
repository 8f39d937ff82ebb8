// A process that holds one plugin: started, watched, killed, and its end told. The host's side.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "config/isolation.h"
#include "plugin_protocol/page.h"

namespace waybill {
class OwnedDescriptor;
}

namespace waybill::plugin_process {

// How a process ended.
struct Exit {
  int signal = 0;             // 0: none
  int code = 0;               // of its exit
  std::string why;            // what the host killed it for; "": it ended by itself
  std::string last;           // the last line that it wrote
  std::string words() const;  // "killed by SIGSEGV; its last line: ..."
};

std::filesystem::path plugin_host_program();  // waybill-plugin-host, beside this program or in ../lib/waybill

struct ProcessSpec {
  std::filesystem::path program = plugin_host_program();
  std::string plugin;                   // the name of its file, for people
  int library = -1;                     // the bytes of a shared library; -1: none, it is a command
  std::vector<std::string> command{};   // the program's path first
  std::filesystem::path folder{};       // where the command runs
  std::function<std::string()> veto{};  // why it must not start now; "": it may
  Isolation isolation;
};

// Answers the questions of a process. One thread calls it, that of the process.
using AnswerQuestion = std::function<bool(std::uint32_t kind, std::string_view body, std::string& answer)>;

class Process {
 public:
  // Starts it, with a thread that lives as long as the process: it answers questions, takes lines, and waits for the end.
  static Result<std::unique_ptr<Process>> start(const ProcessSpec& spec);
  ~Process();  // kills it
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  int stream() const { return stream_; }  // non-blocking; whoever reads it keeps it open by keeping this
  const Page& page() const { return *page_; }

  // [any thread] Who answers, who takes lines, and who is told of the end, once, on the process's thread. Not before this is
  // called.
  struct Listener {
    AnswerQuestion answer;
    std::function<void(std::string_view line)> line;
    std::function<void(const Exit& exit)> ended;
  };
  void listen(Listener listener);
  // [any thread] No listener function runs any more once this returns. Not from one of them.
  void stop_listening();

  void kill(std::string_view why);         // [any thread] the first one's reason counts
  bool wait_for_end(Millis within) const;  // [any thread]

 private:
  Process() = default;
  Result<void> spawn(const ProcessSpec& spec);
  Result<void> make_page(OwnedDescriptor& page);
  void serve();
  bool answer_questions();
  void take_lines();
  void look_at_limits();
  void reap();

  Isolation isolation_;
  pid_t pid_ = -1;
  int pidfd_ = -1;
  int stream_ = -1, questions_ = -1, lines_ = -1;
  Page* page_ = nullptr;
  std::atomic<bool> ended_{false};
  std::mutex mutex_;  // for all below
  std::string why_killed_;
  bool was_killed_ = false;
  bool is_reaped_ = false;
  std::mutex listener_mutex_;
  Listener listener_;  // guarded by listener_mutex_
  bool told_ = false;  // guarded by listener_mutex_
  Exit exit_;          // guarded by listener_mutex_
  // Of the process's thread.
  std::string half_line_, last_line_, last_error_;  // last_error_: the last line that names an error
  std::chrono::steady_clock::time_point lines_since_{};
  std::size_t lines_told_ = 0;
  std::thread thread_;
};

}  // namespace waybill::plugin_process
