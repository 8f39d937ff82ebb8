// What commands print. Texts that others wrote never reach a terminal as control sequences, whatever is stored.
#pragma once

#include <string>
#include <string_view>

namespace waybill {

// Line ends and tabs stay. Other C0 and DEL become \x1b, C1 and what is_invisible() \u009b or \U000e0041, and a byte that is no
// UTF-8 \xff.
std::string printable(std::string_view text);

[[gnu::format(printf, 1, 2)]] void print_text(const char* format, ...);   // on standard output, printable
[[gnu::format(printf, 1, 2)]] void print_error(const char* format, ...);  // on standard error, printable

// Hands on what has been printed on standard output. False if that, or anything before, could not be written: the disk is full.
bool flush_output();

// The same in colour, where the stream is a terminal that shows colours: TERM is set and not "dumb", NO_COLOR is unset or empty.
enum class Ink { plain, bold, red, yellow };
[[gnu::format(printf, 2, 3)]] void print_text(Ink ink, const char* format, ...);
[[gnu::format(printf, 2, 3)]] void print_error(Ink ink, const char* format, ...);

// Standard error is a terminal on which a line can be written over.
bool has_status_line();
// Writes over that line; "" clears it. Requires has_status_line().
void print_status(const std::string& line);

// While it lives, what is printed is counted and kept as well, for who tells it in another form. One at a time.
class PrintWatch {
 public:
  PrintWatch();
  ~PrintWatch();
  PrintWatch(const PrintWatch&) = delete;
  PrintWatch& operator=(const PrintWatch&) = delete;
  bool has_text() const;       // something was printed on standard output
  std::string errors() const;  // all that was printed on standard error

  void keep(bool is_error, const std::string& text);

 private:
  bool has_text_ = false;
  std::string errors_;
};

}  // namespace waybill
