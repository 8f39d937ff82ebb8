// Memory that is lent to a plugin, in one of three memory modes.
#pragma once

#include <waybill/plugin.h>

#include <cstddef>
#include <string_view>

namespace waybill::conformance {

enum class Memory {
  forgiving,  // with room behind it, and there until the host goes: one breach shall not show as another
  vanishing,  // gone, with its addresses, when its time is over
  guarded     // vanishing; read-only, and whoever reads past its end dies
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
  void seal();  // no more writing, if it is guarded

 private:
  void swap(Block& other) noexcept;

  Memory memory_ = Memory::forgiving;
  char* pages_ = nullptr;  // or what new gave
  std::size_t page_bytes_ = 0;
  char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace waybill::conformance
