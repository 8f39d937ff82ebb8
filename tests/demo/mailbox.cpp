// Writes mails to files and tells what a parser finds in them.
#include "demo/mailbox.h"

#include <cstdio>
#include <regex>
#include <utility>

#include "support/parsed_mail.h"
#include "support/temp_folder.h"

namespace waybill::testing {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const auto& word : words) all += (all.empty() ? "" : ", ") + word;
  return all;
}

// The links to stored attachments, each without most of its signature.
std::vector<std::string> links_in(const ParsedMail& mail) {
  static const std::regex kLink(R"((https://storage\.googleapis\.com/[^\s?]+\?)\S*(X-Goog-Expires=\d+)\S*)");
  std::vector<std::string> links;
  for (const auto& part : mail.parts) {
    if (part.content_type != "text/plain") continue;
    for (auto at = std::sregex_iterator(part.text.begin(), part.text.end(), kLink); at != std::sregex_iterator(); ++at)
      links.push_back((*at)[1].str() + "..." + (*at)[2].str() + "...");
  }
  return links;
}

}  // namespace

Mailbox::Mailbox(std::filesystem::path folder) : folder_(std::move(folder)) {
  std::filesystem::remove_all(folder_);
  std::filesystem::create_directories(folder_);
}

std::size_t Mailbox::show_new() {
  const auto mails = sink_.received();
  const std::size_t fresh = mails.size() - shown_;
  for (; shown_ < mails.size(); ++shown_) {
    const auto file = folder_ / (std::to_string(shown_ + 1) + ".eml");
    write_file(file, mails[shown_].data);
    const auto mail = parse_mail(mails[shown_].data);
    std::printf("       mail %s\n         \"%s\" from %s to %s\n", file.c_str(), mail.subject.c_str(), mails[shown_].from.c_str(),
                joined(mails[shown_].recipients).c_str());
    for (const auto& link : links_in(mail)) std::printf("         %s\n", link.c_str());
  }
  return fresh;
}

}  // namespace waybill::testing
