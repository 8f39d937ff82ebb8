// A connection to a relay: curl opens it, negotiates TLS and logs in; then conversations are held on it, one after the other.
//
// Everything from MAIL on is written and read here, because curl waits for the answer to a message's end inside one call, and
// a strand must not wait. curl's CONNECT_ONLY gives the connection over when the login is done.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/secret.h"
#include "services/curl_easy.h"
#include "services/curl_multi.h"
#include "services/smtp_conversation.h"
#include "services/smtp_reader.h"

namespace waybill {

struct SmtpClientSettings;

struct SmtpLogin {
  std::string relay;  // a URL that was found good
  Tls tls = Tls::if_offered;
  std::string user;  // empty: none
  std::shared_ptr<const Secret> password{};
  Trust trust = Trust::registry;
  std::vector<IpAddress> addresses;  // a tenant's: the only ones to connect to
  std::shared_ptr<const Transport> transport{};
};

// Belongs to the thread of its loop.
class SmtpConnection {
 public:
  // Told from the loop. Must not destroy the connection before the loop's next turn.
  class Owner {
   public:
    virtual void opened(SmtpConnection& connection) = 0;                     // idle now
    virtual void not_opened(SmtpConnection& connection, SmtpReply why) = 0;  // over now
    virtual void finished(SmtpConnection& connection) = 0;                   // the conversation is over
    virtual void gone(SmtpConnection& connection) = 0;                       // over now, having been idle or leaving

   protected:
    ~Owner() = default;
  };
  enum class State { connecting, idle, talking, leaving, over };

  SmtpConnection(EventLoop& loop, const SmtpClientSettings& settings, Owner& owner, TlsSessions& sessions);
  ~SmtpConnection();
  SmtpConnection(const SmtpConnection&) = delete;
  SmtpConnection& operator=(const SmtpConnection&) = delete;

  bool open(const SmtpLogin& login);          // false: it could not even begin
  bool is_usable();                           // idle, and the relay has not spoken or gone meanwhile
  void talk(SmtpConversation& conversation);  // which lives until it is finished
  void leave();                               // says goodbye, and is gone soon
  void close();                               // at once; over now, and nothing more is told

  State state() const { return state_; }
  const SmtpOffers& offers() const { return offers_; }
  int messages() const { return messages_; }  // conversations begun

 private:
  struct Callbacks;
  void command_left(std::string_view line);
  void line_came(std::string_view line);
  void connected(int code);
  SmtpReply why_not(int code) const;
  void abandon();
  void act();
  bool write_some();
  bool read_some();
  void converse();
  void rest();
  void arm(EventLoop::Duration delay, EventLoop::Task task);  // replaces what the timer was set to
  void watch(std::uint32_t events);

  EventLoop& loop_;
  const SmtpClientSettings& settings_;
  Owner& owner_;
  CurlEasy easy_;
  CurlMulti multi_;
  bool added_ = false;
  State state_ = State::connecting;
  int fd_ = -1;
  std::uint32_t watched_ = 0;
  EventLoop::TimerId timer_ = 0;  // of the state it is in

  SmtpStage stage_ = SmtpStage::connect;  // while connecting: what the last command was about
  SmtpAnswer last_;                       // while connecting: the relay's last reply, none if a command followed
  bool greeting_ = false;                 // while connecting: EHLO is being answered
  bool logged_in_ = false;
  bool wants_login_ = false;
  SmtpOffers offers_;
  SmtpReader reader_;
  SmtpConversation* conversation_ = nullptr;
  int messages_ = 0;
};

}  // namespace waybill
