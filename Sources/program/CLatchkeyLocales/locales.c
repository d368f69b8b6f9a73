#include "CLatchkeyLocales.h"

#include <stdalign.h>
#include <stdint.h>

// As ICU's own stubdata.cpp has it: a table of contents without entries.
struct empty_data {
    alignas(16) uint16_t header_size;
    uint8_t magic[2];
    uint16_t info_size, reserved_word;
    uint8_t is_big_endian, charset_family, unit_size, reserved_byte;
    uint8_t format[4], format_version[4], data_version[4];
    uint8_t padding[8];
    uint32_t count, reserved;
    uint32_t entries[4];
};

// ICU asks for its data by this name, which has its version: that of Swift 6.3. For another version
// its own data is linked. Hidden, so that the data of a shared ICU stays what it is.
__attribute__((visibility("hidden"))) const struct empty_data icudt76_dat = {
    .header_size = 32,
    .magic = {0xda, 0x27},
    .info_size = 20,
    .is_big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__,
    .unit_size = 2,
    .format = {'T', 'o', 'C', 'P'},
    .format_version = {1},
};
