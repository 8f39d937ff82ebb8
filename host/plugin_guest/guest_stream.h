// The two sockets of a plugin's process, seen from inside of it.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "plugin_protocol/messages.h"
#include "plugin_protocol/page.h"

namespace waybill::plugin_process {

// Messages both ways. put() is safe from any thread; the rest belongs to the strand, which is the thread that made this. When the
// host is gone, the process ends.
class GuestStream {
 public:
  // `page` says whether the strand is inside of the plugin. A thread of the stream's own sends what was put when it stays there.
  explicit GuestStream(const Page& page);

  bool on_strand() const { return std::this_thread::get_id() == strand_; }

  // Leaves with the next read(), or at once from another thread.
  template <class Message>
  void put(const Message& message) {
    const std::lock_guard lock(mutex_);
    put_frame(out_, message);
    if (out_.size() >= kFlushAt || !on_strand()) flush();
    if (is_idle_) wake_flusher();
  }
  // The next message. Its body is good until the next call. Waits, and before it waits, what was put leaves.
  Frame read();
  void flush_all();

 private:
  static constexpr std::size_t kFlushAt = std::size_t{64} << 10;
  void flush();         // with mutex_ held
  void wake_flusher();  // with mutex_ held
  [[noreturn]] void flush_what_waits();
  bool receive(bool wait);

  const std::thread::id strand_;
  const Page& page_;
  Frames frames_;
  std::string early_;  // came while the strand waited to write
  std::mutex mutex_;
  std::condition_variable put_;
  std::string out_;               // guarded by mutex_
  std::int64_t stays_since_ = 0;  // guarded by mutex_; the flusher's last look at the page
  bool is_idle_ = false;          // guarded by mutex_; the flusher sleeps until something is put
};

// One question at a time, from any thread.
class GuestQuestions {
 public:
  // The answer's values are good until the caller's next question; `use` sees them before anybody asks again.
  template <class Question, class Use>
  std::int32_t ask(const Question& question, Use use) {
    const std::lock_guard lock(mutex_);
    out_.clear();
    put_frame(out_, question);
    Answer answer;
    if (!exchange(answer)) return -1;
    use(answer.values);
    return answer.status;
  }

 private:
  bool exchange(Answer& answer);

  std::mutex mutex_;  // for all below
  std::string out_;
  Frames frames_;
};

}  // namespace waybill::plugin_process
