/* Calls a kernel on another kind of machine: reads calls with their elements, writes what the kernel answers. See alike.py. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { CALL = 56, ROWS = 1024 };

int main(int argc, char **argv) {
  void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
  int (*measure)(const void *) = library ? (int (*)(const void *))dlsym(library, "tap_measure") : NULL;
  if (!measure) return fprintf(stderr, "elsewhere: %s\n", argc == 2 ? dlerror() : "usage: elsewhere KERNEL"), 1;
  uint64_t call[CALL / 8], bytes;
  while (fread(call, CALL, 1, stdin) == 1 && fread(&bytes, sizeof bytes, 1, stdin) == 1) {
    char *elements = malloc(bytes + 1), rows[ROWS] __attribute__((aligned(64))) = {0};
    if (!elements || fread(elements, 1, bytes, stdin) != bytes) return 1;
    call[0] = (uintptr_t)elements;
    call[1] = (uintptr_t)rows;
    int32_t written = measure(call);
    if (fwrite(&written, sizeof written, 1, stdout) != 1 || fwrite(rows, ROWS, 1, stdout) != 1) return 1;
    free(elements);
  }
  return fflush(stdout);
}
