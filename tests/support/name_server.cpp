// A DNS server for a network namespace (RFC 1035, as little of it as a stub resolver needs).
#include "support/name_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

namespace waybill::testing {
namespace {

constexpr std::size_t kHeader = 12;
enum Type : std::uint16_t { kA = 1, kCname = 5, kAaaa = 28 };

std::string u16(std::size_t number) { return {static_cast<char>(number >> 8 & 0xff), static_cast<char>(number & 0xff)}; }

std::string encoded(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    const auto label = name.substr(0, name.find('.'));
    out += static_cast<char>(label.size());
    out += label;
    name.remove_prefix(std::min(label.size() + 1, name.size()));
  }
  return out + '\0';
}

std::string record(const std::string& name, std::uint16_t type, const std::string& data) {
  return encoded(name) + u16(type) + u16(1) + std::string(4, '\0') + u16(data.size()) + data;  // class IN, to be kept for 0 s
}

}  // namespace

NameServer::NameServer(Zone zone) : zone_(std::move(zone)), socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_port = htons(53);
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(socket_, reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0)
    throw std::runtime_error("port 53 is not to be had");
  thread_ = std::thread([this] { serve(); });
}

NameServer::~NameServer() {
  stop_ = true;
  ::shutdown(socket_, SHUT_RDWR);  // ends recvfrom
  thread_.join();
  ::close(socket_);
}

int NameServer::asked(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = asked_.find(name);
  return found == asked_.end() ? 0 : found->second;
}

void NameServer::serve() {
  std::array<char, 512> buffer;
  while (!stop_) {
    sockaddr_in from{};
    socklen_t size = sizeof from;
    const auto got = ::recvfrom(socket_, buffer.data(), buffer.size(), 0, reinterpret_cast<sockaddr*>(&from), &size);
    if (got <= static_cast<ssize_t>(kHeader) || stop_) continue;
    const auto reply = answer({buffer.data(), static_cast<std::size_t>(got)});
    ::sendto(socket_, reply.data(), reply.size(), 0, reinterpret_cast<const sockaddr*>(&from), size);
  }
}

std::string NameServer::answer(const std::string& query) {
  std::string name;
  std::size_t at = kHeader;
  for (std::size_t size; at < query.size() && (size = static_cast<unsigned char>(query[at])) != 0; at += size + 1)
    name += (name.empty() ? "" : ".") + query.substr(at + 1, size);
  const auto question = query.substr(kHeader, at + 5 - kHeader);
  const auto type = static_cast<std::uint16_t>(static_cast<unsigned char>(query.at(at + 2)));
  const auto known = zone_.find(name);
  std::string answers;
  std::size_t count = 0;
  if (known != zone_.end()) {
    int nth;
    {
      const std::lock_guard lock(mutex_);
      nth = type == kA ? asked_[name]++ : asked_[name + " AAAA"]++;
    }
    for (auto owner = name; const auto& word : known->second(nth)) {
      std::array<char, 16> address{};
      const bool is_v6 = inet_pton(AF_INET6, word.c_str(), address.data()) == 1;
      if (!is_v6 && inet_pton(AF_INET, word.c_str(), address.data()) != 1) {
        answers += record(owner, kCname, encoded(word));
        owner = word;
      } else if (type == (is_v6 ? kAaaa : kA)) {
        answers += record(owner, type, {address.data(), is_v6 ? 16u : 4u});
      } else {
        continue;
      }
      ++count;
    }
  }
  const std::size_t flags = 0x8580 | (known == zone_.end() ? 3 : 0);  // an authoritative answer; or there is no such name
  return query.substr(0, 2) + u16(flags) + u16(1) + u16(count) + u16(0) + u16(0) + question + answers;
}

}  // namespace waybill::testing
