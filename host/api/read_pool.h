// A few threads with sessions of their own, for the questions that routes have to the database.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "store/store.h"

namespace waybill {

// Safe from any thread.
class ReadPool {
 public:
  struct Session {
    std::unique_ptr<ReadStore> reader;
    std::unique_ptr<TokenStore> tokens;
  };
  using Question = std::function<void(Session&)>;

  explicit ReadPool(std::vector<Session> sessions);  // one thread each
  ~ReadPool();
  void ask(Question question);
  void stop();  // questions that wait are still asked; later ones are dropped

 private:
  void run(std::stop_token stop, Session& session);

  std::vector<Session> sessions_;
  std::mutex mutex_;  // for all below
  std::condition_variable_any changed_;
  std::deque<Question> waiting_;
  bool stopped_ = false;
  std::vector<std::jthread> threads_;  // last: they use all above
};

}  // namespace waybill
