// Memory that is lent to a plugin, in one of four memory modes.
#pragma once

#include <cstddef>
#include <string_view>

#include "waybill/plugin.h"

namespace waybill::fake_host {

enum class Memory {
  exact,      // on the heap, of exactly its length: a sanitizer sees who reads past its end or after its time
  forgiving,  // on the heap, with room behind it: one breach must not show as another
  vanishing,  // in pages of its own: its addresses are gone when its time is over
  guarded     // vanishing; read-only, and a read past its end kills the process
};

class Block {
 public:
  Block() = default;
  Block(Memory memory, std::size_t size);
  Block(Memory memory, std::string_view bytes);  // sealed
  Block(Block&& other) noexcept { swap(other); }
  Block& operator=(Block&& other) noexcept {
    Block taken(static_cast<Block&&>(other));
    swap(taken);
    return *this;
  }
  ~Block();

  char* data() const { return data_; }
  std::size_t size() const { return size_; }
  wb_str str() const { return {size_ == 0 ? nullptr : data_, size_}; }
  void seal();  // ends writing, if it is guarded

 private:
  void swap(Block& other) noexcept;

  Memory memory_ = Memory::exact;
  char* pages_ = nullptr;  // or what operator new returned
  std::size_t page_bytes_ = 0;
  char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace waybill::fake_host
