/* CRC-32 as zlib has it, eight bytes at once. */
#include <stdint.h>
#include <string.h>

#include "part.h"

static uint32_t crc_tables[8][256];

__attribute__((constructor)) static void fill_crc_tables(void) {
  for (uint32_t n = 0; n < 256; n++) {
    uint32_t c = n;
    for (int bit = 0; bit < 8; bit++) c = c & 1 ? c >> 1 ^ 0xEDB88320u : c >> 1;
    crc_tables[0][n] = c;
  }
  for (int t = 1; t < 8; t++)
    for (int n = 0; n < 256; n++) crc_tables[t][n] = crc_tables[t - 1][n] >> 8 ^ crc_tables[0][crc_tables[t - 1][n] & 255];
}

uint32_t crc32_add(uint32_t crc, const unsigned char *bytes, int64_t n) {
  crc = ~crc;
  for (; n >= 8; n -= 8, bytes += 8) {
    uint32_t low, high;
    memcpy(&low, bytes, 4);
    memcpy(&high, bytes + 4, 4);
    low ^= crc;
    crc = crc_tables[7][low & 255] ^ crc_tables[6][low >> 8 & 255] ^ crc_tables[5][low >> 16 & 255] ^ crc_tables[4][low >> 24] ^
          crc_tables[3][high & 255] ^ crc_tables[2][high >> 8 & 255] ^ crc_tables[1][high >> 16 & 255] ^ crc_tables[0][high >> 24];
  }
  for (; n > 0; n--, bytes++) crc = crc >> 8 ^ crc_tables[0][(crc ^ *bytes) & 255];
  return ~crc;
}
